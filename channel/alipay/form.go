package alipay

import (
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// maxParameters bounds a form; Alipay sends about forty.
const maxParameters = 200

var errForm = errors.New("the body is not a form")

// form holds the parameters of a body, decoded once, as the bytes that Alipay signed.
type form map[string]string

// parseForm reads an application/x-www-form-urlencoded body. Unlike the standard library's reader it refuses a name
// that appears twice, because two readers could then see two amounts, and it takes a bare semicolon as part of a value.
// A value is decoded once: a second pass would turn the + of the base64 signature into a space.
func parseForm(body []byte) (form, error) {
	pairs := strings.Split(string(body), "&")
	if len(pairs) > maxParameters {
		return nil, errForm
	}
	f := make(form, len(pairs))
	for _, pair := range pairs {
		rawName, rawValue, found := strings.Cut(pair, "=")
		name, okName := unescape(rawName)
		value, okValue := unescape(rawValue)
		if _, repeated := f[name]; !found || !okName || !okValue || name == "" || repeated {
			return nil, errForm
		}
		f[name] = value
	}
	return f, nil
}

func unescape(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '+':
			b.WriteByte(' ')
		case '%':
			if i+2 >= len(s) {
				return "", false
			}
			high, low := hexDigit(s[i+1]), hexDigit(s[i+2])
			if high < 0 || low < 0 {
				return "", false
			}
			b.WriteByte(byte(high<<4 | low))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), true
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// readable turns the values into UTF-8 for the event. The signature is over the bytes as sent, so this comes after it.
// False: the charset is unknown, or a value is not text in it.
func (f form) readable() (form, bool) {
	charset := strings.ToLower(f["charset"])
	converted := make(form, len(f))
	for name, value := range f {
		switch charset {
		case "", "utf-8", "utf8":
		case "gbk", "gb2312", "gb18030":
			text, err := simplifiedchinese.GB18030.NewDecoder().String(value)
			if err != nil {
				return nil, false
			}
			value = text
		default:
			return nil, false
		}
		if !utf8.ValidString(value) || strings.ContainsRune(value, utf8.RuneError) {
			return nil, false
		}
		converted[name] = value
	}
	return converted, true
}
