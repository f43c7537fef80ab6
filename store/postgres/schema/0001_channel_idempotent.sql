-- +goose Up
-- The claim (placeholder) of every event: one row per tenant and key, kept for ever. This primary key is the verdict.
CREATE TABLE channel_idempotent (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    idempotent_key TEXT COLLATE "C" NOT NULL CHECK (octet_length(idempotent_key) BETWEEN 5 AND 191),
    event_type TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    state SMALLINT NOT NULL CHECK (state BETWEEN 0 AND 3),
    owner TEXT COLLATE "C" NOT NULL,
    fence BIGINT NOT NULL CHECK (fence > 0),
    lease_until_us BIGINT NOT NULL CHECK (lease_until_us >= 0),
    instance TEXT COLLATE "C" NOT NULL,
    outcome TEXT COLLATE "C" NOT NULL,
    created_us BIGINT NOT NULL,
    handled_us BIGINT NOT NULL CHECK (handled_us >= 0),
    PRIMARY KEY (tenant_id, idempotent_key)
);
