package storetest

import (
	"math"
	"strings"

	"github.com/paidonce/paidonce/gate"
)

func keyClauses() []clause {
	return []clause{
		{"numbers that look alike are different claims", alikeNumbers},
		{"raw bytes that a collation would fold are different claims", alikeBytes},
		{"one key of two tenants is two claims", twoTenants},
		{"the largest tenant ids stay apart", hugeTenants},
		{"keys of full length that differ in the last byte are different claims", fullLength},
		{"a key that is too long is refused and never cut", tooLong},
	}
}

func alikeNumbers(f *fixture) {
	g := f.gate("till-a", longLease)
	for _, pair := range [][2]string{
		{"ORD-a", "ORD-A"}, {"ORD", "ORD "}, {"ORD", " ORD"}, {"ORD", "ORD\t"}, {"ORD", "ORD\x00"}, {"e", "é"},
		{"é", "e\u0301"}, {"ss", "ß"}, {"😀", "🚀"}, {"𠀀", "𠀁"}, {"1", "１"}, {"あ", "ア"}, {"i", "ı"},
		{"zw", "z\u200bw"}, {"soft", "so\u00adft"}, {"\xff", "\ufffd"}, {"7", "07"}, {"a/b", "a:b"},
	} {
		apart(f, g, f.key("n", pair[0]), f.key("n", pair[1]))
	}
	apart(f, g, f.key("10", "01"), f.key("10/01"))
}

// apart claims two keys: both must be new, and each must be read back as itself.
func apart(f *fixture, g *gate.Gate, a, b gate.Key) {
	f.Helper()
	for _, key := range []gate.Key{a, b} {
		t, err := g.Acquire(f.Context(), f.claim(key))
		switch {
		case err != nil:
			f.Errorf("%q beside %q: %v", key, a, err)
		case t.Verdict != gate.First && key == b:
			f.Errorf("%q was taken for %q", b, a)
		}
		if row := f.row(key); row.Key != key {
			f.Errorf("%q reads back as %q", key, row.Key)
		}
	}
}

// Storage compares bytes by itself: it does not lean on the encoding of keys.
func alikeBytes(f *fixture) {
	seat := gate.Seat{Owner: "me", Instance: "till-a", Lease: longLease}
	for i, pair := range [][2]gate.Key{
		{"RAW:a:PAY", "RAW:A:PAY"}, {"RAW:b:PAY", "RAW:b:PAY "}, {"RAW:e:PAY", "RAW:é:PAY"},
		{"RAW:é1:PAY", "RAW:e\u03011:PAY"}, {"RAW:ss:PAY", "RAW:ß:PAY"}, {"RAW:😀:PAY", "RAW:🚀:PAY"},
		{"RAW:1:PAY", "RAW:１:PAY"}, {"RAW:%00:PAY", "RAW:%0:PAY"}, {"RAW:_:PAY", "RAW:x:PAY"},
	} {
		for j, key := range pair {
			seat.Owner = string(rune('A'+i)) + string(rune('0'+j))
			row, won, err := f.store.Insert(f.Context(), f.claim(key), seat)
			if err != nil || !won {
				f.Errorf("%q: won %v, %v; the row is %q", key, won, err, row.Key)
			}
		}
	}
}

func twoTenants(f *fixture) {
	g, key := f.gate("till-a", longLease), f.key("shared")
	mine, theirs := f.claim(key), f.claim(key)
	theirs.Tenant += 1000
	t := f.acquire(g, mine, gate.First)
	f.acquire(g, theirs, gate.First)
	f.must(f.finish(g, t))
	f.acquire(g, mine, gate.Done)
	f.acquire(g, theirs, gate.Busy)
}

func hugeTenants(f *fixture) {
	g := f.gate("till-a", longLease)
	for _, tenant := range []int64{3_000_000_000, 4_000_000_000, math.MaxInt32, math.MaxInt64 - 1, math.MaxInt64} {
		c := f.claim(f.key("huge"))
		c.Tenant = tenant
		if t := f.acquire(g, c, gate.First); t.Tenant != tenant {
			f.Errorf("tenant %d became %d", tenant, t.Tenant)
		}
		row, err := f.store.Lookup(f.Context(), tenant, c.Key)
		if err != nil || row.Tenant != tenant {
			f.Errorf("tenant %d reads back as %d, %v", tenant, row.Tenant, err)
		}
	}
	for _, tenant := range []int64{0, -1, math.MinInt64} {
		c := f.claim(f.key("none"))
		c.Tenant = tenant
		_, err := g.Acquire(f.Context(), c)
		f.wantError(err, gate.ErrClaim)
		if _, won, err := f.store.Insert(f.Context(), c, gate.Seat{Owner: "me"}); won || err == nil {
			f.Errorf("the database took tenant %d", tenant)
		}
	}
}

func fullLength(f *fixture) {
	g := f.gate("till-a", longLease)
	room := gate.MaxKeyBytes - len("WECHAT::PAYMENT_RECEIVED")
	long := f.key(strings.Repeat("9", room))
	if len(long) != gate.MaxKeyBytes {
		f.Fatalf("%d bytes", len(long))
	}
	apart(f, g, long, f.key(strings.Repeat("9", room-1)+"8"))
	seat := gate.Seat{Owner: "me", Instance: "till-a", Lease: longLease}
	stem := gate.Key("RAW:" + strings.Repeat("K", gate.MaxKeyBytes-len("RAW::PAY1")) + ":PAY")
	for i, end := range []gate.Key{"1", "2"} {
		seat.Owner = string(end)
		if _, won, err := f.store.Insert(f.Context(), f.claim(stem+end), seat); !won || err != nil {
			f.Errorf("key %d, equal in its first 190 bytes: %v, %v", i, won, err)
		}
	}
}

// The database refuses by itself what the gate would never send.
func tooLong(f *fixture) {
	seat := gate.Seat{Owner: "me", Instance: "till-a", Lease: longLease}
	for _, key := range []gate.Key{gate.Key(strings.Repeat("L", gate.MaxKeyBytes+1)), "", "A:B"} {
		if _, won, err := f.store.Insert(f.Context(), f.claim(key), seat); won || err == nil {
			f.Errorf("a key of %d bytes: won %v, %v", len(key), won, err)
		}
		nobodyHas(f, key)
	}
	nobodyHas(f, gate.Key(strings.Repeat("L", gate.MaxKeyBytes)))
}
