-- +goose NO TRANSACTION
-- +goose Up
-- What a person did to an event, and why. Append-only.
CREATE TABLE IF NOT EXISTS operator_action (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    action_id VARBINARY(26) NOT NULL,
    idempotent_key VARBINARY(191) NOT NULL CHECK (LENGTH(idempotent_key) BETWEEN 5 AND 191),
    what VARBINARY(64) NOT NULL,
    actor VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    why VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    detail VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    at_us BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, action_id),
    KEY operator_action_key (tenant_id, idempotent_key)
) ENGINE=InnoDB;
