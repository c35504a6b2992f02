package caddymodule

import (
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// isOff reads the word with which a webhook turns off what the gate sets for all.
func isOff(args []string) bool { return len(args) == 1 && args[0] == off }

func parseOnResponse(d *caddyfile.Dispenser, o *Options) error {
	args := d.RemainingArgs()
	if o.OnResponse != nil && (isOff(args) || len(o.OnResponse) == 0) {
		return d.Err("on_response off: must stand alone")
	}
	if isOff(args) {
		o.OnResponse = []ResponseRule{}
		return nil
	}
	if len(args) < 2 {
		return d.ArgErr()
	}
	rule := ResponseRule{Then: args[len(args)-1]}
	for status := range strings.SplitSeq(args[0], ",") {
		n, err := strconv.Atoi(status)
		if err != nil {
			return d.Errf("on_response %s: expected statuses, such as 409,422", args[0])
		}
		rule.Status = append(rule.Status, n)
	}
	for rest := args[1 : len(args)-1]; len(rest) > 0; rest = rest[3:] {
		when, err := parseCondition(d, rest)
		if err != nil {
			return err
		}
		rule.When = append(rule.When, when)
	}
	if _, err := rule.compile(); err != nil {
		return d.WrapErr(err)
	}
	o.OnResponse = append(o.OnResponse, rule)
	return nil
}

func parseCompleteWhen(d *caddyfile.Dispenser, o *Options) error {
	args := d.RemainingArgs()
	if isOff(args) {
		o.CompleteWhen = new(Condition)
		return nil
	}
	if len(args) != 3 {
		return d.ArgErr()
	}
	when, err := parseCondition(d, args)
	if err != nil {
		return err
	}
	if _, err := when.compile(); err != nil {
		return d.WrapErr(inOption("complete_when", err))
	}
	o.CompleteWhen = &when
	return nil
}

// parseCondition reads `header NAME VALUE` or `json PATH VALUE` from the start of args.
func parseCondition(d *caddyfile.Dispenser, args []string) (Condition, error) {
	if len(args) < 3 || args[0] != "header" && args[0] != "json" {
		return Condition{}, d.Err("expected `header NAME VALUE` or `json PATH VALUE`")
	}
	if args[0] == "header" {
		return Condition{Place{Header: args[1]}, args[2]}, nil
	}
	return Condition{Place{Path: args[1]}, args[2]}, nil
}

func parseActionID(d *caddyfile.Dispenser, o *Options) error {
	args := d.RemainingArgs()
	if isOff(args) {
		o.ActionID = new(Place)
		return nil
	}
	if len(args) != 2 || args[0] != "header" && args[0] != "json" {
		return d.Err("action_id: expected `action_id json PATH`, `action_id header NAME` or `action_id off`")
	}
	place := Place{Path: args[1]}
	if args[0] == "header" {
		place = Place{Header: args[1]}
	}
	if _, err := place.compile(); err != nil {
		return d.WrapErr(inOption("action_id", err))
	}
	o.ActionID = &place
	return nil
}

func parseReceiptHeader(d *caddyfile.Dispenser, o *Options) error {
	var names []string
	if err := parseNames(d, &names); err != nil {
		return err
	}
	if o.ReceiptHeader != nil && (isOff(names) || len(o.ReceiptHeader) == 0) {
		return d.Err("receipt_header off: must stand alone")
	}
	if isOff(names) {
		o.ReceiptHeader = []string{}
		return nil
	}
	if slices.Contains(names, off) {
		return d.Err("receipt_header off: must stand alone")
	}
	for _, name := range names {
		if err := checkReceiptHeader(name); err != nil {
			return d.WrapErr(err)
		}
	}
	o.ReceiptHeader = append(o.ReceiptHeader, names...)
	return nil
}

func parseRepeatSafe(d *caddyfile.Dispenser, o *Options) error {
	if d.CountRemainingArgs() == 1 {
		if d.NextArg(); d.Val() == off {
			o.RepeatSafe = new(caddy.Duration)
			return nil
		}
		d.Prev()
	}
	o.RepeatSafe = new(caddy.Duration)
	return parseDuration(d, o.RepeatSafe)
}

func parseRespond(d *caddyfile.Dispenser, o *Options) error {
	args := d.RemainingArgs()
	if len(args) < 2 || len(args) > 4 {
		return d.ArgErr()
	}
	status, err := strconv.Atoi(args[1])
	if err != nil {
		return d.Errf("respond %s %s: no HTTP status", args[0], args[1])
	}
	response := Response{Status: status}
	if len(args) > 2 {
		response.Body = args[2]
	}
	if len(args) > 3 {
		response.ContentType = args[3]
	}
	if _, twice := o.Respond[args[0]]; twice {
		return d.Errf("respond %s: stands more than once", args[0])
	}
	if err := response.validate(args[0]); err != nil {
		return d.WrapErr(err)
	}
	if o.Respond == nil {
		o.Respond = make(map[string]Response)
	}
	o.Respond[args[0]] = response
	return nil
}
