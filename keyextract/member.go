package keyextract

// Member is one member of a JSON text, of whatever type, for those who compare it
// with a word: not for identity. It is safe for concurrent use.
type Member struct{ segments []segment }

// CompileMember makes a Member of a path, in the syntax of key json.
func CompileMember(path string) (*Member, error) {
	segments, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	return &Member{segments}, nil
}

// Text is the member's content: a string's, or what is written for a number, true,
// false or null. ok is false if body is no JSON, if the member is absent or there
// twice, and for objects and arrays.
func (m *Member) Text(body []byte) (text string, ok bool) {
	if checkJSON("the body", body) != nil {
		return "", false
	}
	at, err := locate("the body", body, m.segments)
	if err != nil {
		return "", false
	}
	switch value := body[at:afterValue(body, at)]; value[0] {
	case '{', '[':
		return "", false
	case '"':
		text, err := unescape(value[1 : len(value)-1])
		return text, err == nil
	default:
		return string(value), true
	}
}
