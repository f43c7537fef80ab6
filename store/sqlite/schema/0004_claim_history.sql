-- +goose Up
-- Who took, parked or changed an unfinished claim, and when.
CREATE TABLE claim_history (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    idempotent_key TEXT NOT NULL CHECK (typeof(idempotent_key) = 'text' AND octet_length(idempotent_key) BETWEEN 5 AND 191),
    fence INTEGER NOT NULL,
    what TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    instance TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (tenant_id, idempotent_key, fence, what)
) WITHOUT ROWID;
