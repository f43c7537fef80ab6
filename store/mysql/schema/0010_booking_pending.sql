-- +goose NO TRANSACTION
-- +goose Up
-- Bookings that are not yet in the balances and the seals. Written by the booking transaction itself.
CREATE TABLE IF NOT EXISTS booking_pending (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    booking_id VARBINARY(26) NOT NULL,
    PRIMARY KEY (tenant_id, booking_id)
) ENGINE=InnoDB;
