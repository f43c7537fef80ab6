-- +goose NO TRANSACTION
-- +goose Up
-- Who took, parked or changed an unfinished claim, and when.
CREATE TABLE IF NOT EXISTS claim_history (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    idempotent_key VARBINARY(191) NOT NULL CHECK (LENGTH(idempotent_key) BETWEEN 5 AND 191),
    fence BIGINT NOT NULL,
    what VARBINARY(64) NOT NULL,
    at_us BIGINT NOT NULL,
    instance VARBINARY(64) NOT NULL,
    detail VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    PRIMARY KEY (tenant_id, idempotent_key, fence, what)
) ENGINE=InnoDB;
