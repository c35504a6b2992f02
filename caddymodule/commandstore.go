package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/n8n-gate/n8n-gate/store"
	"github.com/n8n-gate/n8n-gate/store/boltstore"
)

// The commands about the store as a whole. Most ask the running server; `compact` and
// `check` need a file that no server has open, and export and import can work on one.

// storeCommands are all of them.
func storeCommands() []*cobra.Command {
	return []*cobra.Command{
		statsCommand(), sweepCommand(), backupCommand(), exportCommand(), importCommand(), acceptCommand(), compactCommand(), checkCommand(),
	}
}

func statsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Counts records by operation and state, and says whether the store is in quarantine",
		Args:  cobra.NoArgs,
	}
	return desk(cmd, func(c call) error {
		var out StatsAnswer
		if err := c.post(adminStats, Nothing{}, &out); err != nil {
			return err
		}
		if c.asJSON {
			return c.json(out)
		}
		return c.printStats(out)
	})
}

func (c call) printStats(s StatsAnswer) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) } // Flush reports
	line("store\t%s", s.Store)
	line("size\t%d bytes", s.Bytes)
	if !s.LastWrite.IsZero() {
		line("last write\t%s", s.LastWrite.Format(time.RFC3339))
	}
	if q := s.Quarantine; q != nil {
		line("quarantine\tsince %s (%s by %s): see `caddy n8n-gate accept`", q.Since.Format(time.RFC3339), q.Reason, first(q.By, "nobody"))
	}
	line("\nOPERATION\tSTATE\tRECORDS")
	for _, operation := range slices.Sorted(maps.Keys(s.Records)) {
		for _, state := range slices.Sorted(maps.Keys(s.Records[operation])) {
			line("%s\t%s\t%d", operation, state, s.Records[operation][state])
		}
	}
	return w.Flush()
}

func sweepCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Looks now for attempts that nobody will settle and for expired records, as the server does every sweep_interval",
		Args:  cobra.NoArgs,
	}
	return desk(cmd, func(c call) error {
		var out SweepAnswer
		if err := c.post(adminSweep, Nothing{}, &out); err != nil {
			return err
		}
		return c.say(out, "%d records became ambiguous, %d expired ones were deleted.", out.Lapsed, out.Expired)
	})
}

func backupCommand() *cobra.Command {
	var in FileRequest
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copies the store to a new file while the server serves",
		Long: `
Copies the store to a new file, on the machine of the server and with its rights,
while it serves. The copy is the store as it stood at one moment, and is checked.
Only the server's user may read it: it holds the bodies of receipts.

FILE belongs on a local disk: until it is written, the store cannot use the room
again that it gives up meanwhile. Move it elsewhere afterwards.

A store that is opened from the copy is in quarantine: what was done after the copy
was made is not in it (see accept).`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&in.By, "by", "", "who makes it (default: the user of the operating system)")
	cmd.Flags().StringVar(&in.Reason, "reason", "", "what for; it is shown while the copy is in quarantine")
	return desk(cmd, func(c call) (err error) {
		if in.Path, in.By, err = c.fileAndCaller(in.By); err != nil {
			return err
		}
		var out boltstore.Backup
		if err := c.post(adminBackup, in, &out); err != nil {
			return err
		}
		return c.say(out, "%s: %d bytes, as of %s.", out.Path, out.Bytes, out.At.Format(time.RFC3339))
	})
}

func exportCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "Writes all records to a new file, as JSON Lines",
		Long: `
Writes all records, and how their event keys are made, to a new file: a header, one
line a record, and a trailer that tells whether the file is complete. It is written by
the server, on its machine, with mode 0600: it holds the bodies of receipts. With
--store it is read from a store that no server has open.

Unlike a backup it is no snapshot: a record that changes meanwhile is written as it is
when its turn comes. Notes of refused deliveries are not in it.`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&from, "store", "", "the file of a store that no server has open")
	return desk(cmd, func(c call) (err error) {
		var in FileRequest
		if in.Path, err = filepath.Abs(c.args[0]); err != nil {
			return err
		}
		var out ExportAnswer
		if from == "" {
			err = c.post(adminExport, in, &out)
		} else if err = mustExist(from); err == nil {
			err = withStore(from, boltstore.Options{AllowNetwork: true}, func(s store.Store) error {
				out, err = exportTo(context.Background(), s, in.Path)
				return err
			})
		}
		if err != nil {
			return err
		}
		return c.say(out, "%s: %d records, %d bytes.", out.Path, out.Records, out.Bytes)
	})
}

