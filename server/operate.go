package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/store"
)

// Operations reads what people need to decide about money that is not where it belongs yet.
type Operations interface {
	// SuspenseList lists money in suspense, oldest first; with settled also what has left it entirely.
	SuspenseList(ctx context.Context, tenant int64, settled bool) ([]store.Suspense, error)
	// OpenQueries lists open orders older than age, by number, with what asking about them brought.
	OpenQueries(ctx context.Context, tenant int64, age time.Duration, after string, limit int) ([]store.Query, error)
	// Risk adds up the money at risk of one tenant.
	Risk(ctx context.Context, tenant int64, overdue time.Duration) (store.Risk, error)
}

// act is the body of every action: who, and why. Both are kept beside the event.
type act struct {
	Actor string `json:"actor" minLength:"1" maxLength:"500" doc:"who acts: a name that an auditor can ask"`
	Why   string `json:"why" minLength:"1" maxLength:"500" doc:"the reason"`
}

func (a act) of() paidonce.Act { return paidonce.Act{Actor: a.Actor, Why: a.Why} }

type actRequest struct {
	Key  string `path:"key" maxLength:"191" doc:"key of the event, path-escaped"`
	Body act
}

type linkRequest struct {
	Key  string `path:"key" maxLength:"191" doc:"key of the event, path-escaped"`
	Body struct {
		Actor   string `json:"actor" minLength:"1" maxLength:"500" doc:"who acts: a name that an auditor can ask"`
		Why     string `json:"why" minLength:"1" maxLength:"500" doc:"the reason"`
		OrderNo string `json:"order_no" minLength:"1" maxLength:"64" doc:"the order that was paid"`
	}
}

// outcome is what an action or a move led to.
type outcome struct {
	Key    gate.Key        `json:"key"`
	Status paidonce.Status `json:"status" enum:"booked,repeat,busy,parked,pending,rejected" doc:"repeat: it was finished"`
	Reason string          `json:"reason,omitempty"`
	Detail string          `json:"detail,omitempty"`
}

// forecastView is what driving an event on would do at this moment.
type forecastView struct {
	Booked  bool           `json:"would_be_booked"`
	Reason  string         `json:"reason,omitempty" doc:"why it would be held"`
	Detail  string         `json:"detail,omitempty"`
	Entries []ledger.Entry `json:"entries" nullable:"false" doc:"what would be booked"`
}

func (s *Server) routeOperations(api huma.API) {
	failures := []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}
	for _, action := range []struct {
		name, summary string
		do            func(context.Context, int64, gate.Key, paidonce.Act) (paidonce.Result, error)
	}{
		{"retry", "Drive a held event on at once", s.opt.House.Retry},
		{"suspense", "Book a held payment to suspense: real money that fits no order", s.opt.House.PostToSuspense},
		{"reject", "End a held event without booking it", s.opt.House.Reject},
	} {
		huma.Register(api, operation(action.name+"-event", http.MethodPost, "/v1/claims/{key}/"+action.name,
			action.summary, failures...),
			func(ctx context.Context, in *actRequest) (*answerOf[outcome], error) {
				return s.operate(ctx, in.Key, func(key gate.Key) (paidonce.Result, error) {
					return action.do(ctx, tenantOf(ctx), key, in.Body.of())
				})
			})
	}
	huma.Register(api, operation("link-event", http.MethodPost, "/v1/claims/{key}/link",
		"Book a held payment as a payment of the order that is named", failures...), s.link)
	huma.Register(api, operation("forecast-event", http.MethodGet, "/v1/claims/{key}/forecast",
		"What driving a held event on would do now; nothing is changed", failures...), s.forecast)
}

func (s *Server) operate(ctx context.Context, text string, do func(gate.Key) (paidonce.Result, error),
) (*answerOf[outcome], error) {
	key, err := gate.ParseKey(text)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	result, err := do(key)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return &answerOf[outcome]{outcome{result.Key, result.Status, result.Reason, result.Detail}}, nil
}

func (s *Server) link(ctx context.Context, in *linkRequest) (*answerOf[outcome], error) {
	return s.operate(ctx, in.Key, func(key gate.Key) (paidonce.Result, error) {
		return s.opt.House.LinkToOrder(ctx, tenantOf(ctx), key, in.Body.OrderNo,
			paidonce.Act{Actor: in.Body.Actor, Why: in.Body.Why})
	})
}

func (s *Server) forecast(ctx context.Context, in *eventPath) (*answerOf[forecastView], error) {
	key, err := gate.ParseKey(in.Key)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	f, err := s.opt.House.Explain(ctx, tenantOf(ctx), key)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return &answerOf[forecastView]{forecastView{Booked: f.Reason == "", Reason: f.Reason, Detail: f.Detail,
		Entries: list(f.Booking.Entries)}}, nil
}

