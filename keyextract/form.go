package keyextract

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
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
	if len(values) == 0 {
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

// multipartField finds the one text field with that name. A part with a file's
// name is a file, whatever it holds.
func multipartField(body []byte, boundary, field string) ([]byte, error) {
	if boundary == "" {
		return nil, malformed("the multipart form has no boundary")
	}
	var value []byte
	found := false
	form := multipart.NewReader(bytes.NewReader(body), boundary)
	for count := 0; ; count++ {
		part, err := form.NextRawPart() // quoted-printable stays as it is: n8n does not know it
		if errors.Is(err, io.EOF) {
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

// partNamed reports whether part is the text field of that name.
func partNamed(part *multipart.Part, field string) (bool, error) {
	headers := part.Header["Content-Disposition"]
	if len(headers) != 1 {
		return false, malformed("a part of the multipart form has %d names", len(headers))
	}
	kind, parameters, err := mime.ParseMediaType(headers[0])
	if err != nil || kind != "form-data" {
		return false, malformed("the name of a part of the multipart form cannot be read")
	}
	if _, file := parameters["filename"]; file {
		return false, nil
	}
	// Encoded and escaped names are read by Go and not by n8n.
	if strings.ContainsAny(headers[0], `*\`) {
		return false, malformed("the name of a part of the multipart form is encoded")
	}
	if parameters["name"] != field {
		return false, nil
	}
	switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) {
	case "", "binary", "7bit", "8bit", "utf-8":
		return true, nil
	}
	return false, malformed("the field is encoded for transfer")
}
