package caddymodule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
)

// command is `caddy n8n-gate`: the operator's desk, over the admin API of a
// running Caddy, which holds the store's file.
var command = caddycmd.Command{
	Name:  "n8n-gate",
	Usage: "list | show | resolve | stats | sweep | backup | export | import | accept | compact | check | providers",
	Short: "Looks at the events of a running gate, settles ambiguous ones, and keeps its store",
	Long: `
Looks at the events that a running n8n-gate knows, and settles those of which
nobody knows whether they were carried out; copies, restores and checks its store. It
speaks to Caddy's admin API (--address, or the one in --config; default
localhost:2019). What needs a store that no server has open says so.`,
	CobraFunc: func(cmd *cobra.Command) {
		cmd.AddCommand(listCommand(), showCommand(), resolveCommand(), providersCommand())
		cmd.AddCommand(storeCommands()...)
	},
}

func listCommand() *cobra.Command {
	var in ListRequest
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Lists records, for example those that wait for a person: --state ambiguous",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().StringVar(&in.Operation, "operation", "", "only records of this operation")
	cmd.Flags().StringVar(&in.State, "state", "", "only records in this state: processing, completed, failed_retryable, ambiguous; stranded ones, whose sender will not come back; or refused deliveries: conflict, missing_key, malformed, too_large")
	cmd.Flags().StringVar(&in.Reason, "reason", "", "only records that are in their state for this reason")
	cmd.Flags().StringVar(&in.OlderThan, "older-than", "", "only records in their state for longer than this duration, such as 1h")
	return desk(cmd, func(c call) error {
		if c.asJSON {
			return c.listJSON(in)
		}
		return c.listTable(in)
	})
}

func showCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show OPERATION EVENT_KEY",
		Short: "Shows one record and its history",
		Args:  cobra.ExactArgs(2),
	}
	return desk(cmd, func(c call) error {
		var r RecordView
		if err := c.post(adminShow, RecordName{c.args[0], c.args[1]}, &r); err != nil {
			return err
		}
		return c.print(r)
	})
}

func resolveCommand() *cobra.Command {
	var in ResolveRequest
	var completed, retryable bool
	cmd := &cobra.Command{
		Use:   "resolve OPERATION EVENT_KEY --completed [--action-id ID] | --retryable --reason TEXT",
		Short: "Settles an ambiguous record after somebody looked it up",
		Long: `
Settles an ambiguous record on your word, after you looked up in the downstream
system whether the event was carried out.

--completed: it was. Further deliveries are answered as replays.
--retryable: it was not. The sender must deliver the event again.`,
		Args: cobra.ExactArgs(2),
	}
	cmd.Flags().BoolVar(&completed, "completed", false, "the event was carried out")
	cmd.Flags().BoolVar(&retryable, "retryable", false, "the event was not carried out")
	cmd.Flags().StringVar(&in.ActionID, "action-id", "", "the downstream system's id of what was done")
	cmd.Flags().StringVar(&in.Reason, "reason", "", "how you know (required)")
	cmd.Flags().StringVar(&in.By, "by", "", "who says so (default: the user of the operating system)")
	cmd.Flags().Uint64Var(&in.Version, "version", 0, "refuse if the record has another version by now")
	cmd.MarkFlagsMutuallyExclusive("completed", "retryable")
	cmd.MarkFlagsOneRequired("completed", "retryable")
	_ = cmd.MarkFlagRequired("reason") // it is defined above
	return desk(cmd, func(c call) error {
		in.RecordName = RecordName{c.args[0], c.args[1]}
		in.Status = "failed_retryable"
		if completed {
			in.Status = "completed"
		}
		var err error
		if in.By, err = caller(in.By); err != nil {
			return err
		}
		var r RecordView
		if err := c.post(adminResolve, in, &r); err != nil {
			return err
		}
		if err := c.print(r); err != nil || completed || c.asJSON {
			return err
		}
		_, err = fmt.Fprintln(c.out, "The sender must deliver the event again: the gate does not hold its body.")
		return err
	})
}

// desk gives a command the flags that all have, and runs it with a call.
func desk(cmd *cobra.Command, run func(call) error) *cobra.Command {
	cmd.Flags().String("address", "", "address of Caddy's admin API (default: from --config, else localhost:2019)")
	cmd.Flags().StringP("config", "c", "", "configuration file to take the admin address from")
	cmd.Flags().StringP("adapter", "a", "", "name of the configuration file's adapter")
	cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = caddycmd.WrapCommandFuncForCobra(func(fl caddycmd.Flags) (int, error) {
		address, err := caddycmd.DetermineAdminAPIAddress(fl.String("address"), nil, fl.String("config"), fl.String("adapter"))
		if err != nil {
			return 1, err
		}
		err = run(call{address: address, asJSON: fl.Bool("json"), args: fl.Args(), out: cmd.OutOrStdout()})
		if err != nil {
			return 1, err
		}
		return 0, nil
	})
	return cmd
}

// call is one run of a command.
type call struct {
	address string
	asJSON  bool
	args    []string
	out     io.Writer
}

func (c call) post(path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	resp, err := caddycmd.AdminAPIRequest(c.address, http.MethodPost, path, nil, bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return json.NewDecoder(resp.Body).Decode(out)
}

// pages calls do with every page of a list.
func (c call) pages(in ListRequest, do func([]RecordView) error) error {
	for {
		var page ListAnswer
		if err := c.post(adminList, in, &page); err != nil {
			return err
		}
		if err := do(page.Records); err != nil || page.Next == "" {
			return err
		}
		if page.Next == in.After {
			return errors.New("the server repeats a page")
		}
		in.After = page.Next
	}
}

func (c call) listJSON(in ListRequest) error {
	all := []RecordView{}
	if err := c.pages(in, func(page []RecordView) error { all = append(all, page...); return nil }); err != nil {
		return err
	}
	return c.json(all)
}

func (c call) listTable(in ListRequest) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(w, "OPERATION\tEVENT KEY\tSTATE\tREASON\tATTEMPT\tSINCE")
	if err != nil {
		return err
	}
	err = c.pages(in, func(page []RecordView) error {
		for _, r := range page {
			_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", r.Operation, r.EventKey, r.State, r.Reason, r.Attempt, r.since().Format(time.RFC3339))
			if err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, w.Flush())
}

// since is when the record's present state began.
func (r RecordView) since() time.Time {
	if r.State == "processing" || r.SettledAt.IsZero() {
		return r.ClaimedAt
	}
	return r.SettledAt
}

// print prints one record.
func (c call) print(r RecordView) error {
	if c.asJSON {
		return c.json(r)
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	line := func(name string, value any) { _, _ = fmt.Fprintf(w, "%s\t%v\n", name, value) } // Flush reports
	line("operation", r.Operation)
	line("event key", r.EventKey)
	line("state", r.State+" ("+r.Reason+")")
	line("attempt", r.Attempt)
	if r.ActionID != "" {
		line("action id", r.ActionID)
	}
	if r.Status != 0 {
		line("receipt", fmt.Sprintf("%d, %d bytes", r.Status, r.ReceiptBytes))
	}
	for _, m := range r.History {
		what := fmt.Sprintf("%s -> %s (%s), attempt %d", m.From, m.To, m.Reason, m.Attempt)
		if m.By != "" {
			what += ", by " + m.By + ": " + m.Note
		}
		line(m.At.Format(time.RFC3339Nano), what)
	}
	return w.Flush()
}

func (c call) json(v any) error {
	enc := json.NewEncoder(c.out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
