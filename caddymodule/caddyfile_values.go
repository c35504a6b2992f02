package caddymodule

import (
	"math"
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/dustin/go-humanize"
)

// repeatable words begin the lines of one list.
var repeatable = words("key", "on_response", "respond", "receipt_header")

// nextWord returns the word that begins a line. Words may come once, save those.
func nextWord(d *caddyfile.Dispenser, seen map[string]bool) (string, error) {
	word := d.Val()
	if seen[word] && !repeatable[word] {
		return "", d.Errf("%s: stands more than once", word)
	}
	seen[word] = true
	return word, nil
}

func unknownWord(d *caddyfile.Dispenser, word string, unbuilt map[string]bool) error {
	if unbuilt[word] {
		return d.Errf("%s: not built yet", word)
	}
	return d.Errf("%s: unknown word", word)
}

// parseString reads exactly one argument, and no block.
func parseString(d *caddyfile.Dispenser, to *string) error {
	word := d.Val()
	args := d.RemainingArgs()
	if len(args) != 1 || args[0] == "" {
		return d.Errf("%s: expected one value", word)
	}
	*to = args[0]
	return nil
}

// parseNames reads one argument or more.
func parseNames(d *caddyfile.Dispenser, to *[]string) error {
	word := d.Val()
	*to = d.RemainingArgs()
	if len(*to) == 0 {
		return d.Errf("%s: expected at least one name", word)
	}
	return nil
}

func parseDuration(d *caddyfile.Dispenser, to *caddy.Duration) error {
	var text string
	word := d.Val()
	if err := parseString(d, &text); err != nil {
		return err
	}
	dur, err := caddy.ParseDuration(text)
	if err != nil || dur < shortest {
		return d.Errf("%s %s: must be a duration of at least %s", word, text, shortest)
	}
	*to = caddy.Duration(dur)
	return nil
}

func parseSize(d *caddyfile.Dispenser, to *int64) error {
	var text string
	word := d.Val()
	if err := parseString(d, &text); err != nil {
		return err
	}
	size, err := humanize.ParseBytes(text)
	if err != nil || size == 0 || size > math.MaxInt64 {
		return d.Errf("%s %s: must be a size, such as 16MiB", word, text)
	}
	*to = int64(size)
	return nil
}

func parseNumber(d *caddyfile.Dispenser, to *int) error {
	var text string
	word := d.Val()
	if err := parseString(d, &text); err != nil {
		return err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return d.Errf("%s %s: must be a whole number from 1", word, text)
	}
	*to = n
	return nil
}
