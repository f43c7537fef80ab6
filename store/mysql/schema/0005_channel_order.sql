-- +goose NO TRANSACTION
-- +goose Up
-- The orders of the merchant, as the channels see them.
CREATE TABLE IF NOT EXISTS channel_order (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    order_no VARBINARY(64) NOT NULL,
    store VARBINARY(64) NOT NULL,
    amount_minor BIGINT NOT NULL CHECK (amount_minor > 0),
    currency VARBINARY(3) NOT NULL CHECK (LENGTH(currency) = 3),
    channel VARBINARY(64) NOT NULL,
    account VARBINARY(64) NOT NULL,
    state VARBINARY(64) NOT NULL,
    paid_by VARBINARY(191) NOT NULL,
    created_us BIGINT NOT NULL,
    paid_us BIGINT NOT NULL CHECK (paid_us >= 0),
    version BIGINT NOT NULL CHECK (version > 0),
    PRIMARY KEY (tenant_id, order_no)
) ENGINE=InnoDB;
