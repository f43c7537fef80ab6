package sandbox_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/sandbox"
)

// What a merchant does with a message before believing it, written from each channel's documents: whether it is
// genuine, and what it says. What it says leaves out what only depends on the keys.
type reading struct {
	genuine bool
	says    string
}

func read(t *testing.T, channel string, keys *sandbox.Keys, m sandbox.Message) reading {
	t.Helper()
	switch channel {
	case sandbox.WeChat:
		return readV3(t, keys, m)
	case sandbox.WeChatV2:
		return readV2(t, keys, m)
	case sandbox.Alipay:
		return readAlipay(t, keys, m)
	}
	parts := strings.Fields(m.Header.Get("Authorization")) // "<signature>" or "<terminal> <signature>"
	return reading{signed(public(t, keys.SQBPublicKey), string(m.Body), parts[len(parts)-1]),
		string(m.Body) + strings.Join(parts[:len(parts)-1], "")}
}

// v3: the signature covers time stamp, nonce and body, each with a line feed; the serial names the key. The resource
// is AES-256-GCM under the APIv3 key.
func readV3(t *testing.T, keys *sandbox.Keys, m sandbox.Message) reading {
	t.Helper()
	serial, stamp, nonce := m.Header.Get("Wechatpay-Serial"), m.Header.Get("Wechatpay-Timestamp"),
		m.Header.Get("Wechatpay-Nonce")
	key, kind := keys.WeChatPublicKey, "public key"
	if serial != keys.WeChatPublicKeyID {
		key, kind = keys.WeChatCertificate, "certificate"
		if want := fmt.Sprintf("%X", certificate(t, key).SerialNumber); serial != want {
			t.Fatalf("serial %q, want %q", serial, want)
		}
	}
	var outer struct {
		ID       string `json:"id"`
		Type     string `json:"event_type"`
		Resource struct {
			Sealed     []byte `json:"ciphertext"`
			Nonce      string `json:"nonce"`
			Associated string `json:"associated_data"`
		} `json:"resource"`
	}
	if err := json.Unmarshal(m.Body, &outer); err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher([]byte(keys.WeChatV3Key))
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := aead.Open(nil, []byte(outer.Resource.Nonce), outer.Resource.Sealed, []byte(outer.Resource.Associated))
	if err != nil {
		t.Fatal(err)
	}
	text := stamp + "\n" + nonce + "\n" + string(m.Body) + "\n"
	return reading{signed(public(t, key), text, m.Header.Get("Wechatpay-Signature")),
		strings.Join([]string{kind, stamp, nonce, outer.ID, outer.Type, outer.Resource.Nonce, string(plain)}, " ")}
}

// v2: a payment has a digest of its sorted non-empty fields and the API key, MD5 unless it says HMAC-SHA256; a refund
// has no signature but opens under the API key.
func readV2(t *testing.T, keys *sandbox.Keys, m sandbox.Message) reading {
	t.Helper()
	fields := flatXML(t, m.Body)
	if fields["req_info"] != "" {
		plain, ok := openECB(t, keys.WeChatV2Key, fields["req_info"])
		delete(fields, "req_info")
		return reading{ok, fmt.Sprint(fields) + plain}
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "sign" && fields[name] != "" {
			text.WriteString(name + "=" + fields[name] + "&")
		}
	}
	text.WriteString("key=" + keys.WeChatV2Key)
	digest := md5.New()
	if fields["sign_type"] == "HMAC-SHA256" {
		digest = hmac.New(sha256.New, []byte(keys.WeChatV2Key))
	}
	digest.Write([]byte(text.String()))
	genuine := fields["sign"] == strings.ToUpper(hex.EncodeToString(digest.Sum(nil)))
	delete(fields, "sign")
	return reading{genuine, fmt.Sprint(fields)}
}

func openECB(t *testing.T, apiKey, reqInfo string) (string, bool) {
	t.Helper()
	sealed, err := base64.StdEncoding.DecodeString(reqInfo)
	if err != nil || len(sealed)%aes.BlockSize != 0 {
		t.Fatalf("%d bytes, %v", len(sealed), err)
	}
	sum := md5.Sum([]byte(apiKey))
	block, err := aes.NewCipher([]byte(hex.EncodeToString(sum[:])))
	if err != nil {
		t.Fatal(err)
	}
	plain := make([]byte, len(sealed))
	for i := 0; i < len(sealed); i += aes.BlockSize {
		block.Decrypt(plain[i:], sealed[i:i+aes.BlockSize])
	}
	pad := plain[len(plain)-1]
	text := bytes.TrimSuffix(plain, bytes.Repeat([]byte{pad}, int(pad)))
	return string(text), bytes.HasPrefix(text, []byte("<root>")) && bytes.HasSuffix(text, []byte("</root>"))
}

func flatXML(t *testing.T, text []byte) map[string]string {
	t.Helper()
	var document struct {
		Fields []struct {
			XMLName xml.Name
			Text    string `xml:",chardata"`
		} `xml:",any"`
	}
	if err := xml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for _, field := range document.Fields {
		fields[field.XMLName.Local] = field.Text
	}
	return fields
}

// Alipay: the signature covers all decoded parameters but sign and sign_type, sorted, in the bytes of their charset.
func readAlipay(t *testing.T, keys *sandbox.Keys, m sandbox.Message) reading {
	t.Helper()
	form, err := url.ParseQuery(string(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(form)) {
		if name != "sign" && name != "sign_type" {
			pairs = append(pairs, name+"="+form.Get(name))
		}
	}
	text := strings.Join(pairs, "&")
	return reading{signed(public(t, keys.AlipayPublicKey), text, form.Get("sign")), text}
}
