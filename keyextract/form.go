package keyextract

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"regexp"
	"strings"
)

// formReader reads the value of one text field of a form.
func formReader(field string) (reader, error) {
	if err := checkName("a field's name", field); err != nil {
		return nil, err
	}
	return func(r *request) (string, error) {
		value, err := r.formField(field)
		if len(value) > MaxBytes {
			return "", tooLong()
		}
		return string(value), err
	}, nil
}

// formJSONReader reads a member of the JSON text that a form's field holds.
func formJSONReader(field, path string) (reader, error) {
	if err := checkName("a field's name", field); err != nil {
		return nil, err
	}
	segments, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	return func(r *request) (string, error) {
		value, err := r.formField(field)
		if err != nil {
			return "", err
		}
		if err := checkJSON("the field", value); err != nil {
			return "", err
		}
		return member("the field", value, segments)
	}, nil
}

// formField finds the one text field with that name in the body.
func (r *request) formField(field string) ([]byte, error) {
	if len(r.Body) == 0 {
		return nil, absent("the body is empty")
	}
	kind, parameters, err := r.contentType()
	if err != nil {
		return nil, err
	}
	switch kind {
	case "application/x-www-form-urlencoded":
		return onePair("form", r.Body, field, nil)
	case "multipart/form-data":
		return multipartField(r.Body, parameters["boundary"], field)
	}
	return nil, malformed("the body is no form by its Content-Type")
}

// contentType reads the request's Content-Type, "" if it has none. Bodies are
// read as UTF-8 only: n8n reads others by their charset or refuses them.
func (r *request) contentType() (string, map[string]string, error) {
	values := r.Header["Content-Type"]
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return "", nil, nil
	}
	if len(values) > 1 {
		return "", nil, malformed("Content-Type is there %d times", len(values))
	}
	if values[0] == "application/json" { // nearly always
		return values[0], nil, nil
	}
	kind, parameters, err := mime.ParseMediaType(values[0])
	if err != nil {
		return "", nil, malformed("Content-Type cannot be read")
	}
	switch strings.ToLower(parameters["charset"]) {
	case "", "utf-8", "utf8":
		return kind, parameters, nil
	}
	return "", nil, malformed("the body is not in UTF-8 by its Content-Type")
}

// maxFormParts bounds the parts of a multipart form, as formidable, with which
// n8n reads them, does for fields.
const maxFormParts = 1000

// multipartField finds the one text field with that name. Files are no text.
func multipartField(body []byte, boundary, field string) ([]byte, error) {
	if boundary == "" {
		return nil, malformed("the multipart form has no boundary")
	}
	var value []byte
	found := false
	form := multipart.NewReader(bytes.NewReader(body), boundary)
	for count := 0; ; count++ {
		part, err := form.NextRawPart() // quoted-printable stays as it is: n8n does not know it
		if errors.Is(err, io.EOF) && closed(body, boundary) {
			break
		}
		if err != nil {
			return nil, malformed("the multipart form cannot be read")
		}
		if count == maxFormParts {
			return nil, malformed("the multipart form has more than %d parts", maxFormParts)
		}
		named, err := partNamed(part, field)
		switch {
		case err != nil:
			return nil, err
		case !named:
			continue
		case found:
			return nil, malformed("the form holds %q more than once", field)
		}
		if value, err = io.ReadAll(part); err != nil {
			return nil, malformed("the multipart form cannot be read")
		}
		found = true
	}
	if !found {
		return nil, absent("the form has no %q", field)
	}
	return value, nil
}

// closed reports whether the form's closing delimiter is there. multipart.Reader
// ends some bodies that are cut short like whole ones.
func closed(body []byte, boundary string) bool {
	end := []byte("--" + boundary + "--")
	return bytes.HasPrefix(body, end) || bytes.Contains(body, append([]byte{'\n'}, end...))
}

// formidableName finds a part's name as formidable does.
var formidableName = regexp.MustCompile(`(?i)\bname=(?:"([^"]*)"|([^()<>@,;:\\"/\[\]?={}\s]+))`)

// partNamed reports whether part is the text field of that name. What formidable
// could take for another part is refused.
func partNamed(part *multipart.Part, field string) (bool, error) {
	headers := part.Header["Content-Disposition"]
	if len(headers) != 1 {
		return false, malformed("a part of the multipart form has %d names", len(headers))
	}
	kind, parameters, err := mime.ParseMediaType(headers[0])
	if err != nil || kind != "form-data" {
		return false, malformed("the name of a part of the multipart form cannot be read")
	}
	other := ""
	if found := formidableName.FindStringSubmatch(headers[0]); found != nil {
		other = found[1] + found[2]
	}
	name := parameters["name"]
	if name != other {
		return false, malformed("n8n reads the name of a part of the multipart form differently")
	}
	_, file := parameters["filename"]
	typed := part.Header.Get("Content-Type") != ""
	switch {
	case name != field || file && typed:
		return false, nil
	case file:
		return false, malformed("the field is a file without a type, which n8n reads as text")
	}
	switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) {
	case "", "utf-8":
		return true, nil
	case "7bit", "8bit", "binary":
		if typed { // without a type, formidable fails on these or reads Latin-1
			return true, nil
		}
	}
	return false, malformed("the field is encoded for transfer")
}
