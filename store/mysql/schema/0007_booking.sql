-- +goose NO TRANSACTION
-- +goose Up
-- One row per booked event: the fence on the money, independent of the claim. Append-only.
CREATE TABLE IF NOT EXISTS booking (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    cause VARBINARY(191) NOT NULL CHECK (LENGTH(cause) BETWEEN 5 AND 191),
    booking_id VARBINARY(26) NOT NULL,
    chain VARBINARY(64) NOT NULL,
    order_no VARBINARY(64) NOT NULL,
    booked_us BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, cause),
    UNIQUE (tenant_id, booking_id),
    KEY booking_order (tenant_id, order_no)
) ENGINE=InnoDB;
