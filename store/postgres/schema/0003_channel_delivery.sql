-- +goose Up
-- Raw deliveries as evidence. May be archived once their claim is finished; no verdict rests on it. The event is kept where it deviates from the claimed one.
CREATE TABLE channel_delivery (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    idempotent_key TEXT COLLATE "C" NOT NULL CHECK (octet_length(idempotent_key) BETWEEN 5 AND 191),
    delivery_id TEXT COLLATE "C" NOT NULL,
    received_us BIGINT NOT NULL,
    source TEXT COLLATE "C" NOT NULL,
    verdict TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    instance TEXT COLLATE "C" NOT NULL,
    header BYTEA NOT NULL,
    body BYTEA NOT NULL,
    event BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, idempotent_key, delivery_id)
);
