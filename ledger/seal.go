package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"
	"strings"
)

// Recorded is a booking as it is stored, with the id and time that storage gave it.
type Recorded struct {
	Booking
	ID       string `json:"booking_id"`
	BookedUs int64  `json:"booked_us"`
}

// Digest covers everything that the booking says, in an unambiguous encoding: hex of SHA-256.
func (r Recorded) Digest() string {
	h := sha256.New()
	number(h, r.Tenant)
	text(h, r.ID, r.Cause, r.Chain, r.OrderNo)
	number(h, r.BookedUs)
	number(h, int64(len(r.Entries)))
	for _, entry := range r.Entries {
		text(h, entry.Step)
		number(h, int64(len(entry.Postings)))
		for _, p := range entry.Postings {
			text(h, string(p.Account), string(p.Side), string(p.Amount.Currency))
			number(h, p.Amount.Minor)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func number(h hash.Hash, v int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(v))
	h.Write(b[:])
}

func text(h hash.Hash, fields ...string) {
	for _, field := range fields {
		number(h, int64(len(field)))
		h.Write([]byte(field))
	}
}

// Head is the end of a tenant's chain of seals. Whoever keeps a copy outside the database can tell later whether
// anything up to it was changed, removed or slipped in, recomputed digests included.
type Head struct {
	Tenant   int64  `json:"tenant"`
	Seal     int64  `json:"seal"`     // number of the last seal; 0: nothing sealed yet
	Bookings int64  `json:"bookings"` // sealed so far
	Digest   string `json:"digest"`   // hex of SHA-256 over the digest before and the sealed bookings'
}

// Next is the head after one more seal over these booking digests, in order of booking id.
func (h Head) Next(digests []string) Head {
	sum := sha256.New()
	text(sum, h.Digest)
	text(sum, digests...)
	return Head{h.Tenant, h.Seal + 1, h.Bookings + int64(len(digests)), hex.EncodeToString(sum.Sum(nil))}
}

// Sums adds up the postings of many bookings per account and currency, sorted, so that every instance touches the
// balances in the same order.
func Sums(bookings []Recorded) []Balance {
	type slot struct{ account, currency string }
	sums := map[slot]*Balance{}
	for _, b := range bookings {
		for _, e := range b.Entries {
			for _, p := range e.Postings {
				key := slot{string(p.Account), string(p.Amount.Currency)}
				if sums[key] == nil {
					sums[key] = &Balance{Account: p.Account, Currency: p.Amount.Currency}
				}
				if p.Side == Debit {
					sums[key].Debit += p.Amount.Minor
				} else {
					sums[key].Credit += p.Amount.Minor
				}
			}
		}
	}
	list := make([]Balance, 0, len(sums))
	for _, sum := range sums {
		list = append(list, *sum)
	}
	slices.SortFunc(list, func(a, b Balance) int {
		if c := strings.Compare(string(a.Account), string(b.Account)); c != 0 {
			return c
		}
		return strings.Compare(string(a.Currency), string(b.Currency))
	})
	return list
}
