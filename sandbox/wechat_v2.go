package sandbox

import (
	"bytes"
	"crypto/aes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// wechatV2 builds a v2 notification: flat XML. A payment is signed with the API key; a refund is not signed at all,
// only its req_info is encrypted. The caller holds the lock.
func (s *Sandbox) wechatV2(fact Fact, v Variant) (Message, error) {
	var fields map[string]string
	var err error
	switch f := fact.(type) {
	case *Payment:
		fields = s.v2Payment(f, v)
	case *Refund:
		fields, err = s.v2Refund(f, v)
	default:
		err = fmt.Errorf("%w: WeChat Pay does not notify this", ErrRequest)
	}
	if err != nil {
		return Message{}, err
	}
	return Message{Header: http.Header{"Content-Type": {"text/xml"}, "User-Agent": {"Mozilla/4.0"}},
		Body: flatXML("xml", fields)}, nil
}

func (s *Sandbox) v2Payment(p *Payment, v Variant) map[string]string {
	amount := strconv.FormatInt(p.Amount.Minor+v.WrongBy, 10)
	fields := map[string]string{
		"return_code": "SUCCESS", "return_msg": "OK", "result_code": "SUCCESS", "appid": p.Account.AppID,
		"mch_id": orElse(v.OtherMerchant, p.Account.MchID, "1999999999"), "device_info": "pos-1", "nonce_str": s.hex(32),
		"sign_type": "HMAC-SHA256", "openid": "oUpF8uMuAJO_M2pxb1Q9zNjWeS6o", "is_subscribe": "N",
		"trade_type": "MICROPAY", "bank_type": "CMC", "total_fee": amount, "settlement_total_fee": amount,
		"fee_type": "CNY", "cash_fee": amount, "cash_fee_type": "CNY", "coupon_fee": "0", "coupon_count": "0",
		"transaction_id": p.TradeNo, "out_trade_no": p.OrderNo, "attach": "",
		"time_end": p.PaidAt.In(beijing()).Format("20060102150405"),
	}
	if s.random.IntN(2) == 0 { // MD5 without a word about it, as many older installations send
		delete(fields, "sign_type")
	}
	if s.surprise() {
		fields["undocumented_field"] = "tomorrow"
	}
	key := s.keys.WeChatV2Key
	if v.Stranger {
		key = strings.Repeat("0", 32)
	}
	fields["sign"] = v2Sign(fields, key)
	if v.BadSignature {
		fields["total_fee"] = strconv.FormatInt(p.Amount.Minor+v.WrongBy+1, 10)
	}
	return fields
}

// v2Sign signs all fields that are not empty, sorted by name.
func v2Sign(fields map[string]string, key string) string {
	var pairs []string
	for name, value := range fields {
		if name != "sign" && value != "" {
			pairs = append(pairs, name+"="+value)
		}
	}
	slices.Sort(pairs)
	text := []byte(strings.Join(append(pairs, "key="+key), "&"))
	if fields["sign_type"] == "HMAC-SHA256" {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write(text)
		return strings.ToUpper(hex.EncodeToString(mac.Sum(nil)))
	}
	sum := md5.Sum(text)
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

func (s *Sandbox) v2Refund(r *Refund, v Variant) (map[string]string, error) {
	a := r.Payment.Account
	amount := strconv.FormatInt(r.Amount.Minor+v.WrongBy, 10)
	total := strconv.FormatInt(r.Payment.Amount.Minor, 10)
	inner := flatXML("root", map[string]string{"transaction_id": r.Payment.TradeNo, "out_trade_no": r.Payment.OrderNo,
		"refund_id": r.RefundID, "out_refund_no": r.RefundNo, "total_fee": total, "settlement_total_fee": total,
		"refund_fee": amount, "settlement_refund_fee": amount, "refund_status": "SUCCESS",
		"success_time": clockTime(r.RefundedAt), "refund_recv_accout": "招商银行信用卡0403",
		"refund_account": "REFUND_SOURCE_RECHARGE_FUNDS", "refund_request_source": "API"})
	key := s.keys.WeChatV2Key
	if v.Stranger || v.BadSignature {
		key = strings.Repeat("0", 32)
	}
	sealed, err := ecb(key, inner)
	if err != nil {
		return nil, err
	}
	return map[string]string{"return_code": "SUCCESS", "return_msg": "OK", "appid": a.AppID,
		"mch_id": orElse(v.OtherMerchant, a.MchID, "1999999999"), "nonce_str": s.hex(32),
		"req_info": base64.StdEncoding.EncodeToString(sealed)}, nil
}

// ecb encrypts block by block with AES-256 under the hex MD5 of the API key, padded after PKCS#7.
func ecb(apiKey string, plain []byte) ([]byte, error) {
	sum := md5.Sum([]byte(apiKey))
	block, err := aes.NewCipher([]byte(hex.EncodeToString(sum[:])))
	if err != nil {
		return nil, fmt.Errorf("sandbox: encrypt: %w", err)
	}
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	sealed := append(append([]byte(nil), plain...), bytes.Repeat([]byte{byte(pad)}, pad)...)
	for i := 0; i < len(sealed); i += aes.BlockSize {
		block.Encrypt(sealed[i:i+aes.BlockSize], sealed[i:i+aes.BlockSize])
	}
	return sealed, nil
}

func flatXML(root string, fields map[string]string) []byte {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	var b bytes.Buffer
	b.WriteString("<" + root + ">")
	for _, name := range names {
		b.WriteString("<" + name + ">")
		if value := fields[name]; strings.Contains(value, "]]>") {
			_ = xml.EscapeText(&b, []byte(value)) // a bytes.Buffer takes everything
		} else {
			b.WriteString("<![CDATA[" + value + "]]>")
		}
		b.WriteString("</" + name + ">")
	}
	b.WriteString("</" + root + ">")
	return b.Bytes()
}

// clockTime writes Beijing time without a zone.
func clockTime(t time.Time) string { return t.In(beijing()).Format("2006-01-02 15:04:05") }
