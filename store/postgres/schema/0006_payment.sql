-- +goose Up
-- Every success at a channel, whether it paid its order or lies in suspense.
CREATE TABLE payment (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    channel TEXT COLLATE "C" NOT NULL,
    trade_no TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    order_no TEXT COLLATE "C" NOT NULL,
    cause TEXT COLLATE "C" NOT NULL CHECK (octet_length(cause) BETWEEN 5 AND 191),
    currency TEXT COLLATE "C" NOT NULL CHECK (octet_length(currency) = 3),
    captured_minor BIGINT NOT NULL CHECK (captured_minor > 0),
    reserved_minor BIGINT NOT NULL CHECK (reserved_minor >= 0),
    refunded_minor BIGINT NOT NULL CHECK (refunded_minor >= 0),
    suspense TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL CHECK (version > 0),
    CHECK (reserved_minor <= captured_minor),
    PRIMARY KEY (tenant_id, channel, trade_no)
);
CREATE INDEX payment_order ON payment (tenant_id, order_no);
