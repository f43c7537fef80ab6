package wechat

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/paidonce/paidonce/channel"
)

// Kinds of signature in v2 (WeChat Pay v2 docs, signature algorithm).
const (
	signMD5  = "MD5"
	signHMAC = "HMAC-SHA256"
)

var (
	errNotFlat      = errors.New("not one flat XML document")
	errXMLRepeated  = errors.New("an element appears twice")
	errXMLForbidden = errors.New("XML with a document type, processing instruction, comment or attribute")
)

// flatXML reads a document of one level, <root><name>value</name>…</root>, into a map. All else that XML can do is
// refused: document types, because of what entities did to others, and repeated elements, because two readers might
// pick different ones.
func flatXML(data []byte, root string) (map[string]string, error) {
	decoder := xml.NewDecoder(bytes.NewReader(data))
	d := flatDocument{root: root, fields: make(map[string]string)}
	for first := true; ; first = false {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) && d.closed {
			return d.fields, nil
		}
		if err != nil {
			return nil, errNotFlat
		}
		if declaration, ok := token.(xml.ProcInst); ok && first && declaration.Target == "xml" {
			continue
		}
		if err := d.add(token); err != nil {
			return nil, err
		}
	}
}

type flatDocument struct {
	root   string
	fields map[string]string
	depth  int    // 0 outside, 1 in the root, 2 in a field
	name   string // of the field that is open
	closed bool   // the root has ended
}

func (d *flatDocument) add(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return d.start(t)
	case xml.EndElement:
		d.depth--
		d.closed = d.depth == 0
	case xml.CharData:
		if d.depth == 2 {
			d.fields[d.name] += string(t)
		} else if len(bytes.TrimSpace(t)) != 0 {
			return errNotFlat
		}
	default:
		return errXMLForbidden
	}
	return nil
}

func (d *flatDocument) start(t xml.StartElement) error {
	if len(t.Attr) != 0 || t.Name.Space != "" {
		return errXMLForbidden
	}
	switch d.depth {
	case 0:
		if d.closed || t.Name.Local != d.root {
			return errNotFlat
		}
	case 1:
		if _, repeated := d.fields[t.Name.Local]; repeated {
			return errXMLRepeated
		}
		d.name = t.Name.Local
		d.fields[d.name] = ""
	default:
		return errNotFlat
	}
	d.depth++
	return nil
}

// signedText joins all fields that are not empty, but for sign itself, by name. Fields that nobody knows belong to it:
// WeChat Pay adds new ones without notice.
func signedText(fields map[string]string, apiKey string) []byte {
	return append(signedFields(fields), "key="+apiKey...)
}

// signedFields is the signed text without the key: the same for every way in which it can be cut into fields.
func signedFields(fields map[string]string) []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "sign" && fields[name] != "" {
			b.WriteString(name + "=" + fields[name] + "&")
		}
	}
	return b.Bytes()
}

func signature(signType string, fields map[string]string, apiKey string) string {
	text := signedText(fields, apiKey)
	if signType == signHMAC {
		mac := hmac.New(sha256.New, []byte(apiKey))
		mac.Write(text)
		return strings.ToUpper(hex.EncodeToString(mac.Sum(nil)))
	}
	sum := md5.Sum(text)
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// verify checks the signature under any of the keys, in constant time.
func (c *ClientV2) verify(fields map[string]string) error {
	given := fields["sign"]
	signType := c.signType
	switch len(given) {
	case 2 * md5.Size:
		signType = signMD5
	case 2 * sha256.Size:
		signType = signHMAC
	}
	if c.signType != "" && signType != c.signType {
		return fmt.Errorf("%w: not a signature of the type that is set", channel.ErrForged)
	}
	for _, key := range c.apiKeys {
		if hmac.Equal([]byte(signature(signType, fields, key)), []byte(given)) {
			return nil
		}
	}
	return fmt.Errorf("%w: signed with none of %d API keys", channel.ErrForged, len(c.apiKeys))
}
