-- +goose Up
-- The legs of an entry. Append-only.
CREATE TABLE posting (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    booking_id TEXT NOT NULL,
    entry_no INTEGER NOT NULL,
    line_no INTEGER NOT NULL,
    account TEXT NOT NULL CHECK (typeof(account) = 'text' AND octet_length(account) BETWEEN 3 AND 191),
    side TEXT NOT NULL CHECK (side IN ('D', 'C')),
    amount_minor INTEGER NOT NULL CHECK (amount_minor > 0),
    currency TEXT NOT NULL CHECK (octet_length(currency) = 3),
    PRIMARY KEY (tenant_id, booking_id, entry_no, line_no),
    FOREIGN KEY (tenant_id, booking_id, entry_no) REFERENCES journal_entry (tenant_id, booking_id, entry_no)
) WITHOUT ROWID;
