package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/n8n-gate/n8n-gate/keyextract"
	"github.com/n8n-gate/n8n-gate/store"
	"github.com/n8n-gate/n8n-gate/store/boltstore"
)

// The part of the admin API that is about the store as a whole. Files are those of the
// machine that Caddy runs on, with its user's rights: nothing is streamed to or from
// the client.
const (
	adminStats  = "/n8n_gate/stats"
	adminSweep  = "/n8n_gate/sweep"
	adminBackup = "/n8n_gate/backup"
	adminExport = "/n8n_gate/export"
	adminImport = "/n8n_gate/import"
	adminAccept = "/n8n_gate/accept"
)

type (
	// Nothing is a request that says nothing.
	Nothing struct{}
	// StatsAnswer counts what the store holds, without the gate's own records.
	StatsAnswer struct {
		Store      string                      `json:"store"`
		Records    map[string]map[string]int64 `json:"records"` // by operation and state
		LastWrite  time.Time                   `json:"last_write,omitzero"`
		Bytes      int64                       `json:"bytes"`
		Quarantine *QuarantineView             `json:"quarantine,omitempty"` // only while it lasts
	}
	// QuarantineView says why the store is in quarantine.
	QuarantineView struct {
		Since  time.Time `json:"since"`
		Reason string    `json:"reason"` // backup or import
		By     string    `json:"by,omitempty"`
		Note   string    `json:"note,omitempty"`
	}
	// SweepAnswer says what a sweep did.
	SweepAnswer struct {
		Lapsed  int `json:"lapsed"`
		Expired int `json:"expired"`
	}
	// FileRequest names a file, by its absolute path, and who wants it.
	FileRequest struct {
		Path   string `json:"path"`
		By     string `json:"by,omitempty"`
		Reason string `json:"reason,omitempty"`
	}
	// ExportAnswer says what was written.
	ExportAnswer struct {
		Path    string `json:"path"`
		Records int    `json:"records"`
		Bytes   int64  `json:"bytes"`
	}
	// ImportRequest names an export.
	ImportRequest struct {
		FileRequest
		SkipExisting bool `json:"skip_existing,omitempty"`
	}
	// AcceptRequest ends the quarantine.
	AcceptRequest struct {
		By     string `json:"by"`
		Reason string `json:"reason"`
	}
)

// storeRoutes are the routes of this file.
func storeRoutes() []caddy.AdminRoute {
	return []caddy.AdminRoute{
		{Pattern: adminStats, Handler: leaseCall(stats)},
		{Pattern: adminSweep, Handler: leaseCall(sweepNow)},
		{Pattern: adminBackup, Handler: leaseCall(backup)},
		{Pattern: adminExport, Handler: leaseCall(export)},
		{Pattern: adminImport, Handler: leaseCall(imports)},
		{Pattern: adminAccept, Handler: leaseCall(accept)},
	}
}

func stats(ctx context.Context, l *lease, _ Nothing) (StatsAnswer, error) {
	return statsOf(ctx, l, l.identity.(string))
}

func statsOf(ctx context.Context, s store.Store, name string) (StatsAnswer, error) {
	found, err := s.Stats(ctx)
	if err != nil {
		return StatsAnswer{}, err
	}
	out := StatsAnswer{Store: name, Records: make(map[string]map[string]int64), LastWrite: found.LastWrite, Bytes: found.Bytes}
	for operation, of := range found.Records {
		out.Records[operation] = make(map[string]int64)
		for state, n := range of {
			out.Records[operation][state.String()] = n
		}
	}
	q, err := store.QuarantineOf(ctx, s)
	if err != nil || !q.Active {
		return out, err
	}
	last := q.History[len(q.History)-1]
	out.Quarantine = &QuarantineView{Since: q.Since, Reason: q.Reason, By: last.By, Note: last.Note}
	return out, nil
}

// sweepNow does what the sweeper does, now. It decides nothing, so nobody is asked why.
func sweepNow(ctx context.Context, l *lease, _ Nothing) (SweepAnswer, error) {
	done, err := store.Sweep(ctx, l.swept(), true)
	return SweepAnswer{done.Lapsed, done.Expired}, err
}

