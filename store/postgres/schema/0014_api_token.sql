-- +goose Up
-- Bearer tokens of the API, as digests. A token belongs to one tenant.
CREATE TABLE api_token (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    token_id TEXT COLLATE "C" NOT NULL,
    secret_digest TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    created_us BIGINT NOT NULL,
    revoked_us BIGINT NOT NULL CHECK (revoked_us >= 0),
    PRIMARY KEY (tenant_id, token_id)
);
