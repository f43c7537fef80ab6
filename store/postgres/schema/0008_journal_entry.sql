-- +goose Up
-- The balanced entries of a booking. Append-only.
CREATE TABLE journal_entry (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    booking_id TEXT COLLATE "C" NOT NULL,
    entry_no SMALLINT NOT NULL,
    step TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, booking_id, entry_no),
    FOREIGN KEY (tenant_id, booking_id) REFERENCES booking (tenant_id, booking_id)
);
