-- +goose NO TRANSACTION
-- +goose Up
-- Bearer tokens of the API, as digests. A token belongs to one tenant.
CREATE TABLE IF NOT EXISTS api_token (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    token_id VARBINARY(26) NOT NULL,
    secret_digest VARBINARY(80) NOT NULL,
    name VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    created_us BIGINT NOT NULL,
    revoked_us BIGINT NOT NULL CHECK (revoked_us >= 0),
    PRIMARY KEY (tenant_id, token_id)
) ENGINE=InnoDB;
