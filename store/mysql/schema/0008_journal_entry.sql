-- +goose NO TRANSACTION
-- +goose Up
-- The balanced entries of a booking. Append-only.
CREATE TABLE IF NOT EXISTS journal_entry (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    booking_id VARBINARY(26) NOT NULL,
    entry_no SMALLINT NOT NULL,
    step VARBINARY(64) NOT NULL,
    PRIMARY KEY (tenant_id, booking_id, entry_no),
    FOREIGN KEY (tenant_id, booking_id) REFERENCES booking (tenant_id, booking_id)
) ENGINE=InnoDB;
