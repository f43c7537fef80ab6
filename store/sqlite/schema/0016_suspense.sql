-- +goose Up
-- Real money that fits no order: one row per payment, with what of it still lies there.
CREATE TABLE suspense (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    channel TEXT NOT NULL,
    trade_no TEXT NOT NULL CHECK (typeof(trade_no) = 'text'),
    account TEXT NOT NULL,
    order_no TEXT NOT NULL CHECK (typeof(order_no) = 'text'),
    cause TEXT NOT NULL CHECK (typeof(cause) = 'text' AND octet_length(cause) BETWEEN 5 AND 191),
    reason TEXT NOT NULL,
    currency TEXT NOT NULL CHECK (octet_length(currency) = 3),
    amount_minor INTEGER NOT NULL CHECK (amount_minor > 0),
    left_minor INTEGER NOT NULL,
    moved_account TEXT NOT NULL,
    moved_minor INTEGER NOT NULL CHECK (moved_minor >= 0),
    since_us INTEGER NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    PRIMARY KEY (tenant_id, channel, trade_no)
) WITHOUT ROWID;
