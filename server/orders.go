package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

// newOrder is the body of POST /v1/orders. Its limits repeat those of order.Order.Validate, so that an answer can
// name the field that is wrong.
type newOrder struct {
	OrderNo string `json:"order_no" minLength:"1" maxLength:"64" pattern:"^[0-9A-Za-z_.*|@-]+$" doc:"out_trade_no"`
	Store   string `json:"store" minLength:"1" maxLength:"64" pattern:"^[0-9A-Za-z_.-]+$" doc:"whose sale it is"`
	Minor   int64  `json:"amount_minor" minimum:"1" doc:"minor units of the currency: fen"`

	Currency string `json:"currency" pattern:"^[A-Z]{3}$" example:"CNY"`
	Channel  string `json:"channel,omitempty" maxLength:"32" pattern:"^[A-Z][A-Z0-9_]*$"`
	Account  string `json:"account,omitempty" maxLength:"64" pattern:"^[a-z0-9-]+$"`
}

func (n newOrder) of(tenant int64) order.Order {
	return order.Order{Tenant: tenant, No: n.OrderNo, Store: n.Store, Channel: n.Channel, Account: n.Account,
		Amount: money.New(n.Minor, money.Currency(n.Currency))}
}

type orderCreated struct {
	Status int
	Body   order.Order
}

type orderPage struct {
	Orders []order.Order `json:"orders" nullable:"false"`
	Next   string        `json:"next,omitempty" doc:"value of after for the next page"`
}

// orderFile is an order with everything that the channels and the journal say of it.
type orderFile struct {
	Order    order.Order       `json:"order"`
	Payments []store.Payment   `json:"payments" nullable:"false"`
	Bookings []ledger.Recorded `json:"bookings" nullable:"false"`
}

func (s *Server) routeOrders(api huma.API) {
	create := operation("create-order", http.MethodPost, "/v1/orders", "Register an order; the same again is answered "+
		"with the stored one", http.StatusConflict, http.StatusUnprocessableEntity)
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, s.createOrder)
	huma.Register(api, operation("list-orders", http.MethodGet, "/v1/orders", "List orders by number",
		http.StatusUnprocessableEntity), s.listOrders)
	huma.Register(api, operation("get-order", http.MethodGet, "/v1/orders/{order_no}",
		"An order with its payments and bookings", http.StatusNotFound), s.getOrder)
}

// createOrder answers 201 if the order was not there when it was asked, else 200. Two same requests at one moment may
// both see 201; there is one order.
func (s *Server) createOrder(ctx context.Context, in *struct{ Body newOrder }) (*orderCreated, error) {
	wanted := in.Body.of(tenantOf(ctx))
	status := http.StatusOK
	_, err := s.opt.Store.Order(ctx, wanted.Tenant, wanted.No)
	if errors.Is(err, order.ErrUnknown) {
		status, err = http.StatusCreated, nil
	}
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	stored, err := s.opt.House.CreateOrder(ctx, wanted)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return &orderCreated{Status: status, Body: stored}, nil
}

func (s *Server) listOrders(ctx context.Context, in *page) (*answerOf[orderPage], error) {
	orders, err := s.opt.Store.Orders(ctx, tenantOf(ctx), in.After, in.Limit)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return &answerOf[orderPage]{orderPage{Orders: list(orders),
		Next: nextOf(len(orders), in.Limit, func() string { return orders[len(orders)-1].No })}}, nil
}

type orderPath struct {
	OrderNo string `path:"order_no" maxLength:"64"`
}

func (s *Server) getOrder(ctx context.Context, in *orderPath) (*answerOf[orderFile], error) {
	tenant := tenantOf(ctx)
	o, err := s.opt.Store.Order(ctx, tenant, in.OrderNo)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	payments, err := s.opt.Store.Payments(ctx, tenant, in.OrderNo)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	bookings, err := s.opt.Store.JournalOfOrder(ctx, tenant, in.OrderNo)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return &answerOf[orderFile]{orderFile{Order: o, Payments: list(payments), Bookings: whole(bookings)}}, nil
}
