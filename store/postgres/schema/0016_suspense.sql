-- +goose Up
-- Real money that fits no order: one row per payment, with what of it still lies there.
CREATE TABLE suspense (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    channel TEXT COLLATE "C" NOT NULL,
    trade_no TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    order_no TEXT COLLATE "C" NOT NULL,
    cause TEXT COLLATE "C" NOT NULL CHECK (octet_length(cause) BETWEEN 5 AND 191),
    reason TEXT COLLATE "C" NOT NULL,
    currency TEXT COLLATE "C" NOT NULL CHECK (octet_length(currency) = 3),
    amount_minor BIGINT NOT NULL CHECK (amount_minor > 0),
    left_minor BIGINT NOT NULL,
    moved_account TEXT COLLATE "C" NOT NULL,
    moved_minor BIGINT NOT NULL CHECK (moved_minor >= 0),
    since_us BIGINT NOT NULL,
    version BIGINT NOT NULL CHECK (version > 0),
    PRIMARY KEY (tenant_id, channel, trade_no)
);
