package channel

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// Reasons for which a JSON message is not understood. They are written into notes, so they never quote it.
var (
	ErrNotObject = errors.New("the body is not one JSON object in UTF-8")
	ErrRepeated  = errors.New("a field appears twice")
	ErrNotText   = errors.New("a field that must be a text is none")
)

// Object is a JSON object split into its fields, every name once and compared byte by byte.
type Object map[string]json.RawMessage

// ParseObject reads exactly one JSON object. encoding/json would take the last of two equal names, match names in any
// case, and replace what is not UTF-8; each of these would let two readers see two different messages.
func ParseObject(body []byte) (Object, error) {
	if !utf8.Valid(body) {
		return nil, ErrNotObject
	}
	reader := json.NewDecoder(bytes.NewReader(body))
	if opening, err := reader.Token(); err != nil || opening != json.Delim('{') {
		return nil, ErrNotObject
	}
	fields := make(Object)
	for reader.More() {
		token, err := reader.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, ErrNotObject
		}
		if _, repeated := fields[name]; repeated {
			return nil, ErrRepeated
		}
		var value json.RawMessage
		if err := reader.Decode(&value); err != nil {
			return nil, ErrNotObject
		}
		fields[name] = value
	}
	if _, err := reader.Token(); err != nil {
		return nil, ErrNotObject
	}
	if _, err := reader.Token(); !errors.Is(err, io.EOF) {
		return nil, ErrNotObject
	}
	return fields, nil
}

// Text reads a JSON text; a field that is absent or null is empty. A replacement character is refused: it is what
// half a surrogate pair decodes to, and two different halves would become one number.
func (o Object) Text(name string) (string, error) {
	value := o[name]
	if value == nil || string(value) == "null" {
		return "", nil
	}
	var s string
	if json.Unmarshal(value, &s) != nil || strings.ContainsRune(s, utf8.RuneError) {
		return "", ErrNotText
	}
	return s, nil
}

// Texts reads several texts at once, in the order of names.
func (o Object) Texts(names ...string) ([]string, error) {
	texts := make([]string, len(names))
	for i, name := range names {
		text, err := o.Text(name)
		if err != nil {
			return nil, err
		}
		texts[i] = text
	}
	return texts, nil
}

// Whole reads a JSON whole number; false if the field is absent or none.
func (o Object) Whole(name string) (int64, bool) {
	var n int64
	if o[name] == nil || json.Unmarshal(o[name], &n) != nil || string(o[name]) == "null" {
		return 0, false
	}
	return n, true
}

// Object reads a nested object, with the same strictness.
func (o Object) Object(name string) (Object, error) {
	if o[name] == nil {
		return nil, ErrNotObject
	}
	return ParseObject(o[name])
}
