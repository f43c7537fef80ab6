package sandbox

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// maxQuestion is how many bytes of a request's body a channel reads.
const maxQuestion = 64 << 10

// API is the side of the channels that merchants ask. Its paths start with the channel's endpoint name, so an adapter's
// base URL is where it is mounted plus /wechat, /wechat-v2 or /sqb, and Alipay's gateway is /alipay/gateway.do there:
//
//	WeChat Pay v3   /wechat/v3/pay/transactions/out-trade-no/{no}, …/id/{id}, …/{no}/close, …/{no}/reverse
//	WeChat Pay v2   /wechat-v2/pay/orderquery, /wechat-v2/pay/closeorder
//	Alipay          /alipay/gateway.do with alipay.trade.query, alipay.trade.close, alipay.trade.cancel
//	Shouqianba      /sqb/upay/v2/query, /sqb/upay/v2/cancel, /sqb/upay/v2/revoke, /sqb/terminal/checkin
//
// Mounted below a prefix it needs http.StripPrefix, which leaves the request line alone: a WeChat v3 signature covers
// the path as it was sent. Bodies over 64 KiB are refused. It fails with keys from before there were questions;
// CompleteMerchant mends them.
func (s *Sandbox) API() (http.Handler, error) {
	if !s.keys.completeMerchant() {
		return nil, errors.New("sandbox: the key file has no keys of the merchant")
	}
	mux := http.NewServeMux()
	const v3 = "/wechat/v3/pay/transactions"
	for pattern, reply := range map[string]func(*http.Request, []byte) answer{
		"GET " + v3 + "/out-trade-no/{no}":          s.v3Query,
		"GET " + v3 + "/id/{id}":                    s.v3Query,
		"POST " + v3 + "/out-trade-no/{no}/close":   s.v3Close,
		"POST " + v3 + "/out-trade-no/{no}/reverse": s.v3Reverse,
		"POST /wechat-v2/pay/orderquery":            s.v2Query,
		"POST /wechat-v2/pay/closeorder":            s.v2Close,
		"POST /alipay/gateway.do":                   s.alipayGateway,
		"POST /sqb/upay/v2/query":                   s.sqbQuery,
		"POST /sqb/upay/v2/cancel":                  s.sqbCancel,
		"POST /sqb/upay/v2/revoke":                  s.sqbCancel,
		"POST /sqb/terminal/checkin":                s.sqbCheckIn,
	} {
		mux.Handle(pattern, s.answering(reply))
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
