-- +goose Up
-- The legs of an entry. Append-only.
CREATE TABLE posting (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    booking_id TEXT COLLATE "C" NOT NULL,
    entry_no SMALLINT NOT NULL,
    line_no SMALLINT NOT NULL,
    account TEXT COLLATE "C" NOT NULL CHECK (octet_length(account) BETWEEN 3 AND 191),
    side TEXT COLLATE "C" NOT NULL CHECK (side IN ('D', 'C')),
    amount_minor BIGINT NOT NULL CHECK (amount_minor > 0),
    currency TEXT COLLATE "C" NOT NULL CHECK (octet_length(currency) = 3),
    PRIMARY KEY (tenant_id, booking_id, entry_no, line_no),
    FOREIGN KEY (tenant_id, booking_id, entry_no) REFERENCES journal_entry (tenant_id, booking_id, entry_no)
);
