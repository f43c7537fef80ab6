package sandbox

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// maxQuestion is how many bytes of a request's body a channel reads.
const maxQuestion = 64 << 10

// API is the side of the channels that merchants ask:
//
//	WeChat Pay v3   /v3/pay/transactions/out-trade-no/{no}, …/id/{id}, …/{no}/close, …/{no}/reverse
//	WeChat Pay v2   /pay/orderquery, /pay/closeorder
//	Alipay          /gateway.do with alipay.trade.query, alipay.trade.close, alipay.trade.cancel
//	Shouqianba      /upay/v2/query, /upay/v2/cancel, /upay/v2/revoke, /terminal/checkin
//
// Each path is there as the channel has it, for a base URL that is a host and nothing more, and again below the name
// of the channel's endpoint: /wechat, /wechat-v2, /alipay, /sqb. Mounted below a prefix it needs http.StripPrefix,
// which leaves the request line alone: a WeChat v3 signature covers the path as it was sent. Bodies over 64 KiB are
// refused. API fails with keys from before there were questions; CompleteMerchant mends them.
func (s *Sandbox) API() (http.Handler, error) {
	if !s.keys.completeMerchant() {
		return nil, errors.New("sandbox: the key file has no keys of the merchant")
	}
	mux := http.NewServeMux()
	const transactions = "/v3/pay/transactions"
	for _, route := range []struct {
		channel, method, path string
		reply                 func(*http.Request, []byte) answer
	}{
		{WeChat, "GET", transactions + "/out-trade-no/{no}", s.v3Query},
		{WeChat, "GET", transactions + "/id/{id}", s.v3Query},
		{WeChat, "POST", transactions + "/out-trade-no/{no}/close", s.v3Close},
		{WeChat, "POST", transactions + "/out-trade-no/{no}/reverse", s.v3Reverse},
		{WeChatV2, "POST", "/pay/orderquery", s.v2Query},
		{WeChatV2, "POST", "/pay/closeorder", s.v2Close},
		{Alipay, "POST", "/gateway.do", s.alipayGateway},
		{SQB, "POST", "/upay/v2/query", s.sqbQuery},
		{SQB, "POST", "/upay/v2/cancel", s.sqbCancel},
		{SQB, "POST", "/upay/v2/revoke", s.sqbCancel},
		{SQB, "POST", "/terminal/checkin", s.sqbCheckIn},
	} {
		handler := s.answering(route.reply)
		mux.Handle(route.method+" "+route.path, handler)
		mux.Handle(route.method+" /"+route.channel+route.path, handler)
	}
	return mux, nil
}

// answer is what goes back over the wire, and how.
type answer struct {
	status int
	header http.Header
	body   []byte
	late   time.Duration
	drop   bool
}

// answering reads a bounded question, lets reply answer it under the lock, and sends the answer as late or as little
// as it says.
func (s *Sandbox) answering(reply func(*http.Request, []byte) answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuestion))
		if err != nil {
			s.mu.Lock()
			s.counts.AskRefused++
			s.mu.Unlock()
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		s.mu.Lock()
		a := reply(r, body)
		s.mu.Unlock()
		if sleep(r.Context(), a.late) != nil {
			return
		}
		if a.drop {
			hangUp(w)
			return
		}
		for name, values := range a.header {
			w.Header()[name] = values
		}
		w.WriteHeader(a.status)
		if _, err := w.Write(a.body); err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
			s.opt.Logger.Debug("a merchant hung up", "err", err)
		}
	})
}

// hangUp closes the connection without an answer. Where the server does not give the connection away it promises a
// body that never comes, and the server closes the connection itself.
func hangUp(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
		return
	}
	w.Header().Set("Content-Length", "1")
	w.WriteHeader(http.StatusOK)
}

// errorAnswer is for a sandbox that cannot sign or encode: it says nothing about the order.
func errorAnswer() answer { return answer{status: http.StatusInternalServerError} }

// refused counts a question that is turned down before anything is looked up. The caller holds the lock.
func (s *Sandbox) refused(a answer) answer {
	s.counts.AskRefused++
	return a
}
