-- +goose Up
-- What is claimed and not finished, with the event to book. A row lives only as long as its claim is open.
CREATE TABLE claim_work (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    idempotent_key TEXT NOT NULL CHECK (typeof(idempotent_key) = 'text' AND octet_length(idempotent_key) BETWEEN 5 AND 191),
    order_no TEXT NOT NULL CHECK (typeof(order_no) = 'text'),
    due_us INTEGER NOT NULL,
    attempts INTEGER NOT NULL CHECK (attempts >= 0),
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    event BLOB NOT NULL,
    PRIMARY KEY (tenant_id, idempotent_key)
) WITHOUT ROWID;
CREATE INDEX claim_work_due ON claim_work (tenant_id, due_us);
CREATE INDEX claim_work_order ON claim_work (tenant_id, order_no);
