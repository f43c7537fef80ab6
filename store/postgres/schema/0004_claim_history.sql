-- +goose Up
-- Who took, parked or changed an unfinished claim, and when.
CREATE TABLE claim_history (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    idempotent_key TEXT COLLATE "C" NOT NULL CHECK (octet_length(idempotent_key) BETWEEN 5 AND 191),
    fence BIGINT NOT NULL,
    what TEXT COLLATE "C" NOT NULL,
    at_us BIGINT NOT NULL,
    instance TEXT COLLATE "C" NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (tenant_id, idempotent_key, fence, what)
);
