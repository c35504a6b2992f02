package tests

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// config is a Caddyfile with one gate in front of one n8n and, mostly, one
// webhook "orders". Its fields are further lines where the name says; an empty
// config is the plain case.
type config struct {
	caddy     string // Caddy's global block
	app       string // the global n8n_gate block
	noApp     bool   // leave the global n8n_gate block out
	store     string // another store file than the gate's own
	gate      string // the gate's block
	forward   string // a block behind the forward's address
	operation string // instead of "create_order"
	key       string // instead of "key json id"
	auth      string // instead of "auth none"
	webhook   string // the block of webhook orders
	webhooks  string // further webhook blocks
	site      string // the site's block
	sites     string // further sites
	host      string // a further name of the site
	tls       bool   // https://localhost, a certificate of Caddy's own authority
	clients   string // with tls, the file of the authority that signs the senders' certificates
}

// caddyfile writes the configuration out for g.
func (c config) caddyfile(g *gate) string {
	app := fmt.Sprintf("n8n_gate {\nstore bolt %s\nsweep_interval 1s\ndrain_timeout 5s\n%s\n}", or(c.store, g.storePath()), c.app)
	if strings.Contains(c.app, "drain_timeout") {
		app = strings.Replace(app, "drain_timeout 5s\n", "", 1)
	}
	if c.noApp {
		app = ""
	}
	address, security := fmt.Sprintf("http://127.0.0.1:%d", g.port), ""
	if c.host != "" {
		address += fmt.Sprintf(", http://%s:%d", c.host, g.port)
	}
	if c.tls {
		address, security = fmt.Sprintf("https://localhost:%d", g.port), "tls internal"
	}
	if c.clients != "" {
		security += " {\nclient_auth {\nmode verify_if_given\ntrust_pool file " + c.clients + "\n}\n}"
	}
	forward := g.upstream
	if c.forward != "" {
		forward += " {\n" + c.forward + "\n}"
	}
	return fmt.Sprintf(`{
	admin 127.0.0.1:%[1]d
	default_bind 127.0.0.1
	auto_https disable_redirects
	skip_install_trust
	%[2]s
	%[3]s
}
%[4]s {
	%[5]s
	n8n_gate {
		forward %[6]s
		prefix /webhook
		%[7]s
		webhook orders {
			operation %[15]s
			%[8]s
			%[9]s
			%[10]s
		}
		%[11]s
	}
	%[12]s
	reverse_proxy %[13]s
}
%[14]s
`, g.admin, c.caddy, app, address, security, forward, c.gate, or(c.auth, "auth none"), or(c.key, "key json id"),
		c.webhook, c.webhooks, c.site, g.upstream, c.sites, or(c.operation, "create_order"))
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Ports below the range from which systems take those of outgoing connections,
// so that a restarted gate finds its own port free again.
var ports = struct {
	sync.Mutex
	next int
}{next: 21000 + os.Getpid()%9000}

// freePort returns a loopback port that nobody listens on and that no other
// test of this run gets.
func freePort(t *testing.T) int {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	for range 1000 {
		ports.next++
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", ports.next))
		if err == nil {
			ln.Close()
			return ports.next
		}
	}
	t.Fatal("no free port")
	return 0
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
