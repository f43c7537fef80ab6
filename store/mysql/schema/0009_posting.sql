-- +goose NO TRANSACTION
-- +goose Up
-- The legs of an entry. Append-only.
CREATE TABLE IF NOT EXISTS posting (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    booking_id VARBINARY(26) NOT NULL,
    entry_no SMALLINT NOT NULL,
    line_no SMALLINT NOT NULL,
    account VARBINARY(191) NOT NULL CHECK (LENGTH(account) BETWEEN 3 AND 191),
    side VARBINARY(1) NOT NULL CHECK (side IN ('D', 'C')),
    amount_minor BIGINT NOT NULL CHECK (amount_minor > 0),
    currency VARBINARY(3) NOT NULL CHECK (LENGTH(currency) = 3),
    PRIMARY KEY (tenant_id, booking_id, entry_no, line_no),
    FOREIGN KEY (tenant_id, booking_id, entry_no) REFERENCES journal_entry (tenant_id, booking_id, entry_no)
) ENGINE=InnoDB;
