-- +goose NO TRANSACTION
-- +goose Up
-- Every success at a channel, whether it paid its order or lies in suspense.
CREATE TABLE IF NOT EXISTS payment (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    channel VARBINARY(64) NOT NULL,
    trade_no VARBINARY(64) NOT NULL,
    account VARBINARY(64) NOT NULL,
    order_no VARBINARY(64) NOT NULL,
    cause VARBINARY(191) NOT NULL CHECK (LENGTH(cause) BETWEEN 5 AND 191),
    currency VARBINARY(3) NOT NULL CHECK (LENGTH(currency) = 3),
    captured_minor BIGINT NOT NULL CHECK (captured_minor > 0),
    reserved_minor BIGINT NOT NULL CHECK (reserved_minor >= 0),
    refunded_minor BIGINT NOT NULL CHECK (refunded_minor >= 0),
    suspense VARBINARY(64) NOT NULL,
    version BIGINT NOT NULL CHECK (version > 0),
    CHECK (reserved_minor <= captured_minor),
    PRIMARY KEY (tenant_id, channel, trade_no),
    KEY payment_order (tenant_id, order_no)
) ENGINE=InnoDB;
