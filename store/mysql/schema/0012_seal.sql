-- +goose NO TRANSACTION
-- +goose Up
-- The chain of digests over sealed bookings.
CREATE TABLE IF NOT EXISTS seal (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    seal_no BIGINT NOT NULL CHECK (seal_no > 0),
    bookings BIGINT NOT NULL CHECK (bookings > 0),
    digest VARBINARY(80) NOT NULL,
    sealed_us BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, seal_no)
) ENGINE=InnoDB;
