package sandbox

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// wechat builds a v3 notification: an outer JSON document whose resource is encrypted with AES-256-GCM under the
// APIv3 key, signed over time stamp, nonce and body. The caller holds the lock.
func (s *Sandbox) wechat(fact Fact, v Variant) (Message, error) {
	eventType, originalType, inner, at := s.wechatResource(fact, v)
	if inner == nil {
		return Message{}, fmt.Errorf("%w: WeChat Pay does not notify this", ErrRequest)
	}
	if s.surprise() {
		inner["undocumented_field"] = map[string]any{"since": "tomorrow"}
	}
	plain, err := compact(inner)
	if err != nil {
		return Message{}, err
	}
	nonce := s.hex(12)
	sealed, err := seal(s.keys.WeChatV3Key, nonce, originalType, plain)
	if err != nil {
		return Message{}, err
	}
	body, err := compact(map[string]any{
		"id": "EV-" + at.In(beijing()).Format("20060102150405") + s.hex(6), "create_time": stamp(at),
		"event_type": eventType, "resource_type": "encrypt-resource", "summary": "支付通知",
		"resource": map[string]any{"original_type": originalType, "algorithm": "AEAD_AES_256_GCM",
			"ciphertext": base64.StdEncoding.EncodeToString(sealed), "associated_data": originalType, "nonce": nonce},
	})
	if err != nil {
		return Message{}, err
	}
	return s.wechatSign(body, v)
}

func (s *Sandbox) wechatSign(body []byte, v Variant) (Message, error) {
	now, nonce := strconv.FormatInt(s.opt.Clock().Unix(), 10), s.hex(32)
	serial, key := s.keys.WeChatPublicKeyID, s.ring.wechatKey
	if v.Certificate || s.random.IntN(2) == 0 { // during a migration both kinds arrive mixed
		serial, key = s.ring.certSerial, s.ring.certKey
	}
	signature, err := sign(s.signer(key, v), []byte(now+"\n"+nonce+"\n"+string(body)+"\n"))
	if err != nil {
		return Message{}, err
	}
	if v.Probe {
		signature = "WECHATPAY/SIGNTEST/" + signature[:40]
	}
	if v.BadSignature {
		body = append(append([]byte(nil), body[:len(body)-1]...), ' ', '}')
	}
	return Message{Header: http.Header{"Content-Type": {"application/json"}, "Wechatpay-Serial": {serial},
		"Wechatpay-Signature": {signature}, "Wechatpay-Timestamp": {now}, "Wechatpay-Nonce": {nonce},
		"Wechatpay-Signature-Type": {"WECHATPAY2-SHA256-RSA2048"}, "User-Agent": {"Mozilla/4.0"}}, Body: body}, nil
}

func (s *Sandbox) wechatResource(fact Fact, v Variant) (string, string, map[string]any, time.Time) {
	switch f := fact.(type) {
	case *Payment:
		total := f.Amount.Minor + v.WrongBy
		return "TRANSACTION.SUCCESS", "transaction", map[string]any{
			"appid": f.Account.AppID, "mchid": orElse(v.OtherMerchant, f.Account.MchID, "1999999999"),
			"out_trade_no": f.OrderNo, "transaction_id": f.TradeNo, "trade_type": "NATIVE", "trade_state": "SUCCESS",
			"trade_state_desc": "支付成功", "bank_type": "CMC", "attach": "", "success_time": stamp(f.PaidAt),
			"payer": map[string]any{"openid": "oUpF8uMuAJO_M2pxb1Q9zNjWeS6o"},
			"amount": map[string]any{"total": total, "payer_total": total, "currency": "CNY",
				"payer_currency": "CNY"},
			"promotion_detail": []any{},
		}, f.PaidAt
	case *Refund:
		a := f.Payment.Account
		return "REFUND.SUCCESS", "refund", map[string]any{
			"mchid": orElse(v.OtherMerchant, a.MchID, "1999999999"), "out_trade_no": f.Payment.OrderNo,
			"transaction_id": f.Payment.TradeNo, "out_refund_no": f.RefundNo, "refund_id": f.RefundID,
			"refund_status": "SUCCESS", "success_time": stamp(f.RefundedAt), "user_received_account": "招商银行信用卡0403",
			"amount": map[string]any{"total": f.Payment.Amount.Minor, "refund": f.Amount.Minor + v.WrongBy,
				"payer_total": f.Payment.Amount.Minor, "payer_refund": f.Amount.Minor + v.WrongBy},
		}, f.RefundedAt
	}
	return "", "", nil, time.Time{}
}

// seal encrypts with AES-256-GCM; the nonce is used as its twelve ASCII bytes.
func seal(key, nonce, associated string, plain []byte) ([]byte, error) {
	block, err := aes.NewCipher([]byte(key))
	if err != nil {
		return nil, fmt.Errorf("sandbox: encrypt: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("sandbox: encrypt: %w", err)
	}
	return aead.Seal(nil, []byte(nonce), plain, []byte(associated)), nil
}

// stamp writes a time as WeChat v3 does: RFC 3339 in +08:00.
func stamp(t time.Time) string { return t.In(beijing()).Format("2006-01-02T15:04:05+08:00") }
