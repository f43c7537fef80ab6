package ledger

import (
	"context"
	"fmt"
)

// Sealed is what the chain remembers of one booking.
type Sealed struct {
	ID      string
	Digest  string
	Booking *Recorded // nil: the booking is gone
}

// Stray is a row that hangs on nothing or that something should hang on, found by comparing tables.
type Stray struct {
	Kind  Fault
	Where string // key or id
}

// Reader is what Verify needs of the stored books.
type Reader interface {
	// Seals calls fn for every seal of a tenant, in order.
	Seals(ctx context.Context, tenant int64, fn func(Head) error) error
	// SealedBookings lists what lies under one seal, by booking id, with the bookings as they are now.
	SealedBookings(ctx context.Context, tenant, seal int64) ([]Sealed, error)
	// Unsealed calls fn for every booking that no seal covers yet.
	Unsealed(ctx context.Context, tenant int64, fn func(Recorded) error) error
	// Strays lists rows without the partner that they must have.
	Strays(ctx context.Context, tenant int64) ([]Stray, error)
	// SealedBalances lists the stored balances: sums of sealed postings.
	SealedBalances(ctx context.Context, tenant int64) ([]Balance, error)
}

// Fault is what Verify found.
type Fault string

// The faults.
const (
	Edited     Fault = "edited"     // a sealed booking does not have its digest any more
	Deleted    Fault = "deleted"    // a booking, or a seal at the end of the chain, is gone
	Inserted   Fault = "inserted"   // a row that the house did not write
	Broken     Fault = "broken"     // a seal does not follow from the one before, or not from the kept head
	Unbalanced Fault = "unbalanced" // an entry is not balanced, or a balance is not the sum of its postings
)

// Finding is one fault, with the place and a sentence for a person.
type Finding struct {
	Tenant int64  `json:"tenant"`
	Fault  Fault  `json:"fault"`
	Where  string `json:"where"`
	Detail string `json:"detail"`
}

// Report is the outcome of a verification.
type Report struct {
	Head     Head      `json:"head"` // end of the chain as it was recomputed
	Bookings int64     `json:"bookings"`
	Unsealed int64     `json:"unsealed"`
	Findings []Finding `json:"findings"`
}

// maxFindings bounds a report: a database that was replaced would find something in every row.
const maxFindings = 1000

// Verify recomputes a tenant's books from the postings up: digests, chain, balances, and the rows that must have
// partners. kept is a head that was stored outside the database, or nil; without it a chain that was recomputed from
// some point on, or cut off at its end, looks whole.
func Verify(ctx context.Context, r Reader, tenant int64, kept *Head) (Report, error) {
	v := &verifier{tenant: tenant, kept: kept, report: Report{Head: Head{Tenant: tenant}}}
	err := r.Seals(ctx, tenant, func(seal Head) error {
		sealed, err := r.SealedBookings(ctx, tenant, seal.Seal)
		if err != nil {
			return err
		}
		v.seal(seal, sealed)
		return nil
	})
	if err != nil {
		return Report{}, fmt.Errorf("ledger: read seals: %w", err)
	}
	v.compareHead()
	err = r.Unsealed(ctx, tenant, func(b Recorded) error {
		v.report.Unsealed++
		v.check(b)
		return nil
	})
	if err != nil {
		return Report{}, fmt.Errorf("ledger: read unsealed bookings: %w", err)
	}
	strays, err := r.Strays(ctx, tenant)
	if err != nil {
		return Report{}, fmt.Errorf("ledger: compare tables: %w", err)
	}
	for _, stray := range strays {
		v.find(stray.Kind, stray.Where, strayText(stray.Kind))
	}
	balances, err := r.SealedBalances(ctx, tenant)
	if err != nil {
		return Report{}, fmt.Errorf("ledger: read balances: %w", err)
	}
	v.compareBalances(balances)
	return v.report, nil
}

func strayText(f Fault) string {
	if f == Deleted {
		return "its claim is finished or its digest is sealed, but its rows are not there"
	}
	return "this row does not belong to anything that the house wrote"
}

type verifier struct {
	tenant int64
	kept   *Head
	report Report
	totals map[string]Balance
}

func (v *verifier) find(f Fault, where, detail string) {
	if len(v.report.Findings) < maxFindings {
		v.report.Findings = append(v.report.Findings, Finding{v.tenant, f, where, detail})
	}
}

// seal checks one seal: its bookings, their digests, and that it follows from the seal before.
func (v *verifier) seal(stored Head, sealed []Sealed) {
	digests := make([]string, len(sealed))
	for i, s := range sealed {
		digests[i] = s.Digest
		v.report.Bookings++
		switch {
		case s.Booking == nil:
			v.find(Deleted, s.ID, fmt.Sprintf("booking under seal %d is gone", stored.Seal))
			continue
		case s.Booking.Digest() != s.Digest:
			v.find(Edited, s.Booking.Cause, fmt.Sprintf("booking %s was changed after seal %d", s.ID, stored.Seal))
		}
		v.check(*s.Booking)
		v.add(*s.Booking)
	}
	next := v.report.Head.Next(digests)
	next.Tenant = stored.Tenant
	if next != stored {
		v.find(Broken, fmt.Sprintf("seal %d", stored.Seal), "the seal does not follow from the one before and its bookings")
	}
	if v.kept != nil && v.kept.Seal == stored.Seal && v.kept.Digest != stored.Digest {
		v.find(Broken, fmt.Sprintf("seal %d", stored.Seal),
			"the head kept outside the database has another digest: something before it was changed and recomputed")
	}
	v.report.Head = stored
}

func (v *verifier) compareHead() {
	if v.kept != nil && v.kept.Seal > v.report.Head.Seal {
		v.find(Deleted, fmt.Sprintf("seal %d", v.kept.Seal), fmt.Sprintf(
			"the head kept outside the database is seal %d, the chain ends at %d", v.kept.Seal, v.report.Head.Seal))
	}
}

func (v *verifier) check(b Recorded) {
	if err := b.Validate(); err != nil {
		v.find(Unbalanced, b.Cause, err.Error())
	}
}

func (v *verifier) add(b Recorded) {
	if v.totals == nil {
		v.totals = map[string]Balance{}
	}
	for _, sum := range Sums([]Recorded{b}) {
		key := string(sum.Account) + " " + string(sum.Currency)
		total := v.totals[key]
		total.Account, total.Currency = sum.Account, sum.Currency
		total.Debit += sum.Debit
		total.Credit += sum.Credit
		v.totals[key] = total
	}
}

func (v *verifier) compareBalances(stored []Balance) {
	for _, balance := range stored {
		key := string(balance.Account) + " " + string(balance.Currency)
		if want := v.totals[key]; want.Debit != balance.Debit || want.Credit != balance.Credit {
			v.find(Unbalanced, key, fmt.Sprintf("stored balance is %d/%d, the postings add up to %d/%d", balance.Debit,
				balance.Credit, want.Debit, want.Credit))
		}
		delete(v.totals, key)
	}
	for key := range v.totals {
		v.find(Deleted, key, "the account has postings and no balance")
	}
}
