-- +goose Up
-- One row per booked event: the fence on the money, independent of the claim. Append-only.
CREATE TABLE booking (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    cause TEXT NOT NULL CHECK (typeof(cause) = 'text' AND octet_length(cause) BETWEEN 5 AND 191),
    booking_id TEXT NOT NULL,
    chain TEXT NOT NULL,
    order_no TEXT NOT NULL CHECK (typeof(order_no) = 'text'),
    booked_us INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, cause),
    UNIQUE (tenant_id, booking_id)
) WITHOUT ROWID;
CREATE INDEX booking_order ON booking (tenant_id, order_no);
