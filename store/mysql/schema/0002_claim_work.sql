-- +goose NO TRANSACTION
-- +goose Up
-- What is claimed and not finished, with the event to book. A row lives only as long as its claim is open.
CREATE TABLE IF NOT EXISTS claim_work (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    idempotent_key VARBINARY(191) NOT NULL CHECK (LENGTH(idempotent_key) BETWEEN 5 AND 191),
    order_no VARBINARY(64) NOT NULL,
    due_us BIGINT NOT NULL,
    attempts BIGINT NOT NULL CHECK (attempts >= 0),
    reason VARBINARY(64) NOT NULL,
    detail VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    event MEDIUMBLOB NOT NULL,
    PRIMARY KEY (tenant_id, idempotent_key),
    KEY claim_work_due (tenant_id, due_us),
    KEY claim_work_order (tenant_id, order_no)
) ENGINE=InnoDB;
