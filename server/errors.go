package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

// problemType is the prefix of the stable name of a problem (RFC 9457, member "type"). Programs compare it; titles
// and details are for people.
const problemType = "urn:paidonce:"

// answer is how one error looks from outside.
type answer struct {
	err    error
	status int
	name   string
	detail string // empty: the error's own text, which is made for the caller
	field  string // where in the request the cause lies, if that is known
}

// answers is the one table from errors to answers; the first line that fits counts.
func answers() []answer {
	return []answer{
		{order.ErrOrder, http.StatusUnprocessableEntity, "order_invalid", "", "body"},
		{order.ErrExists, http.StatusConflict, "order_exists", "the number is taken by an order with other content",
			"body.order_no"},
		{order.ErrUnknown, http.StatusNotFound, "order_unknown", "there is no order of this number", "path.order_no"},
		{gate.ErrKey, http.StatusUnprocessableEntity, "key_invalid", "want CHANNEL:number:EVENT in canonical form",
			"path.key"},
		{gate.ErrNoClaim, http.StatusNotFound, "event_unknown", "no event of this key was ever claimed", "path.key"},
		{paidonce.ErrNoReason, http.StatusUnprocessableEntity, "reason_missing",
			"actor and why must be 1 to 500 bytes of text without control characters", "body.why"},
		{paidonce.ErrInWork, http.StatusConflict, "event_in_work",
			"somebody works on the event at this moment; try again in a few seconds", "path.key"},
		{paidonce.ErrUnfit, http.StatusConflict, "action_unfit", "", ""},
		{channel.ErrEvent, http.StatusUnprocessableEntity, "event_invalid", "", "body"},
		{errOneOf, http.StatusUnprocessableEntity, "query_invalid", "give either cause or order_no", "query.cause"},
		{store.ErrToken, http.StatusUnauthorized, "token_invalid", "a valid bearer token is needed", ""},
		{store.ErrCommitUnknown, http.StatusServiceUnavailable, "outcome_unknown",
			"the answer of the database was lost; send the same request again, it is safe", ""},
		{money.ErrOverflow, http.StatusInternalServerError, "sum_out_of_range", "a sum does not fit into 64 bits", ""},
	}
}

// problem turns an error into the answer of the API. What is not in the table is the database's: it is logged, and the
// caller learns only that it may try again.
func (s *Server) problem(ctx context.Context, err error) error {
	for _, known := range answers() {
		if !errors.Is(err, known.err) {
			continue
		}
		model := &huma.ErrorModel{Type: problemType + known.name, Title: http.StatusText(known.status),
			Status: known.status, Detail: known.detail}
		if known.detail == "" {
			model.Detail = err.Error()
		}
		if known.field != "" {
			model.Errors = []*huma.ErrorDetail{{Message: model.Detail, Location: known.field}}
		}
		return model
	}
	s.opt.Logger.ErrorContext(ctx, "the books cannot be reached", "err", err)
	return &huma.ErrorModel{Type: problemType + "unavailable", Title: http.StatusText(http.StatusServiceUnavailable),
		Status: http.StatusServiceUnavailable, Detail: "the books cannot be reached at the moment; try again"}
}

// nameProblems gives the framework's own refusals (a body that does not fit its schema, and the like) a stable name.
func nameProblems(_ huma.Context, _ string, v any) (any, error) {
	if model, ok := v.(*huma.ErrorModel); ok && model.Type == "" {
		model.Type = problemType + "request_invalid"
	}
	return v, nil
}
