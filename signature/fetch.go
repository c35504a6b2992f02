package signature

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// What bounds the fetching of keys and certificates: a certificate has some 2 KiB, a key
// set some 5.
const (
	fetchTimeout = 5 * time.Second
	fetchLimit   = 64 << 10
)

// fetch gets a document from an https URL that the configuration or the preset allows.
type fetch func(ctx context.Context, url string) ([]byte, error)

// fetcher makes a fetch that follows no redirect: its target nobody has allowed.
func (w World) fetcher() fetch {
	client := http.Client{}
	if w.Client != nil {
		client = *w.Client
	}
	client.Timeout = fetchTimeout
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(ctx context.Context, url string) ([]byte, error) {
		// The sender may hang up: what it asked for is of use to the next.
		request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		response, err := client.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close() //nolint:errcheck // read whole, or given up
		if response.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("status %d", response.StatusCode)
		}
		body, err := io.ReadAll(io.LimitReader(response.Body, fetchLimit+1))
		if err == nil && len(body) > fetchLimit {
			err = fmt.Errorf("more than %d bytes", fetchLimit)
		}
		return body, err
	}
}
