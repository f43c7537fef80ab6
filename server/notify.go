package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
)

// Refusals that are not the adapter's.
var (
	errForeign    = errors.New("server: the adapter returned an event of another account")
	errOversized  = errors.New("server: body is longer than any notification")
	errUnreadable = errors.New("server: body did not arrive")
)

// notify answers POST /notify/{channel}/{account}. The body stays the bytes that came in: signatures are over bytes,
// and a form that was parsed and written again is no evidence.
func (s *Server) notify(w http.ResponseWriter, r *http.Request) {
	target := s.channels[r.PathValue("channel")+"/"+r.PathValue("account")]
	switch {
	case target == nil:
		s.unknownAddress(w, r)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		plain(w, http.StatusMethodNotAllowed, "notifications are POSTed\n")
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		s.refuse(r, target, len(body), err)
		reply := target.Ack(false)
		if errors.Is(err, errOversized) {
			reply.Status = http.StatusRequestEntityTooLarge
		}
		send(w, reply)
		return
	}
	// All bytes are here: booking must not end because a deadline for reading passes.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	send(w, target.Ack(s.hold(r, target, body)))
}

// readBody reads the raw body, at most channel.MaxBodyBytes.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, channel.MaxBodyBytes))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return body, errOversized
	case err != nil:
		return body, errUnreadable
	}
	return body, nil
}

// hold verifies one notification and gives everything that it says to the house. It reports true if and only if the
// house holds all of it. The first failure ends it: the channel sends everything again, and what is held already is
// then a repeat.
func (s *Server) hold(r *http.Request, target channel.Channel, body []byte) bool {
	ctx := r.Context()
	parsed, err := target.Parse(ctx, channel.Request{Header: r.Header, Body: body, Received: s.opt.Clock()})
	if err != nil {
		s.refuse(r, target, len(body), err)
		return false
	}
	events := parsed.Events
	for _, hint := range parsed.Hints {
		events = append(events, hint.Event)
	}
	account := target.Account()
	raw := gate.Delivery{Source: "notify", Header: evidence(r.Header, account.Channel), Body: body}
	for _, e := range events {
		result, err := s.accept(ctx, account, e, raw)
		if err != nil {
			s.opt.Logger.ErrorContext(ctx, "notification is not held, the channel must send it again",
				"tenant", account.Tenant, "channel", account.Channel, "account", account.Name, "err", err)
			return false
		}
		s.opt.Logger.InfoContext(ctx, "notification is held", "tenant", account.Tenant, "key", result.Key,
			"status", result.Status, "verdict", result.Verdict, "reason", result.Reason)
	}
	return len(events) > 0
}

// accept is House.Accept for an event of this endpoint's account. The tenant belongs to the endpoint: an adapter that
// names another one is broken, and must not write into somebody else's books.
func (s *Server) accept(ctx context.Context, a channel.Account, e channel.Event, raw gate.Delivery,
) (paidonce.Result, error) {
	if e.Tenant != a.Tenant || e.Channel != a.Channel || e.Account != a.Name {
		return paidonce.Result{}, errForeign
	}
	return s.opt.House.Accept(ctx, e, raw)
}

// refuse logs a delivery that was not taken, without a byte of what it says.
func (s *Server) refuse(r *http.Request, target channel.Channel, length int, err error) {
	level := slog.LevelWarn
	if errors.Is(err, channel.ErrProbe) {
		level = slog.LevelInfo // the channel tests whether signatures are checked; nothing is wrong
	}
	account := target.Account()
	s.opt.Logger.Log(r.Context(), level, "notification refused", "tenant", account.Tenant, "channel", account.Channel,
		"account", account.Name, "reason", refusalWord(err), "remote", r.RemoteAddr, "body_bytes", length)
}

// refusalWord is the stable word for a refusal.
func refusalWord(err error) string {
	for _, known := range []struct {
		err  error
		word string
	}{
		{channel.ErrProbe, "probe"}, {channel.ErrForged, "forged"}, {channel.ErrStale, "stale"},
		{channel.ErrIdentity, "identity"}, {channel.ErrMalformed, "malformed"},
		{errOversized, "oversized"}, {errUnreadable, "unreadable"},
	} {
		if errors.Is(err, known.err) {
			return known.word
		}
	}
	return "refused"
}

// maxHeaderBytes is how much of one header value is kept: no signature of a channel is longer.
const maxHeaderBytes = 1024

// evidence keeps, as JSON, the headers that a channel's signature needs, and who sent it. Every other header is
// dropped: cookies and credentials of a proxy are none of the books' business.
func evidence(header http.Header, code string) []byte {
	names := []string{"Content-Type", "User-Agent", "Wechatpay-Serial", "Wechatpay-Timestamp", "Wechatpay-Nonce",
		"Wechatpay-Signature", "Wechatpay-Signature-Type"}
	if code == "SQB" {
		names = append(names, "Authorization") // Shouqianba puts the callback's signature there, not a credential
	}
	kept := make(map[string]string, len(names))
	for _, name := range names {
		if value := strings.Join(header.Values(name), ", "); value != "" {
			kept[name] = value[:min(len(value), maxHeaderBytes)]
		}
	}
	encoded, err := json.Marshal(kept)
	if err != nil {
		return nil // a map of texts always has a JSON form
	}
	return encoded
}

// send writes the channel's bytes as they are.
func send(w http.ResponseWriter, reply channel.Reply) {
	if reply.ContentType != "" {
		w.Header().Set("Content-Type", reply.ContentType)
	}
	w.WriteHeader(reply.Status)
	if reply.ContentType != "" {
		_, _ = w.Write(reply.Body) // a channel that hung up sends again, and that is a repeat
	}
}
