-- +goose NO TRANSACTION
-- +goose Up
-- Which booking lies under which seal, with its digest.
CREATE TABLE IF NOT EXISTS sealed_booking (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    booking_id VARBINARY(26) NOT NULL,
    seal_no BIGINT NOT NULL CHECK (seal_no > 0),
    digest VARBINARY(80) NOT NULL,
    PRIMARY KEY (tenant_id, booking_id),
    KEY sealed_booking_seal (tenant_id, seal_no)
) ENGINE=InnoDB;