func importCommand() *cobra.Command {
	var in ImportRequest
	var into string
	cmd := &cobra.Command{
		Use:   "import FILE --reason TEXT [--store FILE]",
		Short: "Stores the records of an export; the store is in quarantine afterwards",
		Long: `
Stores the records of an export. The whole file is verified before anything is changed:
every line, and that no record or alias is there already as another one. Records that
are there just as the file has them are skipped, so an import that broke off can be run
again.

With --store they are stored in that file, which is made if it is not there and which no
server may have open: the way to move to a new machine, since a server that starts with
an empty store takes every event for a new one. Without it the running server reads the
file, on its machine.

The store is in quarantine afterwards (see accept).`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&into, "store", "", "the file of a store that no server has open")
	cmd.Flags().BoolVar(&in.SkipExisting, "skip-existing", false, "leave records alone that are there already as others")
	reasonFlags(cmd, &in.Reason, &in.By)
	return desk(cmd, func(c call) (err error) {
		if in.Path, in.By, err = c.fileAndCaller(in.By); err != nil {
			return err
		}
		var out store.Imported
		switch {
		case in.Reason == "":
			return errors.New("a reason is required")
		case into == "":
			err = c.post(adminImport, in, &out)
		default:
			err = withStore(into, boltstore.Options{}, func(s store.Store) error {
				out, err = importFrom(context.Background(), s, in, nil)
				return err
			})
		}
		if err != nil {
			return err
		}
		return c.say(out, "%d records stored, %d were there already. The store is in quarantine: see `caddy n8n-gate accept`.", out.Records, out.Skipped)
	})
}

func acceptCommand() *cobra.Command {
	var in AcceptRequest
	cmd := &cobra.Command{
		Use:   "accept --reason TEXT",
		Short: "Ends the quarantine of a restored store",
		Long: `
Ends the quarantine of a store that was restored from a backup or filled by an import.
What was done after the copy was made is not in it: an event that it does not know may
have been carried out. Until you accept that, such events are turned away (503), so that
their senders keep them.

First look up what was done in the meantime, as far as you can. Then accept: events that
had failed when the copy was made become ambiguous (they may have been carried out by a
later attempt), and events that the store does not know are let through again, even
those that were carried out after the copy was made.`,
		Args: cobra.NoArgs,
	}
	reasonFlags(cmd, &in.Reason, &in.By)
	return desk(cmd, func(c call) (err error) {
		if in.By, err = caller(in.By); err != nil {
			return err
		}
		var out store.Accepted
		if err := c.post(adminAccept, in, &out); err != nil {
			return err
		}
		return c.say(out, "The quarantine is over. %d records are ambiguous now: see `caddy n8n-gate list --reason restored`.", out.Ambiguous)
	})
}

func compactCommand() *cobra.Command {
	var drop bool
	cmd := &cobra.Command{
		Use:   "compact FILE",
		Short: "Writes a store's file anew, without unused room; stop the server first",
		Long: `
Writes the file of a store anew, without the room that deleted records left behind. No
server may have it open: stop Caddy first. Every record is compared before the new file
takes the place of the old one, which is kept as FILE.old.`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&drop, "drop-old", false, "do not keep the old file")
	return desk(cmd, func(c call) error {
		out, err := boltstore.Compact(context.Background(), c.args[0], !drop, boltstore.Options{})
		if errors.Is(err, boltstore.ErrInUse) {
			return fmt.Errorf("%w: stop Caddy first, and start it again afterwards", err)
		}
		if err != nil {
			return err
		}
		return c.say(out, "%s: %d bytes, %d before.", out.Path, out.After, out.Before)
	})
}

func checkCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "check --store FILE",
		Short: "Checks a store's file: its structure, every record, their names and counts",
		Long: `
Checks the file of a store, or a backup, which no server has open: every page is used
once, keys are in order, every record can be read and can be so, is found by its other
names, and is counted. A server that was not stopped properly checks less when it
starts, so that it starts soon.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&file, "store", "", "the file (required)")
	_ = cmd.MarkFlagRequired("store") // it is defined above
	return desk(cmd, func(c call) error {
		out, err := boltstore.Check(context.Background(), file, boltstore.Options{AllowNetwork: true})
		if errors.Is(err, boltstore.ErrInUse) {
			return fmt.Errorf("%w: stop Caddy first, or check a backup", err)
		}
		if err != nil {
			return err
		}
		how := "it was closed properly"
		if !out.Clean {
			how = "it was not closed properly"
		}
		return c.say(out, "%s is in order: %d records, %d bytes; %s.", file, out.Records, out.Bytes, how)
	})
}

// reasonFlags are those of commands that change what the store says.
func reasonFlags(cmd *cobra.Command, reason, by *string) {
	cmd.Flags().StringVar(reason, "reason", "", "why (required)")
	cmd.Flags().StringVar(by, "by", "", "who says so (default: the user of the operating system)")
	_ = cmd.MarkFlagRequired("reason") // it is defined above
}

// caller is by, or the user of the operating system.
func caller(by string) (string, error) {
	if by != "" {
		return by, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("finding out who you are; say it with --by: %w", err)
	}
	return u.Username, nil
}

// fileAndCaller are the command's argument as an absolute path, and who calls.
func (c call) fileAndCaller(by string) (path, who string, err error) {
	if path, err = filepath.Abs(c.args[0]); err != nil {
		return "", "", err
	}
	who, err = caller(by)
	return path, who, err
}

// say prints what was done, for a program or a person.
func (c call) say(out any, format string, args ...any) error {
	if c.asJSON {
		return c.json(out)
	}
	_, err := fmt.Fprintf(c.out, format+"\n", args...)
	return err
}

func mustExist(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("no store: %w", err)
	}
	return nil
}

// withStore has do work on a store that no server has open.
func withStore(path string, o boltstore.Options, do func(store.Store) error) error {
	s, err := boltstore.Open(path, o)
	if errors.Is(err, boltstore.ErrInUse) {
		return fmt.Errorf("%w: stop Caddy first, or leave --store out to ask it", err)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}
