-- +goose Up
-- The claim (placeholder) of every event: one row per tenant and key, kept for ever. This primary key is the verdict.
CREATE TABLE channel_idempotent (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    idempotent_key TEXT NOT NULL CHECK (typeof(idempotent_key) = 'text' AND octet_length(idempotent_key) BETWEEN 5 AND 191),
    event_type TEXT NOT NULL,
    digest TEXT NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),
    owner TEXT NOT NULL,
    fence INTEGER NOT NULL CHECK (fence > 0),
    lease_until_us INTEGER NOT NULL CHECK (lease_until_us >= 0),
    instance TEXT NOT NULL,
    outcome TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    handled_us INTEGER NOT NULL CHECK (handled_us >= 0),
    PRIMARY KEY (tenant_id, idempotent_key)
) WITHOUT ROWID;
