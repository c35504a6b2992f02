package signature

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

// document is a body of which some members are looked at, read when the first is.
type document struct {
	raw  []byte
	tree any
	err  error
}

// text is the text, number or boolean at a path; nothing, where there is none.
func (d *document) text(path string) (string, error) {
	if d.tree == nil && d.err == nil {
		d.tree, d.err = parse(d.raw)
	}
	if d.err != nil {
		return "", d.err
	}
	at := d.tree
	for name := range strings.SplitSeq(path, ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return "", nil
			}
			at = v[i]
		default:
			return "", nil
		}
	}
	switch v := at.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	}
	return "", nil
}

// deepest bounds the nesting: each level is a call.
const deepest = 64

// parse reads JSON. A member that is there twice is refused: the signature might be of
// the one, and the workflow read the other.
func parse(body []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	tree, err := value(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF { //nolint:errorlint // the decoder's own, never wrapped
		return nil, ErrMalformed
	}
	return tree, nil
}

func value(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil || depth > deepest {
		return nil, ErrMalformed
	}
	switch token {
	case json.Delim('{'):
		members := make(map[string]any)
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, ErrMalformed
			}
			if _, twice := members[name.(string)]; twice {
				return nil, ErrRepeated
			}
			if members[name.(string)], err = value(d, depth+1); err != nil {
				return nil, err
			}
		}
		return members, closed(d)
	case json.Delim('['):
		items := []any{}
		for d.More() {
			item, err := value(d, depth+1)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return items, closed(d)
	}
	return token, nil
}

func closed(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return ErrMalformed
	}
	return nil
}