func backup(ctx context.Context, l *lease, in FileRequest) (boltstore.Backup, error) {
	engine, ok := l.Store.(interface {
		Backup(ctx context.Context, path, by, note string) (boltstore.Backup, error)
	})
	switch {
	case !ok:
		return boltstore.Backup{}, apiError(http.StatusNotImplemented, errors.New("this store has its own means of backup"))
	case !filepath.IsAbs(in.Path):
		return boltstore.Backup{}, apiError(http.StatusBadRequest, errors.New("path must be absolute"))
	}
	made, err := engine.Backup(ctx, in.Path, in.By, in.Reason)
	return made, fileError(err)
}

func export(ctx context.Context, l *lease, in FileRequest) (ExportAnswer, error) {
	if !filepath.IsAbs(in.Path) {
		return ExportAnswer{}, apiError(http.StatusBadRequest, errors.New("path must be absolute"))
	}
	out, err := exportTo(ctx, l, in.Path)
	return out, fileError(err)
}

// exportTo writes all records, and how their keys are made, to a new file that only
// this user may read: it holds the bodies of receipts. Notes of refused deliveries
// stay behind; a backup has them.
func exportTo(ctx context.Context, s store.Store, path string) (out ExportAnswer, err error) {
	out.Path = path
	out.Bytes, err = writeNew(path, func(w io.Writer) error {
		out.Records, err = store.Export(ctx, s, w, version(), ruleOperation)
		return err
	})
	return out, err
}

// version names this build in exports.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "n8n-gate"
	}
	const module = "github.com/n8n-gate/n8n-gate"
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module {
			return "n8n-gate " + m.Version
		}
	}
	return "n8n-gate"
}

func imports(ctx context.Context, l *lease, in ImportRequest) (store.Imported, error) {
	switch {
	case !filepath.IsAbs(in.Path):
		return store.Imported{}, apiError(http.StatusBadRequest, errors.New("path must be absolute"))
	case in.Reason == "" || in.By == "":
		return store.Imported{}, apiError(http.StatusBadRequest, errors.New("a reason, and who gives it, are required"))
	}
	out, err := importFrom(ctx, l.Ledger, in, l.enterQuarantine)
	// As it stands now, also if marking it failed or nobody waits any more.
	return out, fileError(errors.Join(err, l.readQuarantine(context.WithoutCancel(ctx))))
}

// importFrom stores what an export holds. enter is called before anything is changed.
func importFrom(ctx context.Context, s store.Store, in ImportRequest, enter func()) (store.Imported, error) {
	return store.Import(ctx, s, func() (io.ReadCloser, error) { return os.Open(in.Path) }, store.ImportOptions{
		By: in.By, Note: in.Reason, SkipExisting: in.SkipExisting, Check: checkKey, Quarantine: enter,
	})
}

// checkKey refuses event keys that no delivery could have: nobody would find them.
func checkKey(r store.Record) error {
	if r.Operation[0] == '.' {
		return nil
	}
	key, err := keyextract.Parse(r.EventKey)
	if err == nil && key.String() != r.EventKey {
		err = errors.New("not as it is printed")
	}
	if err != nil {
		return fmt.Errorf("event key %q: %w", r.EventKey, err)
	}
	return nil
}

func accept(ctx context.Context, l *lease, in AcceptRequest) (store.Accepted, error) {
	if in.Reason == "" || in.By == "" {
		return store.Accepted{}, apiError(http.StatusBadRequest, errors.New("a reason, and who gives it, are required"))
	}
	out, err := l.acceptStore(ctx, store.Verdict{By: in.By, Note: in.Reason})
	if errors.Is(err, store.ErrNotQuarantined) {
		err = apiError(http.StatusConflict, err)
	}
	return out, err
}

// fileError says whose fault it is that something could not be written or read.
func fileError(err error) error {
	var line *store.LineError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist), errors.Is(err, store.ErrImportConflict):
		return apiError(http.StatusConflict, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.As(err, &line):
		return apiError(http.StatusBadRequest, err)
	}
	return apiError(http.StatusInternalServerError, err)
}

// writeNew has fill write a file that only this user may read. It gets its name when
// it is complete and on disk, and never takes one that is there.
func writeNew(path string, fill func(io.Writer) error) (size int64, err error) {
	if _, err := os.Lstat(path); err == nil {
		return 0, fmt.Errorf("%s: %w; it is not overwritten", path, fs.ErrExist)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.partial") // mode 0600
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it has another name by then
	if err = fill(f); err == nil {
		err = f.Sync()
	}
	if err == nil {
		size, err = f.Seek(0, io.SeekEnd)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return 0, err
	}
	err = os.Link(f.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) { // not all file systems have links
		err = os.Rename(f.Name(), path)
	}
	return size, err
}
