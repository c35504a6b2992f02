package caddymodule

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/store"
)

// watching reports the most that b used while r was read.
type watching struct {
	io.Reader
	budget *budget
	buffer *buffer
	t      *testing.T
}

func (w watching) Read(p []byte) (int, error) {
	if held, came := w.budget.used, int64(len(w.buffer.data)); held > max(2*came, firstRoom) {
		w.t.Errorf("%d bytes are held for %d that came", held, came)
	}
	return w.Reader.Read(p[:min(len(p), 5000)])
}

func TestBufferHoldsWhatCame(t *testing.T) {
	const size = 3<<20 + 1
	body := bytes.Repeat([]byte("x"), size)
	for _, test := range []struct {
		name  string
		bound int64
	}{{"announced", size}, {"within a bound", 16 << 20}} {
		t.Run(test.name, func(t *testing.T) {
			all := &budget{limit: 1 << 30}
			b := buffer{share: &share{budget: all}, bound: test.bound}
			if err := b.fill(watching{bytes.NewReader(body), all, &b, t}); err != nil || !bytes.Equal(b.data, body) {
				t.Fatalf("%d bytes, %v", len(b.data), err)
			}
			if all.used != int64(cap(b.data)) {
				t.Errorf("%d bytes are held and %d accounted for", cap(b.data), all.used)
			}
			// What was copied from counts while it is copied.
			if most := all.peak(); most < all.used*3/2 || most > all.used*3/2+2 {
				t.Errorf("the most was %d, to hold %d", most, all.used)
			}
			b.drop()
			if all.used != 0 {
				t.Errorf("%d bytes are left", all.used)
			}
		})
	}
}

func TestBufferEnds(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name  string
		limit int64
		body  io.Reader
		want  error
	}{
		{"at its bound", 1 << 20, strings.NewReader(strings.Repeat("x", 100<<10)), nil},
		{"beyond its bound", 1 << 20, strings.NewReader(strings.Repeat("x", 100<<10+1)), errBound},
		{"beyond its bound, late", 1 << 20, iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 100<<10+1))), errBound},
		{"without memory", 80 << 10, strings.NewReader(strings.Repeat("x", 100<<10)), errMemory},
		{"as its reader does", 1 << 20, io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken)), broken},
		{"together with its reader's last bytes", 1 << 20, iotest.DataErrReader(strings.NewReader("x")), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := buffer{share: &share{budget: &budget{limit: test.limit}}, bound: 100 << 10}
			if err := b.fill(test.body); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

// Whatever large bodies take, small ones have a quarter of all there is.
func TestLargeBodiesLeaveRoomForSmallOnes(t *testing.T) {
	all := &budget{limit: 16 << 20}
	for i := range 1000 {
		b := &buffer{share: &share{budget: all}, bound: 1 << 20, large: i%2 == 0} // announced, or not
		if b.fill(bytes.NewReader(make([]byte, 1<<20))) != nil {
			b.drop()
			break
		}
	}
	if all.used > 12<<20 || all.used < 10<<20 {
		t.Fatalf("large bodies took %d bytes", all.used)
	}
	for i := range 4<<20/smallBody - 1 { // one less: what a body is copied from counts too
		b := buffer{share: &share{budget: all}, bound: smallBody}
		if err := b.fill(bytes.NewReader(make([]byte, smallBody))); err != nil {
			t.Fatalf("small body %d found no room: %d of %d bytes are taken", i, all.used, all.limit)
		}
	}
}

// A small body that is compressed needs little, whatever max_body is; and what it is
// decoded into is given back.
func TestDecodedBodiesAreAccountedFor(t *testing.T) {
	for _, test := range []struct {
		name         string
		size         int
		limit        int64
		want         error
		atMost       int64
		maxBodyBytes int64
	}{
		{"small", 10 << 10, 1 << 20, nil, 32 << 10, 16 << 20},
		{"large", 3 << 20, 16 << 20, nil, 8 << 20, 16 << 20},
		{"all that is allowed", 3 << 20, 16 << 20, nil, 3 << 20, 3 << 20},
		{"too large", 3<<20 + 1, 16 << 20, keyextract.ErrTooLarge, 3 << 20, 3 << 20},
		{"without memory", 3 << 20, 2 << 20, errMemory, 1 << 20, 16 << 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			var sent bytes.Buffer
			w := gzip.NewWriter(&sent)
			_, _ = w.Write(make([]byte, test.size))
			_ = w.Close()
			all := &budget{limit: test.limit}
			r := httptest.NewRequest(http.MethodPost, "/", nil)
			r.Header.Set("Content-Encoding", "gzip")
			d := &delivery{request: r, hook: &webhook{maxBody: test.maxBodyBytes}, memory: share{budget: all}}
			decoded, done, err := d.decode(sent.Bytes())
			if !errors.Is(err, test.want) || err == nil && len(decoded) != test.size {
				t.Errorf("%d bytes, %v, want %v", len(decoded), err, test.want)
			}
			if most := all.peak(); most > test.atMost {
				t.Errorf("%d bytes were taken", most)
			}
			if done(); all.used != 0 {
				t.Errorf("%d bytes are left", all.used)
			}
		})
	}
}

func TestReplaysAreAccountedFor(t *testing.T) {
	d := &delivery{memory: share{budget: &budget{limit: 10}}}
	stored := answer{decision: decidedReplayed, status: http.StatusOK, body: []byte("0123456789")}
	if a := d.afford(stored); a.decision != decidedReplayed || d.memory.taken != 10 {
		t.Errorf("%v, %d bytes taken", a.decision, d.memory.taken)
	}
	if a := d.afford(stored); a.decision != decidedOverloaded || a.status != http.StatusServiceUnavailable {
		t.Errorf("%v beyond what there is", a.decision)
	}
}

func TestUnsettledReceiptsAreAccountedFor(t *testing.T) {
	receipt := &store.Receipt{Status: http.StatusOK, Body: make([]byte, 5, 8)}
	held := share{budget: &budget{limit: 10}}
	if held.keep(nil) != nil || held.keep(receipt) != receipt || held.taken != 8 {
		t.Errorf("%d bytes are taken", held.taken)
	}
	if bare := held.keep(receipt); bare.Status != http.StatusOK || bare.Body != nil || !bare.BodyDropped || receipt.Body == nil {
		t.Errorf("beyond what there is: %v", bare)
	}
}
