-- +goose NO TRANSACTION
-- +goose Up
-- Real money that fits no order: one row per payment, with what of it still lies there.
CREATE TABLE IF NOT EXISTS suspense (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    channel VARBINARY(64) NOT NULL,
    trade_no VARBINARY(64) NOT NULL,
    account VARBINARY(64) NOT NULL,
    order_no VARBINARY(64) NOT NULL,
    cause VARBINARY(191) NOT NULL CHECK (LENGTH(cause) BETWEEN 5 AND 191),
    reason VARBINARY(64) NOT NULL,
    currency VARBINARY(3) NOT NULL CHECK (LENGTH(currency) = 3),
    amount_minor BIGINT NOT NULL CHECK (amount_minor > 0),
    left_minor BIGINT NOT NULL,
    moved_account VARBINARY(191) NOT NULL,
    moved_minor BIGINT NOT NULL CHECK (moved_minor >= 0),
    since_us BIGINT NOT NULL,
    version BIGINT NOT NULL CHECK (version > 0),
    PRIMARY KEY (tenant_id, channel, trade_no)
) ENGINE=InnoDB;
