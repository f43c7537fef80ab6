package alipay

import (
	"crypto/rsa"
	"fmt"
	"slices"
	"strings"

	"github.com/paidonce/paidonce/channel"
)

// verify checks the RSA2 signature: RSA-SHA256 over all received parameters but sign and sign_type, sorted by name and
// joined as name=value with & (Alipay open platform, verification of asynchronous notifications). The message cannot
// choose a weaker algorithm. What is signed is not escaped, so a value with & in it could be cut into other parameters
// with the same text; such a message still needs our app_id and seller_id, no name may appear twice, and the amount is
// compared with the merchant's own order.
//
// Alipay's own libraries differ in two points, so each is tried in turn: whether parameters without a value are signed,
// and, in certificate mode, whether alipay_cert_sn is.
func (c *Client) verify(f form) error {
	if f["sign_type"] != "RSA2" || f["sign"] == "" {
		return fmt.Errorf("%w: no RSA2 signature", channel.ErrForged)
	}
	keys := c.config.PublicKeys
	serial, byCertificate := f["alipay_cert_sn"]
	if key := c.config.Certificates[serial]; byCertificate && key != nil {
		keys = []*rsa.PublicKey{key}
	} else if len(keys) == 0 {
		return fmt.Errorf("%w: the certificate that it names is not known", channel.ErrForged)
	}
	var err error
	for _, text := range signedTexts(f, byCertificate) {
		if err = channel.VerifyRSA(keys, []byte(text), f["sign"]); err == nil {
			return nil
		}
	}
	return err
}

func signedTexts(f form, byCertificate bool) []string {
	texts := []string{canonical(f, true)}
	if slices.ContainsFunc(mapValues(f), func(v string) bool { return v == "" }) {
		texts = append(texts, canonical(f, false))
	}
	if byCertificate {
		texts = append(texts, canonical(f, true, "alipay_cert_sn"), canonical(f, false, "alipay_cert_sn"))
	}
	return texts
}

func mapValues(f form) []string {
	values := make([]string, 0, len(f))
	for _, value := range f {
		values = append(values, value)
	}
	return values
}

func canonical(f form, empties bool, without ...string) string {
	names := make([]string, 0, len(f))
	for name, value := range f {
		if name != "sign" && name != "sign_type" && !slices.Contains(without, name) && (empties || value != "") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = name + "=" + f[name]
	}
	return strings.Join(names, "&")
}
