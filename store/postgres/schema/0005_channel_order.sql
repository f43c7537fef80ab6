-- +goose Up
-- The orders of the merchant, as the channels see them.
CREATE TABLE channel_order (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    order_no TEXT COLLATE "C" NOT NULL,
    store TEXT COLLATE "C" NOT NULL,
    amount_minor BIGINT NOT NULL CHECK (amount_minor > 0),
    currency TEXT COLLATE "C" NOT NULL CHECK (octet_length(currency) = 3),
    channel TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    paid_by TEXT COLLATE "C" NOT NULL,
    created_us BIGINT NOT NULL,
    paid_us BIGINT NOT NULL CHECK (paid_us >= 0),
    version BIGINT NOT NULL CHECK (version > 0),
    PRIMARY KEY (tenant_id, order_no)
);
