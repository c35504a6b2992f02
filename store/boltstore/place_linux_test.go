package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/n8n-gate/n8n-gate/store"
)

// lockWaiters counts how often this process has path open, beyond once.
func lockWaiters(t *testing.T, path string) int {
	t.Helper()
	found, err := os.ReadDir("/proc/self/fd")
	check(t, err)
	n := -1
	for _, e := range found {
		if name, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && name == path {
			n++
		}
	}
	return n
}

func TestNetworkFileSystem(t *testing.T) {
	dir := t.TempDir()
	if name := networkFileSystem(dir); name != "" {
		t.Errorf("the directory of this test counts as %s", name)
	}
	networkAt = func(string) string { return "nfs" }
	defer func() { networkAt = networkFileSystem }()
	path := filepath.Join(dir, "gate.db")
	if _, err := Open(path, Options{}); !errors.Is(err, ErrNetwork) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "nfs") {
		t.Errorf("got %v", err)
	}
	if names := entries(t, path); len(names) != 0 {
		t.Errorf("made: %v", names)
	}
	s, err := Open(path, Options{AllowNetwork: true})
	check(t, err)
	check(t, s.Close())
}

func TestMountKind(t *testing.T) {
	const mounts = `22 1 254:0 / / rw,relatime - ext4 /dev/root rw
36 22 0:45 / /mnt rw,nosuid shared:1 master:2 - fuse.sshfs host:/x rw,user_id=0
37 22 0:46 / /with\040space rw - fuse.mergerfs a:b rw
`
	for device, want := range map[uint64]string{
		unix.Mkdev(254, 0): "ext4", unix.Mkdev(0, 45): "fuse.sshfs", unix.Mkdev(0, 46): "fuse.mergerfs", unix.Mkdev(1, 1): "",
	} {
		if got := mountKind(mounts, device); got != want {
			t.Errorf("%d: got %q, want %q", device, got, want)
		}
	}
	own, err := os.ReadFile("/proc/self/mountinfo")
	check(t, err)
	var st unix.Stat_t
	check(t, unix.Stat("/proc", &st))
	if got := mountKind(string(own), uint64(st.Dev)); got != "proc" {
		t.Errorf("/proc is %q", got)
	}
}

// Who has the file is said by number and name.
func TestLockHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gate.db")
	other := process(t, "hold the lock", path)
	in, err := other.StdinPipe()
	check(t, err)
	out, err := other.StdoutPipe()
	check(t, err)
	check(t, other.Start())
	if _, err := io.ReadFull(out, make([]byte, len("open\n"))); err != nil {
		t.Fatal(err)
	}
	_, err = Open(path, Options{Timeout: 10 * time.Millisecond})
	if want := fmt.Sprintf("process %d, ", other.Process.Pid); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	check(t, in.Close())
	check(t, other.Wait())
}

func init() { parts["open what may not be written"] = openUnwritable }

// A directory, and a file, that may not be written to: by a user who is not root.
func TestReadOnlyPlace(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "boltstore")
	check(t, err)
	defer os.RemoveAll(dir)
	check(t, os.Chmod(dir, 0o755))
	part := process(t, "open what may not be written", filepath.Join(dir, "gate.db"))
	if os.Geteuid() == 0 {
		exe, err := os.ReadFile(os.Args[0]) // where it lies, only root may go
		check(t, err)
		part.Path = filepath.Join(dir, "test")
		check(t, os.WriteFile(part.Path, exe, 0o755))
		part.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	} else {
		check(t, os.Chmod(dir, 0o555))
		defer os.Chmod(dir, 0o755)
	}
	part.Dir = "/"
	check(t, part.Run())
}

func openUnwritable(path string) error {
	for _, p := range []string{path, filepath.Join(filepath.Dir(path), "new", "gate.db")} {
		_, err := Open(p, Options{})
		if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), p) || !strings.Contains(err.Error(), "not writable by this user") {
			return fmt.Errorf("got %w", err)
		}
	}
	return nil
}

func init() { parts["back up without room"] = backUpWithoutRoom }

// A disk without room for a copy, or for a new store: said, and nothing left behind.
func TestNoSpace(t *testing.T) {
	path := filled(t, 100)
	check(t, process(t, "back up without room", path).Run())
	if names := entries(t, path); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
	checkFile(t, path)
}

func backUpWithoutRoom(path string) error {
	s, err := Open(path, Options{})
	if err != nil {
		return err
	}
	if err := limitFiles(20_000); err != nil {
		return err
	}
	_, err = s.Backup(context.Background(), path+".copy", "ann", "")
	if err == nil || !strings.Contains(err.Error(), "no space") {
		return fmt.Errorf("backup: got %w", err)
	}
	if err := limitFiles(unix.RLIM_INFINITY); err != nil {
		return err
	}
	return s.Close()
}

// Who waits for the lock of a file that is replaced meanwhile gets the new file: what
// it wrote to the old one would be lost.
func TestOpenWhileTheFileIsReplaced(t *testing.T) {
	path, other := filled(t, 1), filled(t, 2)
	s := open(t, path)
	type result struct {
		s   *Store
		err error
	}
	opened := make(chan result)
	go func() {
		s, err := Open(path, Options{Timeout: time.Minute})
		opened <- result{s, err}
	}()
	for lockWaiters(t, path) == 0 { // until it has the old file open
		time.Sleep(time.Millisecond)
	}
	check(t, os.Rename(other, path))
	check(t, s.Close())
	r := <-opened
	check(t, r.err)
	defer r.s.Close()
	if err := r.s.Placed(); err != nil {
		t.Error(err)
	}
	stats, err := r.s.Stats(t.Context())
	check(t, err)
	if n := stats.Records["op"][store.Completed]; n != 2 {
		t.Errorf("the store has %d records: it is the old one", n)
	}
}

// Root may compact a store that another user's server must open afterwards.
func TestCompactKeepsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	path := filled(t, 1)
	check(t, os.Chown(path, 65534, 65533))
	_, err := Compact(t.Context(), path, true, Options{})
	check(t, err)
	for _, name := range []string{path, path + ".old"} {
		var st unix.Stat_t
		check(t, unix.Stat(name, &st))
		if st.Uid != 65534 || st.Gid != 65533 || st.Mode&0o777 != fileMode {
			t.Errorf("%s belongs to %d:%d, mode %o", name, st.Uid, st.Gid, st.Mode)
		}
	}
}

// A small disk of its own: a copy must leave room for the store, and a new store that
// finds none says so.
func TestSmallDisk(t *testing.T) {
	s := opened(t)
	mustApply(t, s, claim(1))
	for size, do := range map[string]func(path string) error{
		"size=60m": func(path string) error { _, err := s.Backup(t.Context(), path, "ann", ""); return err },
		"size=4k":  func(path string) error { _, err := Open(path, Options{}); return err },
	} {
		dir := t.TempDir()
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, size); err != nil {
			t.Skipf("no right to mount: %v", err)
		}
		path := filepath.Join(dir, "gate.db")
		if err := do(path); !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "no space is left") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v", size, err)
		}
		if names := entries(t, path); size == "size=60m" && len(names) != 0 {
			t.Errorf("%s: left behind: %v", size, names)
		}
		check(t, unix.Unmount(dir, 0))
	}
}
