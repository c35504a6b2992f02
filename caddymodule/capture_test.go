package caddymodule

import (
	"net/http"
	"strings"
	"testing"

	"github.com/n8n-gate/n8n-gate/store"
)

// plenty is a share of more memory than a test needs.
func plenty() *share { return &share{budget: &budget{limit: 1 << 30}} }

func TestCaptureTakesTheFinalAnswerOnly(t *testing.T) {
	c := newCapture(10, plenty())
	c.Header().Set("X-Early", "1")
	c.WriteHeader(http.StatusEarlyHints)
	c.Header().Del("X-Early")
	c.Header().Set("X-Late", "1")
	c.WriteHeader(http.StatusAccepted)
	c.Header().Set("X-Trailer", "1")
	c.WriteHeader(http.StatusTeapot)
	_, _ = c.Write([]byte("0123456789"))
	if c.status != http.StatusAccepted || len(c.sent) != 1 || c.sent.Get("X-Late") != "1" || string(c.body.data) != "0123456789" || c.dropped {
		t.Fatalf("%d %v %q dropped=%v", c.status, c.sent, string(c.body.data), c.dropped)
	}
}

func TestCaptureThrowsAwayWhatIsOverItsBound(t *testing.T) {
	c := newCapture(10, plenty())
	for range 100 {
		if n, err := c.Write([]byte("0123456789")); n != 10 || err != nil {
			t.Fatalf("Write: %d, %v: an error would break the exchange off", n, err)
		}
	}
	if c.status != http.StatusOK || !c.dropped || len(c.body.data) != 0 {
		t.Fatalf("%d dropped=%v %d bytes", c.status, c.dropped, len(c.body.data))
	}
}

func TestReceiptKeepsWhatReplaysNeed(t *testing.T) {
	keeps := &webhook{receiptBody: maxReceiptDefault, receiptHeader: []string{"x-kept"}}
	completed := verdict{to: store.Completed, reason: store.ReasonResponse}
	ex := &exchange{status: 200, body: []byte("x"), header: http.Header{
		"Content-Type": {"text/html"}, "Location": {"/x"}, "Content-Security-Policy": {"sandbox allow-downloads x"},
		"Set-Cookie": {"a=b"}, "Date": {"now"}, "X-Other": {"1"}, "X-Kept": {"1"},
	}}
	r := keeps.receipt(ex, completed)
	names := make([]string, 0, len(r.Header))
	for _, f := range r.Header {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "Content-Type Location Content-Security-Policy x-kept" || string(r.Body) != "x" || r.BodyDropped {
		t.Fatalf("%s %q %v", got, r.Body, r.BodyDropped)
	}
	ex.body = make([]byte, maxReceiptDefault)
	if r := keeps.receipt(ex, completed); len(r.Body) != maxReceiptDefault || r.BodyDropped {
		t.Fatal("a body of exactly the limit is not kept")
	}
	ex.body = make([]byte, maxReceiptDefault+1)
	if r := keeps.receipt(ex, completed); r.Body != nil || !r.BodyDropped {
		t.Fatal("a body over the limit is kept")
	}
	if r := keeps.receipt(ex, verdict{to: store.Ambiguous, reason: store.ReasonTimeout}); r != nil {
		t.Fatal("what is not completed has a receipt")
	}
}
