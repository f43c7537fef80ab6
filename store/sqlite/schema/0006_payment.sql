-- +goose Up
-- Every success at a channel, whether it paid its order or lies in suspense.
CREATE TABLE payment (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    channel TEXT NOT NULL,
    trade_no TEXT NOT NULL CHECK (typeof(trade_no) = 'text'),
    account TEXT NOT NULL,
    order_no TEXT NOT NULL CHECK (typeof(order_no) = 'text'),
    cause TEXT NOT NULL CHECK (typeof(cause) = 'text' AND octet_length(cause) BETWEEN 5 AND 191),
    currency TEXT NOT NULL CHECK (octet_length(currency) = 3),
    captured_minor INTEGER NOT NULL CHECK (captured_minor > 0),
    reserved_minor INTEGER NOT NULL CHECK (reserved_minor >= 0),
    refunded_minor INTEGER NOT NULL CHECK (refunded_minor >= 0),
    suspense TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    CHECK (reserved_minor <= captured_minor),
    PRIMARY KEY (tenant_id, channel, trade_no)
) WITHOUT ROWID;
CREATE INDEX payment_order ON payment (tenant_id, order_no);
