-- +goose Up
-- What is claimed and not finished, with the event to book. A row lives only as long as its claim is open.
CREATE TABLE claim_work (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    idempotent_key TEXT COLLATE "C" NOT NULL CHECK (octet_length(idempotent_key) BETWEEN 5 AND 191),
    channel TEXT COLLATE "C" NOT NULL,
    order_no TEXT COLLATE "C" NOT NULL,
    amount_minor BIGINT NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    due_us BIGINT NOT NULL,
    since_us BIGINT NOT NULL,
    attempts BIGINT NOT NULL CHECK (attempts >= 0),
    failures BIGINT NOT NULL CHECK (failures >= 0),
    reason TEXT COLLATE "C" NOT NULL,
    detail TEXT NOT NULL,
    event BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, idempotent_key)
);
CREATE INDEX claim_work_due ON claim_work (tenant_id, due_us);
CREATE INDEX claim_work_next ON claim_work (due_us, tenant_id);
CREATE INDEX claim_work_order ON claim_work (tenant_id, order_no);
