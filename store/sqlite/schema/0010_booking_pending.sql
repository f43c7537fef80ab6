-- +goose Up
-- Bookings that are not yet in the balances and the seals. Written by the booking transaction itself.
CREATE TABLE booking_pending (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    booking_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, booking_id)
) WITHOUT ROWID;
