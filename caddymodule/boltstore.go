package caddymodule

import (
	"fmt"
	"path/filepath"

	"github.com/caddyserver/caddy/v2"

	"github.com/n8n-gate/n8n-gate/store"
	"github.com/n8n-gate/n8n-gate/store/boltstore"
)

// BoltStore keeps the records in one local file (go.etcd.io/bbolt). It serves
// one Caddy process at a time; the file must not lie on a network file system.
type BoltStore struct {
	// The file. Default: n8n_gate/gate.db in Caddy's data directory.
	// {env.*} and {file.*} placeholders are resolved when the configuration is loaded.
	Path string `json:"path,omitempty"`

	// Open the file though it lies on a network file system, which is refused else: its
	// locks may not keep a second machine out, and what its server has acknowledged may not
	// be on disk yet. Only where you have made sure of both.
	AllowNetworkFileSystem bool `json:"allow_network_file_system,omitempty"`

	path string // absolute, links of its directory resolved
}

// CaddyModule returns the Caddy module information.
func (BoltStore) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "n8n_gate.stores.bolt", New: func() caddy.Module { return new(BoltStore) }}
}

// Provision works out where the file is. It touches nothing.
func (b *BoltStore) Provision(caddy.Context) error {
	path := b.Path
	if path == "" {
		path = filepath.Join(caddy.AppDataDir(), "n8n_gate", "gate.db")
	}
	path, err := caddy.NewReplacer().ReplaceOrErr(path, true, true)
	if err != nil {
		return fmt.Errorf("store path: %w", err)
	}
	if b.path, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("store path: %w", err)
	}
	b.path = resolveLinks(b.path)
	return nil
}

// resolveLinks resolves the links in that part of path which is there already,
// so that one file has one name, before and after its directory is made.
func resolveLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolveLinks(parent), filepath.Base(path))
}

// Identity is the file's absolute path.
func (b *BoltStore) Identity() string { return b.path }

// Open opens the file, and creates it and its directory if they are not there.
func (b *BoltStore) Open() (store.Store, bool, error) {
	s, err := boltstore.Open(b.path, boltstore.Options{AllowNetwork: b.AllowNetworkFileSystem})
	if err != nil {
		return nil, false, err
	}
	return s, s.Created(), nil
}

// Interface guards.
var (
	_ caddy.Provisioner = (*BoltStore)(nil)
	_ StoreModule       = (*BoltStore)(nil)
)
