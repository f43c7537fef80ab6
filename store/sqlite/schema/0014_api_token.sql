-- +goose Up
-- Bearer tokens of the API, as digests. A token belongs to one tenant.
CREATE TABLE api_token (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    token_id TEXT NOT NULL,
    secret_digest TEXT NOT NULL,
    name TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    revoked_us INTEGER NOT NULL CHECK (revoked_us >= 0),
    PRIMARY KEY (tenant_id, token_id)
) WITHOUT ROWID;
