package n8n

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// jsonObject is a JSON object's members, each as it was written.
type jsonObject map[string]json.RawMessage

// parseObject reads a JSON object as JavaScript's JSON.stringify writes it:
// UTF-8, nothing around it, no white space, no name twice. encoding/json would
// let all of that pass, and find "Message" where "message" is asked for.
func parseObject(body []byte) (jsonObject, bool) {
	if len(body) == 0 || body[0] != '{' || !utf8.Valid(body) {
		return nil, false
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, body); err != nil || compact.Len() != len(body) {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if _, err := decoder.Token(); err != nil { // the brace
		return nil, false
	}
	object := jsonObject{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, false
		}
		name, ok := token.(string)
		if _, twice := object[name]; !ok || twice {
			return nil, false
		}
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return nil, false
		}
		object[name] = value
	}
	return object, true
}

// parseArray reads an array that is a member of an object.
func parseArray(value json.RawMessage) (elements []json.RawMessage, ok bool) {
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &elements) != nil {
		return nil, false
	}
	return elements, true
}

// only reports whether the object has the required members, perhaps some of the
// optional ones, and no others.
func (o jsonObject) only(required, optional []string) bool {
	count := 0
	for _, name := range required {
		if _, ok := o[name]; !ok {
			return false
		}
		count++
	}
	for _, name := range optional {
		if _, ok := o[name]; ok {
			count++
		}
	}
	return count == len(o)
}

// is reports whether a member is written exactly so.
func (o jsonObject) is(name, value string) bool { return string(o[name]) == value }

// text gives a member that is a string.
func (o jsonObject) text(name string) (string, bool) {
	value := o[name]
	var s string
	if len(value) == 0 || value[0] != '"' || json.Unmarshal(value, &s) != nil {
		return "", false
	}
	// Lone surrogates become U+FFFD, and would equal a path that really has it;
	// JavaScript writes that character as it is.
	if strings.Count(s, "\uFFFD") != bytes.Count(value, []byte("\uFFFD")) {
		return "", false
	}
	return s, true
}
