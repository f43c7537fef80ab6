-- +goose Up
-- The orders of the merchant, as the channels see them.
CREATE TABLE channel_order (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    order_no TEXT NOT NULL CHECK (typeof(order_no) = 'text'),
    store TEXT NOT NULL,
    amount_minor INTEGER NOT NULL CHECK (amount_minor > 0),
    currency TEXT NOT NULL CHECK (octet_length(currency) = 3),
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    state TEXT NOT NULL,
    paid_by TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    paid_us INTEGER NOT NULL CHECK (paid_us >= 0),
    version INTEGER NOT NULL CHECK (version > 0),
    PRIMARY KEY (tenant_id, order_no)
) WITHOUT ROWID;
