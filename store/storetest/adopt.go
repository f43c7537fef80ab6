package storetest

import (
	"strconv"
	"time"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/store"
)

func adoptClauses() []clause {
	return []clause{
		{"an older table's keys are done, once each, and wait for proof", adoptKeys},
		{"a table that cannot be taken over is refused by name", adoptRefused},
	}
}

// An older system's placeholder table: its keys may be booked there already, so nobody books them here. A row that is
// no key of ours is reported and stays where it is.
func adoptKeys(f *fixture) {
	tenant := strconv.FormatInt(f.tenant, 10)
	f.exec("CREATE TABLE older_placeholder (tenant_id BIGINT, idempotent_key VARCHAR(64), handled_date VARCHAR(32))")
	for _, key := range []string{"SQB:1:PAYMENT_RECEIVED", "SQB:2:PAYMENT_RECEIVED", "not a key"} {
		f.exec("INSERT INTO older_placeholder VALUES (" + tenant + ", '" + key + "', '2026-05-01 08:00:00')")
	}
	f.exec("INSERT INTO older_placeholder VALUES (NULL, 'SQB:3:PAYMENT_RECEIVED', NULL)")
	g := f.gate("till-a", longLease)
	ours := f.claim("SQB:2:PAYMENT_RECEIVED")
	f.acquire(g, ours, gate.First)

	beijing := time.FixedZone("", 8*3600)
	adoption := store.Adoption{Table: "older_placeholder", Zone: beijing, Instance: "till-a"}
	for i, taken := range []int64{1, 0} {
		got, err := f.store.Adopt(f.Context(), adoption)
		f.must(err)
		if got.Read != 4 || got.Taken != taken || got.Known != 2-taken || got.Invalid != 2 || len(got.Refused) != 2 {
			f.Errorf("run %d: %+v", i+1, got)
		}
	}
	inherited := f.claim("SQB:1:PAYMENT_RECEIVED")
	f.acquire(g, inherited, gate.Done)
	f.acquire(g, ours, gate.Busy) // what was ours stays as it is
	row := f.row(inherited.Key)
	handled := time.Date(2026, 5, 1, 8, 0, 0, 0, beijing).UnixMicro()
	if row.State != gate.Inherited || row.HandledUs != handled {
		f.Errorf("adopted as %+v, want handled at %d", row, handled)
	}
	waiting, err := f.store.Inherited(f.Context(), f.tenant, "", 10)
	f.must(err)
	if len(waiting) != 1 || waiting[0].Key != inherited.Key {
		f.Errorf("without proof: %+v", waiting)
	}
	if posted, err := f.book(f.booking(inherited.Key, 100)); !posted || err != nil {
		f.Fatalf("proof: %v, %v", posted, err)
	}
	if waiting, err = f.store.Inherited(f.Context(), f.tenant, "", 10); err != nil || len(waiting) != 0 {
		f.Errorf("still without proof: %+v, %v", waiting, err)
	}
}

func adoptRefused(f *fixture) {
	f.exec("CREATE TABLE older_other (tenant_id BIGINT, note VARCHAR(64))")
	for name, adoption := range map[string]store.Adoption{
		"no table":            {},
		"a table not there":   {Table: "nowhere"},
		"our own table":       {Table: "CHANNEL_IDEMPOTENT"},
		"no key column":       {Table: "older_other"},
		"a statement":         {Table: "older_other; DROP TABLE booking"},
		"a column not there":  {Table: "older_other", Handled: "note2"},
		"a statement as date": {Table: "older_other", Handled: "(SELECT 1)"},
	} {
		got, err := f.store.Adopt(f.Context(), adoption)
		f.wantError(err, store.ErrAdopt)
		if got.Read != 0 {
			f.Errorf("%s: %+v", name, got)
		}
	}
}
