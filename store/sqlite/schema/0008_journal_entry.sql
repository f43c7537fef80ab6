-- +goose Up
-- The balanced entries of a booking. Append-only.
CREATE TABLE journal_entry (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    booking_id TEXT NOT NULL,
    entry_no INTEGER NOT NULL,
    step TEXT NOT NULL,
    PRIMARY KEY (tenant_id, booking_id, entry_no),
    FOREIGN KEY (tenant_id, booking_id) REFERENCES booking (tenant_id, booking_id)
) WITHOUT ROWID;