// move is the body of a transfer out of suspense.
type move struct {
	Actor    string `json:"actor" minLength:"1" maxLength:"500" doc:"who acts: a name that an auditor can ask"`
	Why      string `json:"why" minLength:"1" maxLength:"500" doc:"the reason"`
	No       string `json:"move_no" minLength:"1" maxLength:"64" doc:"your own number: the same moves once"`
	OrderNo  string `json:"order_no" minLength:"1" maxLength:"64" doc:"the order whose merchant gets the money"`
	Minor    int64  `json:"amount_minor" minimum:"1"`
	Currency string `json:"currency" pattern:"^[A-Z]{3}$" example:"CNY"`
}

type moveRequest struct {
	Channel string `path:"channel" maxLength:"32" doc:"canonical code, such as WECHAT"`
	TradeNo string `path:"trade_no" maxLength:"64"`
	Body    move
}

type suspenseList struct {
	Suspense []store.Suspense `json:"suspense" nullable:"false"`
}

// openOrder is an order that nobody called back for.
type openOrder struct {
	OrderNo string       `json:"order_no"`
	Amount  money.Amount `json:"amount"`
	Age     int64        `json:"age_seconds"`
	Tries   int          `json:"asked" doc:"how often its channel was asked"`
	AskedUs int64        `json:"last_asked_us,omitempty"`
	Answer  string       `json:"answer,omitempty" doc:"what came of it"`
}

type openPage struct {
	Orders []openOrder `json:"orders" nullable:"false"`
	Next   string      `json:"next,omitempty" doc:"value of after for the next page"`
}

type openQuery struct {
	After string `query:"after" maxLength:"191" doc:"the last order of the page before; empty: from the start"`
	Limit int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"rows of a page"`
	Age   int    `query:"age_seconds" minimum:"0" maximum:"31536000" default:"0" doc:"only orders open for longer"`
}

func (s *Server) routeSuspense(api huma.API) {
	huma.Register(api, operation("list-suspense", http.MethodGet, "/v1/suspense",
		"Real money that fits no order, oldest first", http.StatusUnprocessableEntity), s.listSuspense)
	huma.Register(api, operation("move-suspense", http.MethodPost, "/v1/suspense/{channel}/{trade_no}/moves",
		"Move money out of suspense to the merchant of an order", http.StatusNotFound, http.StatusConflict,
		http.StatusUnprocessableEntity), s.moveSuspense)
	huma.Register(api, operation("list-open-orders", http.MethodGet, "/v1/open-orders",
		"Orders that stay open, with what asking their channels brought", http.StatusUnprocessableEntity), s.listOpen)
	huma.Register(api, operation("get-risk", http.MethodGet, "/v1/risk",
		"Money at risk: held, overdue and in suspense, with counts and the age of the oldest"), s.getRisk)
}

func (s *Server) listSuspense(ctx context.Context, in *struct {
	Settled bool `query:"settled" doc:"also what has left suspense entirely"`
}) (*answerOf[suspenseList], error) {
	rows, err := s.opt.Store.SuspenseList(ctx, tenantOf(ctx), in.Settled)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return &answerOf[suspenseList]{suspenseList{list(rows)}}, nil
}

func (s *Server) moveSuspense(ctx context.Context, in *moveRequest) (*answerOf[outcome], error) {
	b := in.Body
	result, err := s.opt.House.MoveFromSuspense(ctx, paidonce.Move{Tenant: tenantOf(ctx), Channel: in.Channel,
		TradeNo: in.TradeNo, No: b.No, OrderNo: b.OrderNo, Amount: money.New(b.Minor, money.Currency(b.Currency))},
		paidonce.Act{Actor: b.Actor, Why: b.Why})
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return &answerOf[outcome]{outcome{result.Key, result.Status, result.Reason, result.Detail}}, nil
}

func (s *Server) listOpen(ctx context.Context, in *openQuery) (*answerOf[openPage], error) {
	rows, err := s.opt.Store.OpenQueries(ctx, tenantOf(ctx), time.Duration(in.Age)*time.Second, in.After, in.Limit)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	orders := make([]openOrder, len(rows))
	for i, q := range rows {
		orders[i] = openOrder{q.OrderNo, q.Order.Amount, int64(q.Age / time.Second), q.Tries, q.AskedUs, q.Answer}
	}
	return &answerOf[openPage]{openPage{orders,
		nextOf(len(rows), in.Limit, func() string { return rows[len(rows)-1].OrderNo })}}, nil
}

func (s *Server) getRisk(ctx context.Context, _ *struct{}) (*answerOf[store.Risk], error) {
	risk, err := s.opt.Store.Risk(ctx, tenantOf(ctx), s.opt.Overdue)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return &answerOf[store.Risk]{risk}, nil
}
