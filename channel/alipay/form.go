package alipay

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/paidonce/paidonce/channel"
)

// maxParameters bounds a form; Alipay sends about forty.
const maxParameters = 200

var errForm = errors.New("the body is not a form")

// form holds the parameters of a body, decoded once, as the bytes that Alipay signed.
type form map[string]string

// parseForm reads an application/x-www-form-urlencoded body. Unlike the standard library's reader it refuses a name
// that appears twice, because two readers could then see two amounts, or that holds a separator of the signed text, and
// it takes a bare semicolon as part of a value.
// A value is decoded once: a second pass would turn the + of the base64 signature into a space.
func parseForm(body []byte) (form, error) {
	if bytes.Count(body, []byte("&")) >= maxParameters {
		return nil, errForm
	}
	f := make(form)
	for pair := range strings.SplitSeq(string(body), "&") {
		rawName, rawValue, found := strings.Cut(pair, "=")
		name, okName := unescape(rawName)
		value, okValue := unescape(rawValue)
		if !found || !okName || !okValue || name == "" || strings.ContainsAny(name, "&=") {
			return nil, errForm
		}
		if _, repeated := f[name]; repeated {
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

// decisive are the parameters that are read: whose message it is and what it says. All others are signed and ignored.
func decisive() []string {
	return []string{"app_id", "auth_app_id", "seller_id", "charset", "notify_type", "trade_status", "trade_no",
		"out_trade_no", "out_biz_no", "total_amount", "refund_fee", "gmt_payment", "gmt_refund", "gmt_close",
		"dback_status", "refund_status"}
}

// hides reports whether the value of any parameter holds a decisive one: with gmt_refund, say, as a part of
// gmt_payment, a refund would look like something else. See channel.HidesField.
func (f form) hides() bool { return channel.HidesField(f, decisive()) }

// swallows reports whether a number or a time holds a separator. Even a parameter that nobody reads must not hide
// there: it would make a second name of the same payment, or take its time away.
func (f form) swallows() bool {
	for _, name := range []string{"trade_no", "out_trade_no", "out_biz_no", "gmt_payment", "gmt_refund", "gmt_close"} {
		if strings.ContainsAny(f[name], "&=") {
			return true
		}
	}
	return false
}

// readable turns the decisive values into UTF-8 and leaves out the others, whose text may be broken without harm. The
// signature is over the bytes as sent, so this comes after it. False: the charset is unknown, or a value is not text
// in it.
func (f form) readable() (form, bool) {
	converted := make(form)
	for _, name := range decisive() {
		value := f[name]
		switch strings.ToLower(f["charset"]) {
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
