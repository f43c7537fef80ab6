-- +goose Up
-- Raw deliveries as evidence. May be archived once their claim is finished; no verdict rests on it. The event is kept where it deviates from the claimed one.
CREATE TABLE channel_delivery (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    idempotent_key TEXT NOT NULL CHECK (typeof(idempotent_key) = 'text' AND octet_length(idempotent_key) BETWEEN 5 AND 191),
    delivery_id TEXT NOT NULL,
    received_us INTEGER NOT NULL,
    source TEXT NOT NULL,
    verdict TEXT NOT NULL,
    digest TEXT NOT NULL,
    instance TEXT NOT NULL,
    header BLOB NOT NULL,
    body BLOB NOT NULL,
    event BLOB NOT NULL,
    PRIMARY KEY (tenant_id, idempotent_key, delivery_id)
) WITHOUT ROWID;
