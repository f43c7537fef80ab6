package storetest

import (
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
)

func sealClauses() []clause {
	return []clause{
		{"sealers at once seal every booking once", sealersAtOnce},
		{"nothing to seal is not a seal", nothingToSeal},
		{"the chain is what anybody recomputes from the bookings", recomputed},
		{"an edit behind the house's back is found", editIsFound},
		{"a deletion behind the house's back is found", deletionIsFound},
		{"an insertion behind the house's back is found", insertionIsFound},
		{"a chain cut off at its end is found by the kept head", cutIsFound},
	}
}

// sealAll seals what is pending and returns the head.
func (f *fixture) sealAll() ledger.Head {
	f.Helper()
	var head ledger.Head
	for {
		next, sealed, err := f.store.Seal(f.Context(), f.tenant, 5)
		f.must(err)
		if !sealed {
			return head
		}
		head = next
	}
}

// bookMany books and finishes n events, as the house does.
func (f *fixture) bookMany(n int) {
	f.Helper()
	g := f.gate("till-a", longLease)
	for i := range n {
		c := f.claim(f.key("seal" + strconv.Itoa(i)))
		f.must(f.finish(g, f.acquire(g, c, gate.First)))
		if posted, err := f.book(f.booking(c.Key, int64(i+1))); !posted || err != nil {
			f.Fatalf("booking %d: %v, %v", i, posted, err)
		}
	}
}

func (f *fixture) verify(kept *ledger.Head) ledger.Report {
	f.Helper()
	report, err := ledger.Verify(f.Context(), f.store, f.tenant, kept)
	f.must(err)
	return report
}

func (f *fixture) wantFault(kept *ledger.Head, want ledger.Fault) {
	f.Helper()
	report := f.verify(kept)
	if !slices.ContainsFunc(report.Findings, func(x ledger.Finding) bool { return x.Fault == want }) {
		f.Errorf("findings %+v, want %s among them", report.Findings, want)
	}
}

func sealersAtOnce(f *fixture) {
	const bookings = 33
	f.bookMany(bookings)
	var sealed atomic.Int64
	together(4, func(int) {
		for {
			_, ok, err := f.store.Seal(f.Context(), f.tenant, 4)
			if err != nil {
				f.Error(err)
			}
			if err != nil || !ok {
				return
			}
			sealed.Add(1)
		}
	})
	tenant := strconv.FormatInt(f.tenant, 10)
	if n := f.count("SELECT COUNT(*) FROM sealed_booking WHERE tenant_id = " + tenant); n != bookings {
		f.Errorf("%d bookings are sealed", n)
	}
	if n := f.count("SELECT COUNT(*) FROM seal WHERE tenant_id = " + tenant); n != sealed.Load() {
		f.Errorf("%d seals, %d reported", n, sealed.Load())
	}
	report := f.verify(nil)
	if len(report.Findings) != 0 || report.Bookings != bookings || report.Unsealed != 0 ||
		report.Head.Bookings != bookings || report.Head.Seal != sealed.Load() {
		f.Errorf("report %+v", report)
	}
}

func nothingToSeal(f *fixture) {
	if head, sealed, err := f.store.Seal(f.Context(), f.tenant, 10); sealed || err != nil {
		f.Errorf("Seal = %+v, %v, %v", head, sealed, err)
	}
	if report := f.verify(nil); len(report.Findings) != 0 || report.Head != (ledger.Head{Tenant: f.tenant}) {
		f.Errorf("report %+v", report)
	}
}

func recomputed(f *fixture) {
	f.bookMany(12)
	head := f.sealAll()
	own := ledger.Head{Tenant: f.tenant}
	err := f.store.Seals(f.Context(), f.tenant, func(seal ledger.Head) error {
		sealed, err := f.store.SealedBookings(f.Context(), f.tenant, seal.Seal)
		var digests []string
		for _, s := range sealed {
			digests = append(digests, s.Booking.Digest())
		}
		own = own.Next(digests)
		return err
	})
	f.must(err)
	if own != head || head.Bookings != 12 {
		f.Errorf("recomputed %+v, stored %+v", own, head)
	}
	if report := f.verify(&head); len(report.Findings) != 0 || report.Head != head {
		f.Errorf("report %+v", report)
	}
}

func editIsFound(f *fixture) {
	f.bookMany(6)
	f.sealAll()
	tenant, cause := strconv.FormatInt(f.tenant, 10), string(f.key("seal2"))
	f.exec("UPDATE booking SET order_no = 'ORD-9' WHERE tenant_id = " + tenant + " AND cause = '" + cause + "'")
	f.wantFault(nil, ledger.Edited)
	if report := f.verify(nil); len(report.Findings) != 1 || report.Findings[0].Where != cause {
		f.Errorf("findings %+v", report.Findings)
	}
}

func deletionIsFound(f *fixture) {
	f.bookMany(6)
	f.sealAll()
	tenant := strconv.FormatInt(f.tenant, 10)
	booked := f.journal(f.key("seal3"))
	for _, table := range []string{"posting", "journal_entry", "booking"} {
		f.exec("DELETE FROM " + table + " WHERE tenant_id = " + tenant + " AND booking_id = '" + booked[0].ID + "'")
	}
	f.wantFault(nil, ledger.Deleted)
}

func insertionIsFound(f *fixture) {
	f.bookMany(2)
	f.sealAll()
	tenant := strconv.FormatInt(f.tenant, 10)
	f.exec("INSERT INTO booking (tenant_id, cause, booking_id, chain, order_no, booked_us) VALUES (" + tenant +
		", 'WECHAT:forged:PAYMENT_RECEIVED', '00000000000000000000000000', 'plain', 'ORD-1', 1)")
	f.wantFault(nil, ledger.Inserted)
}

func cutIsFound(f *fixture) {
	f.bookMany(7)
	head := f.sealAll()
	tenant, last := strconv.FormatInt(f.tenant, 10), strconv.FormatInt(head.Seal, 10)
	f.exec("DELETE FROM seal WHERE tenant_id = " + tenant + " AND seal_no = " + last)
	f.wantFault(&head, ledger.Deleted)
}
