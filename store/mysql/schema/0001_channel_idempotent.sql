-- +goose NO TRANSACTION
-- +goose Up
-- The claim (placeholder) of every event: one row per tenant and key, kept for ever. This primary key is the verdict.
CREATE TABLE IF NOT EXISTS channel_idempotent (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    idempotent_key VARBINARY(191) NOT NULL CHECK (LENGTH(idempotent_key) BETWEEN 5 AND 191),
    event_type VARBINARY(64) NOT NULL,
    digest VARBINARY(80) NOT NULL,
    state SMALLINT NOT NULL CHECK (state BETWEEN 0 AND 3),
    owner VARBINARY(64) NOT NULL,
    fence BIGINT NOT NULL CHECK (fence > 0),
    lease_until_us BIGINT NOT NULL CHECK (lease_until_us >= 0),
    instance VARBINARY(64) NOT NULL,
    outcome VARBINARY(64) NOT NULL,
    created_us BIGINT NOT NULL,
    handled_us BIGINT NOT NULL CHECK (handled_us >= 0),
    PRIMARY KEY (tenant_id, idempotent_key)
) ENGINE=InnoDB;
