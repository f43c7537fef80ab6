package wechat

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/paidonce/paidonce/channel"
)

// application is the name under which a direct merchant, or a service provider, gives its application when it asks for
// a reversal (WeChat Pay v3 docs, code payment, reverse order).
func (p *Payer) application() string {
	if p.subMchID == "" {
		return "appid"
	}
	return "sp_appid"
}

// askReversal sends a reversal. Whether the answer of success is empty, with 204, or names the order, with 200, is not
// certain; as it decides nothing, and the order is asked about next, both are taken.
func (p *Payer) askReversal(ctx context.Context, path string, content []byte) (reply, error) {
	r, err := p.ask(ctx, http.MethodPost, path, content)
	if r.status == http.StatusOK && r.code == "" {
		return r, nil
	}
	return r, err
}

// afterReversal asks what became of an order whose reversal was taken. Its money may be on the way back, so that this
// question is refused must not look as if the reversal had been.
func (p *Payer) afterReversal(ctx context.Context, q channel.Question) (channel.Answer, error) {
	answer, err := p.Query(ctx, q)
	if errors.Is(err, channel.ErrRefused) {
		return channel.Answer{}, fmt.Errorf("%w: the reversal was taken, but the query after it was not: %s",
			channel.ErrUnanswered, err)
	}
	return answer, err
}
