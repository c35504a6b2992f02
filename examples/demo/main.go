// Command demo plays n8n for those who have none at hand: every POST below
// /webhook/ is answered as a published workflow with "Respond immediately"
// would, and counted as one action. What it prints is what the gate let
// through.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/n8n-gate/n8n-gate/n8n"
)

const (
	defaultListen = "127.0.0.1:5678" // n8n's own port

	// maxBody is what n8n takes unless N8N_PAYLOAD_SIZE_MAX says otherwise.
	maxBody = 16 << 20

	// grace is how long answers under way may take at the end.
	grace = 5 * time.Second
)

func main() {
	listen := os.Getenv("N8N_UPSTREAM")
	if listen == "" {
		listen = defaultListen
	}
	flag.StringVar(&listen, "listen", listen, "address to listen on; default from N8N_UPSTREAM")
	flag.Parse()
	if err := run(listen); err != nil {
		fmt.Fprintln(os.Stderr, "demo upstream:", err)
		os.Exit(1)
	}
}

// run serves until the process is asked to end.
func run(listen string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Printf("demo upstream (it plays n8n) on http://%s\n", listener.Addr())

	server := &http.Server{Handler: &upstream{log: os.Stdout}, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		return err
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// upstream is the fake n8n. Its actions are only counted.
type upstream struct {
	mu      sync.Mutex
	actions int
	log     io.Writer // one line for each action
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	webhook, _, ok := n8n.Canonical(n8n.DefaultPrefix, r.URL.EscapedPath())
	if !ok {
		notRegistered(w, r, strings.Trim(r.URL.Path, "/"))
		return
	}
	if r.Method != http.MethodPost {
		notRegistered(w, r, webhook)
		return
	}
	// n8n reads the whole body before a workflow begins.
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		answer(w, http.StatusInternalServerError, failure{Message: "There was a problem executing the workflow"})
		return
	}
	key := r.Header.Get("N8n-Gate-Event-Key")
	number := u.act(r.Header.Get("N8n-Gate-Operation"), key, r.Header.Get("N8n-Gate-Attempt"))
	w.Header().Set("Content-Security-Policy", n8n.SandboxCSP)
	answer(w, http.StatusOK, started{Message: "Workflow was started", Actions: number, EventKey: key})
}

// act counts one action, prints it and returns its number.
func (u *upstream) act(operation, key, attempt string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.actions++
	// Without a terminal to print to, the answers still carry the count.
	_, _ = fmt.Fprintf(u.log, "action %d: operation=%s event_key=%s attempt=%s\n", u.actions, operation, key, attempt)
	return u.actions
}

// started is what the workflow answers.
type started struct {
	Message  string `json:"message"`
	Actions  int    `json:"actions"` // so many since the start, this one included
	EventKey string `json:"event_key"`
}

// failure is the body of n8n's own errors.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// notRegistered answers as n8n does where no webhook is.
func notRegistered(w http.ResponseWriter, r *http.Request, webhook string) {
	answer(w, http.StatusNotFound, failure{
		Code:    http.StatusNotFound,
		Message: fmt.Sprintf(`The requested webhook "%s %s" is not registered.`, r.Method, webhook),
		Hint: "The workflow must be active for a production URL to run successfully. " +
			"You can activate the workflow using the toggle in the top-right of the editor. " +
			"Note that unlike test URL calls, production URL calls aren't shown on the canvas (only in the executions list)",
	})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	// An error means that the caller has gone: there is nobody to tell.
	_ = json.NewEncoder(w).Encode(body)
}
