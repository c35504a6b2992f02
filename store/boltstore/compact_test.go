package boltstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/n8n-gate/n8n-gate/store"
)

func TestCompact(t *testing.T) {
	for _, keep := range []bool{true, false} {
		t.Run(fmt.Sprintf("keep %t", keep), func(t *testing.T) {
			path := filled(t, 1000)
			s := open(t, path)
			n, err := s.Expire(t.Context(), time.Unix(1_900_000_000, 0), 1000)
			check(t, err)
			before, err := s.Scan(t.Context(), store.Query{Limit: 1000})
			check(t, err)
			check(t, s.Close())
			if n != 1000 {
				t.Fatalf("%d expired", n)
			}
			was, err := os.ReadFile(path)
			check(t, err)

			got, err := Compact(t.Context(), path, keep, Options{})
			check(t, err)
			info, err := os.Stat(path)
			check(t, err)
			if got.Before != int64(len(was)) || got.After != info.Size() || got.After >= got.Before*3/4 || got.Pairs < 3000 || info.Mode() != fileMode {
				t.Errorf("%+v, and the file has %d bytes, mode %v", got, info.Size(), info.Mode())
			}
			want := 1
			if keep {
				want = 2
				if old, err := os.ReadFile(path + ".old"); err != nil || string(old) != string(was) || got.Old != path+".old" {
					t.Errorf("the old file: %d bytes, %v; %q", len(old), err, got.Old)
				}
			}
			if names := entries(t, path); len(names) != want {
				t.Errorf("beside it: %v", names)
			}
			if c, err := Check(t.Context(), path, Options{}); err != nil || c.Records != 3000 || !c.Clean {
				t.Errorf("checked: %+v, %v", c, err)
			}
			s = open(t, path)
			defer s.Close()
			after, err := s.Scan(t.Context(), store.Query{Limit: 1000})
			check(t, err)
			for i, r := range before.Records {
				if i >= len(after.Records) || r.ID != after.Records[i].ID || r.Version != after.Records[i].Version {
					t.Fatalf("record %d is another one", i)
				}
			}
			mustApply(t, s, claim(1))
			if _, err := Compact(t.Context(), path, false, Options{Timeout: 10 * time.Millisecond}); !errors.Is(err, ErrInUse) {
				t.Errorf("while it is in use: %v", err)
			}
		})
	}
}

func TestCompactRefuses(t *testing.T) {
	path := filled(t, 1)
	text(1)(t, path+".old")
	if _, err := Compact(t.Context(), path, true, Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over an old file: %v", err)
	}
	missing := path + ".missing"
	if _, err := Compact(t.Context(), missing, true, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	damaged := path + ".damaged"
	copied, err := os.ReadFile(path)
	check(t, err)
	check(t, os.WriteFile(damaged, copied[:4*os.Getpagesize()], fileMode))
	if _, err := Compact(t.Context(), damaged, true, Options{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged file: %v", err)
	}
	if names := entries(t, path); len(names) != 3 {
		t.Errorf("left behind: %v", names)
	}
}

func TestFileThatIsMovedAway(t *testing.T) {
	s := open(t, filled(t, 1))
	defer s.Close()
	check(t, s.Placed())
	check(t, os.Rename(s.Path(), s.Path()+".moved"))
	if err := s.Placed(); !errors.Is(err, ErrGone) {
		t.Errorf("moved: %v", err)
	}
	text(1)(t, s.Path())
	if err := s.Placed(); !errors.Is(err, ErrGone) {
		t.Errorf("another file in its place: %v", err)
	}
}
