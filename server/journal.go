package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
)

// errOneOf: a request gives both or none of two parameters of which exactly one is needed.
var errOneOf = errors.New("server: exactly one of two parameters is needed")

type journalQuery struct {
	Cause   string `query:"cause" maxLength:"191" doc:"key of the event"`
	OrderNo string `query:"order_no" maxLength:"64"`
}

type journalPage struct {
	Bookings []ledger.Recorded `json:"bookings" nullable:"false"`
}

// accountRow is what one account holds in one currency. Net is debit minus credit.
type accountRow struct {
	Account ledger.Account `json:"account"`
	Debit   money.Amount   `json:"debit"`
	Credit  money.Amount   `json:"credit"`
	Net     money.Amount   `json:"net"`
}

type accountPage struct {
	Accounts []accountRow `json:"accounts" nullable:"false"`
}

// currencySum is the sum of both sides over all accounts in one currency.
type currencySum struct {
	Debit    money.Amount `json:"debit"`
	Credit   money.Amount `json:"credit"`
	Balanced bool         `json:"balanced"`
}

type trialBalance struct {
	Accounts []accountRow  `json:"accounts" nullable:"false"`
	Sums     []currencySum `json:"sums" nullable:"false"`
	Balanced bool          `json:"balanced" doc:"debits equal credits in every currency"`
}

func (s *Server) routeJournal(api huma.API) {
	huma.Register(api, operation("read-journal", http.MethodGet, "/v1/journal",
		"The bookings of one event or of one order", http.StatusUnprocessableEntity), s.readJournal)
	huma.Register(api, operation("list-accounts", http.MethodGet, "/v1/accounts",
		"Every account with the sums of both sides"), s.listAccounts)
	huma.Register(api, operation("trial-balance", http.MethodGet, "/v1/trial-balance",
		"Every account, and whether debits equal credits"), s.trialBalance)
}

func (s *Server) readJournal(ctx context.Context, in *journalQuery) (*answerOf[journalPage], error) {
	if (in.Cause == "") == (in.OrderNo == "") {
		return nil, s.problem(ctx, errOneOf)
	}
	var bookings []ledger.Recorded
	var err error
	if in.Cause != "" {
		bookings, err = s.opt.Store.Journal(ctx, tenantOf(ctx), in.Cause)
	} else {
		bookings, err = s.opt.Store.JournalOfOrder(ctx, tenantOf(ctx), in.OrderNo)
	}
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return &answerOf[journalPage]{journalPage{whole(bookings)}}, nil
}

func (s *Server) listAccounts(ctx context.Context, _ *struct{}) (*answerOf[accountPage], error) {
	balances, err := s.opt.Store.TrialBalance(ctx, tenantOf(ctx))
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return &answerOf[accountPage]{accountPage{rowsOf(balances)}}, nil
}

func (s *Server) trialBalance(ctx context.Context, _ *struct{}) (*answerOf[trialBalance], error) {
	balances, err := s.opt.Store.TrialBalance(ctx, tenantOf(ctx))
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	sums, err := sumsOf(balances)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	unbalanced := slices.ContainsFunc(sums, func(sum currencySum) bool { return !sum.Balanced })
	return &answerOf[trialBalance]{trialBalance{rowsOf(balances), sums, !unbalanced}}, nil
}

// whole writes a booking that moved no money with an empty list of entries, not with null.
func whole(bookings []ledger.Recorded) []ledger.Recorded {
	for i := range bookings {
		bookings[i].Entries = list(bookings[i].Entries)
	}
	return list(bookings)
}

func rowsOf(balances []ledger.Balance) []accountRow {
	rows := make([]accountRow, len(balances))
	for i, b := range balances {
		rows[i] = accountRow{b.Account, money.New(b.Debit, b.Currency), money.New(b.Credit, b.Currency),
			money.New(b.Net(), b.Currency)}
	}
	return rows
}

// sumsOf adds up both sides per currency, by currency; money.ErrOverflow if a sum leaves int64.
func sumsOf(balances []ledger.Balance) ([]currencySum, error) {
	totals := map[money.Currency]currencySum{}
	for _, b := range balances {
		sum, known := totals[b.Currency]
		if !known {
			sum = currencySum{Debit: money.New(0, b.Currency), Credit: money.New(0, b.Currency)}
		}
		var err error
		if sum.Debit, err = sum.Debit.Add(money.New(b.Debit, b.Currency)); err != nil {
			return nil, err
		}
		if sum.Credit, err = sum.Credit.Add(money.New(b.Credit, b.Currency)); err != nil {
			return nil, err
		}
		totals[b.Currency] = sum
	}
	sums := make([]currencySum, 0, len(totals))
	for _, sum := range totals {
		sum.Balanced = sum.Debit == sum.Credit
		sums = append(sums, sum)
	}
	slices.SortFunc(sums, func(a, b currencySum) int {
		return strings.Compare(string(a.Debit.Currency), string(b.Debit.Currency))
	})
	return sums, nil
}
