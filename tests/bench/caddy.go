//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// startPatience is how long a server may take until it serves.
const startPatience = 60 * time.Second

// options of every measured Caddy. Its log goes to /dev/null: where a real one goes
// costs the same for all.
const caddyOptions = `
	admin off
	auto_https off
	default_bind 127.0.0.1
	skip_install_trust
`

// plainCaddyfile has two proxies without a gate: one with the connections that the gate
// makes, and one as Caddy is by default.
func plainCaddyfile(upstream string, fresh, keptAlive int) string {
	return fmt.Sprintf(`{%s}
http://127.0.0.1:%d, http://hooks.example.com:%[2]d {
	reverse_proxy %[4]s {
		transport http {
			versions 1.1
			keepalive off
			compression off
		}
	}
}
http://127.0.0.1:%[3]d, http://hooks.example.com:%[3]d {
	reverse_proxy %[4]s
}
`, caddyOptions, fresh, keptAlive, upstream)
}

// gateCaddyfile has the gate with its defaults.
func gateCaddyfile(upstream string, port int, store string) string {
	return fmt.Sprintf(`{%s
	n8n_gate {
		store bolt %s
	}
}
http://127.0.0.1:%d, http://hooks.example.com:%[3]d {
	n8n_gate {
		forward %[4]s
		webhook orders {
			auth token header X-Shop-Token secret {env.SHOP_TOKEN}
			key json id
		}
	}
	reverse_proxy %[4]s
}
`, caddyOptions, store, port, upstream)
}

// startCaddy starts one and returns when it serves on port.
func (b *bench) startCaddy(name, caddyfile string, port int) (*process, error) {
	dir := filepath.Join(b.scratch, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(path, []byte(caddyfile), 0o600); err != nil {
		return nil, err
	}
	command := func(args ...string) *exec.Cmd {
		cmd := b.command(b.caddy, append(args, "--config", path, "--adapter", "caddyfile")...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "SHOP_TOKEN=" + webhookToken}
		return cmd
	}
	p := &process{cmd: command("run")}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	p.ended = ended
	for begin := time.Now(); time.Since(begin) < startPatience && b.ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return p, conn.Close()
		}
		select {
		case <-ended:
			ended <- nil
			said, _ := command("validate").CombinedOutput()
			return nil, fmt.Errorf("caddy %s ended: %.2000s", name, said)
		default:
		}
	}
	p.terminate()
	return nil, errors.Join(b.ctx.Err(), fmt.Errorf("caddy %s does not serve", name))
}

// startBackend starts what plays n8n and returns its address.
func (b *bench) startBackend() (p *process, addr string, err error) {
	if p, err = b.child("backend"); err != nil {
		return nil, "", err
	}
	if !p.lines.Scan() {
		return nil, "", errors.Join(errors.New("the backend did not start: "+strings.TrimSpace(p.stderr.String())), p.stop())
	}
	return p, addr, json.Unmarshal(p.lines.Bytes(), &addr)
}

// freePorts are loopback ports that nobody listens on, below those that systems take
// for outgoing connections.
func freePorts(n int) ([]int, error) {
	var ports []int
	for port := 21000 + os.Getpid()%9000; port < 32000 && len(ports) < n; port++ {
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		ln.Close()
		ports = append(ports, port)
	}
	if len(ports) < n {
		return nil, errors.New("no free ports")
	}
	return ports, nil
}
