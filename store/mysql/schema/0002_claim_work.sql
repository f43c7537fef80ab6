-- +goose NO TRANSACTION
-- +goose Up
-- What is claimed and not finished, with the event to book. A row lives only as long as its claim is open.
CREATE TABLE IF NOT EXISTS claim_work (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    idempotent_key VARBINARY(191) NOT NULL CHECK (LENGTH(idempotent_key) BETWEEN 5 AND 191),
    channel VARBINARY(64) NOT NULL,
    order_no VARBINARY(64) NOT NULL,
    amount_minor BIGINT NOT NULL,
    currency VARBINARY(3) NOT NULL,
    due_us BIGINT NOT NULL,
    since_us BIGINT NOT NULL,
    attempts BIGINT NOT NULL CHECK (attempts >= 0),
    failures BIGINT NOT NULL CHECK (failures >= 0),
    reason VARBINARY(64) NOT NULL,
    detail VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    event MEDIUMBLOB NOT NULL,
    PRIMARY KEY (tenant_id, idempotent_key),
    KEY claim_work_due (tenant_id, due_us),
    KEY claim_work_next (due_us, tenant_id),
    KEY claim_work_order (tenant_id, order_no)
) ENGINE=InnoDB;
