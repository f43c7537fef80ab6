-- +goose Up
-- Bookings that are not yet in the balances and the seals. Written by the booking transaction itself.
CREATE TABLE booking_pending (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    booking_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, booking_id)
);
