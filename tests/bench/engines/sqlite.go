//go:build linux

package main

import (
	"database/sql"
	"errors"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3" // the driver

	"github.com/n8n-gate/n8n-gate/tests/bench/internal/work"
)

// sqliteStore has one connection: SQLite has one writer, and with one connection the
// clients wait for each other here instead of in busy loops.
type sqliteStore struct {
	db             *sql.DB
	insert, update *sql.Stmt
}

func openSQLite(dir string) (work.Store, error) {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "bench.sqlite")+"?_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	s := &sqliteStore{db: db}
	_, err = db.Exec("CREATE TABLE records (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
	if err == nil {
		s.insert, err = db.Prepare("INSERT INTO records (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING")
	}
	if err == nil {
		s.update, err = db.Prepare("UPDATE records SET value = ? WHERE key = ?")
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *sqliteStore) Claim(_ int, n uint64) (func() error, error) {
	d := work.AsStored(n)
	if err := one(s.insert.Exec(d.Key, d.Claimed)); err != nil {
		return nil, err
	}
	return func() error { return one(s.update.Exec(d.Settled, d.Key)) }, nil
}

// one wants exactly one row to have changed.
func one(r sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n != 1 {
		return errors.Join(errors.New("not one row changed"), err)
	}
	return nil
}

func (s *sqliteStore) Close() error { return s.db.Close() }
