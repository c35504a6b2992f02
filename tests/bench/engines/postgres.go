//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

// postgresStore is a PostgreSQL of its own, with its defaults but for the size of its
// cache, over a socket: each claim and each receipt is a statement that commits itself.
type postgresStore struct {
	pool   *pgxpool.Pool
	server *server
}

func openPostgres(dir string) (work.Store, error) {
	as, err := postgresUser(dir)
	if err != nil {
		return nil, err
	}
	command := func(name string, args ...string) (*exec.Cmd, error) {
		path, err := postgresProgram(name)
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(path, args...)
		cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: as}
		return cmd, nil
	}
	data := filepath.Join(dir, "data")
	initdb, err := command("initdb", "--pgdata", data, "--username", "bench", "--auth", "trust", "--encoding", "UTF8", "--locale", "C")
	if err != nil {
		return nil, err
	}
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %.1000s", err, out)
	}
	postgres, err := command("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "shared_buffers=512MB")
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(context.Background(), "host="+dir+" user=bench dbname=postgres pool_max_conns=64")
	if err != nil {
		return nil, err
	}
	server, err := startServer(postgres, func() error { return pool.Ping(context.Background()) })
	if err != nil {
		pool.Close()
		return nil, err
	}
	s := &postgresStore{pool, server}
	if _, err := pool.Exec(context.Background(), "CREATE TABLE records (key bytea PRIMARY KEY, value bytea NOT NULL)"); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// postgresProgram finds a program of PostgreSQL's, which Debian keeps out of the path.
func postgresProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.EvalSymlinks(path)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", errors.New("PostgreSQL's " + name + " is not installed")
	}
	return slices.Max(found), nil
}

// postgresUser is who the server runs as, nil for this user: PostgreSQL refuses root,
// for whom its own user takes over the directory.
func postgresUser(dir string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres")
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, uid, gid)
}

func (s *postgresStore) Claim(_ int, n uint64) (func() error, error) {
	d := work.AsStored(n)
	if err := s.one("INSERT INTO records (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING", d.Key, d.Claimed); err != nil {
		return nil, err
	}
	return func() error { return s.one("UPDATE records SET value = $2 WHERE key = $1", d.Key, d.Settled) }, nil
}

// one carries a statement out that must change one row. pgx prepares it once a connection.
func (s *postgresStore) one(statement string, args ...any) error {
	tag, err := s.pool.Exec(context.Background(), statement, args...)
	if err == nil && tag.RowsAffected() != 1 {
		err = errors.New("not one row changed")
	}
	return err
}

func (s *postgresStore) Close() error {
	s.pool.Close()
	return s.server.stop(syscall.SIGINT) // ends its clients' sessions
}
