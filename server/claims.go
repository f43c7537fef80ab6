package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/store"
)

// claimView is a claim without what only the gate needs (owner token, stored event).
type claimView struct {
	Key       gate.Key    `json:"key"`
	State     string      `json:"state" enum:"open,finished,host,inherited"`
	Digest    gate.Digest `json:"digest"`
	Fence     int64       `json:"fence" doc:"grows with every holder"`
	Instance  string      `json:"instance" doc:"which instance decided last"`
	OrderNo   string      `json:"order_no,omitempty"`
	Outcome   string      `json:"outcome,omitempty"`
	CreatedUs int64       `json:"created_us"`
	HandledUs int64       `json:"handled_us,omitempty"`
	Age       int64       `json:"age_seconds" doc:"since it was claimed"`

	Reason    string        `json:"reason,omitempty" doc:"why it is not booked"`
	Detail    string        `json:"detail,omitempty"`
	Amount    *money.Amount `json:"amount,omitempty" doc:"what is at stake, where the report says"`
	Failures  int           `json:"failures,omitempty" doc:"technical failures in a row"`
	Attempts  int           `json:"attempts,omitempty" doc:"leases taken so far, of unfinished claims"`
	NextTryUs int64         `json:"next_try_us,omitempty"`
}

func (s *Server) viewOf(row gate.Row) claimView {
	var amount *money.Amount
	if !row.Amount.IsZero() {
		amount = &row.Amount
	}
	return claimView{Key: row.Key, State: row.State.String(), Digest: row.Digest, Fence: row.Fence,
		Instance: row.Instance, OrderNo: row.OrderNo, Outcome: row.Outcome, CreatedUs: row.CreatedUs,
		HandledUs: row.HandledUs, Age: max((s.opt.Clock().UnixMicro()-row.CreatedUs)/1_000_000, 0), Amount: amount,
		Reason: row.Reason, Detail: row.Detail, Failures: row.Failures, Attempts: row.Attempts, NextTryUs: row.DueUs}
}

type claimPage struct {
	Claims []claimView `json:"claims" nullable:"false"`
	Next   string      `json:"next,omitempty" doc:"value of after for the next page"`
}

func (s *Server) pageOf(rows []gate.Row, limit int) *answerOf[claimPage] {
	views := make([]claimView, len(rows))
	for i, row := range rows {
		views[i] = s.viewOf(row)
	}
	return &answerOf[claimPage]{claimPage{views,
		nextOf(len(rows), limit, func() string { return string(rows[len(rows)-1].Key) })}}
}

// eventFile is the life of one event.
type eventFile struct {
	Claim       claimView         `json:"claim"`
	Deliveries  []store.Delivery  `json:"deliveries" nullable:"false"`
	Steps       []store.Step      `json:"steps" nullable:"false"`
	Actions     []store.Action    `json:"actions" nullable:"false" doc:"what people did"`
	Bookings    []ledger.Recorded `json:"bookings" nullable:"false"`
	Explanation string            `json:"explanation" doc:"the same in plain words"`
}

type eventPath struct {
	Key string `path:"key" maxLength:"191" doc:"key of the event, path-escaped"`
}

// claimQuery repeats the fields of page: the framework does not see embedded types that are not exported.
type claimQuery struct {
	After  string `query:"after" maxLength:"191" doc:"the last key of the page before; empty: from the start"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"rows of a page"`
	State  string `query:"state" enum:"unfinished" default:"unfinished"`
	Reason string `query:"reason" maxLength:"64" doc:"only claims that are held for this reason"`
}

func (s *Server) routeEvents(api huma.API) {
	huma.Register(api, operation("get-event", http.MethodGet, "/v1/events/{key}",
		"The life of one event: deliveries, verdicts, attempts and bookings", http.StatusNotFound,
		http.StatusUnprocessableEntity), s.getEvent)
}

func (s *Server) routeClaims(api huma.API) {
	huma.Register(api, operation("list-claims", http.MethodGet, "/v1/claims", "Events that are held and not booked yet",
		http.StatusUnprocessableEntity), s.listClaims)
	huma.Register(api, operation("list-inherited", http.MethodGet, "/v1/claims/inherited",
		"Adopted claims that no booking proves yet", http.StatusUnprocessableEntity), s.listInherited)
}

func (s *Server) getEvent(ctx context.Context, in *eventPath) (*answerOf[eventFile], error) {
	key, err := gate.ParseKey(in.Key)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	line, err := s.opt.Store.Timeline(ctx, tenantOf(ctx), key)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return &answerOf[eventFile]{eventFile{Claim: s.viewOf(line.Claim), Deliveries: list(line.Deliveries),
		Steps: list(line.Steps), Actions: list(line.Actions), Bookings: whole(line.Bookings),
		Explanation: Explain(line)}}, nil
}

func (s *Server) listClaims(ctx context.Context, in *claimQuery) (*answerOf[claimPage], error) {
	rows, err := s.opt.Store.Unfinished(ctx, tenantOf(ctx), in.Reason, in.After, in.Limit)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return s.pageOf(rows, in.Limit), nil
}

func (s *Server) listInherited(ctx context.Context, in *page) (*answerOf[claimPage], error) {
	rows, err := s.opt.Store.Inherited(ctx, tenantOf(ctx), in.After, in.Limit)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return s.pageOf(rows, in.Limit), nil
}
