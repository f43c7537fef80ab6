package channel

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// AskTimeout bounds one exchange of the client that a Payer makes for itself when its host gives none.
const AskTimeout = 10 * time.Second

// Doer sends one HTTP request; *http.Client is one. It must respect the request's context.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// WithoutRedirects makes a client that takes a redirect as an answer: one that is followed would carry the question to
// an address that nobody configured, and its answer would be believed. An *http.Client is copied and told so, nil is a
// client with AskTimeout, and any other Doer has to hand out the 3xx answer as it came.
func WithoutRedirects(d Doer) Doer {
	client := &http.Client{Timeout: AskTimeout}
	if given, ok := d.(*http.Client); ok && given != nil {
		copied := *given
		client = &copied
	} else if d != nil && !ok {
		return d
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

var errExchange = errors.New("the exchange broke off")

// Unanswered wraps the failure of an exchange as ErrUnanswered. It keeps the causes that help an operator; any other
// text may quote what the other side sent.
func Unanswered(err error) error {
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	cause := errExchange
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		cause = context.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		cause = context.Canceled
	case errors.As(err, &certificate):
		cause = certificate
	case errors.As(err, &network):
		cause = network
	}
	return fmt.Errorf("%w: %w", ErrUnanswered, cause)
}
