-- +goose Up
-- What is claimed and not finished, with the event to book. A row lives only as long as its claim is open.
CREATE TABLE claim_work (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    idempotent_key TEXT NOT NULL CHECK (typeof(idempotent_key) = 'text' AND octet_length(idempotent_key) BETWEEN 5 AND 191),
    channel TEXT NOT NULL CHECK (typeof(channel) = 'text'),
    order_no TEXT NOT NULL CHECK (typeof(order_no) = 'text'),
    amount_minor INTEGER NOT NULL CHECK (typeof(amount_minor) = 'integer'),
    currency TEXT NOT NULL,
    due_us INTEGER NOT NULL,
    since_us INTEGER NOT NULL,
    attempts INTEGER NOT NULL CHECK (attempts >= 0),
    failures INTEGER NOT NULL CHECK (failures >= 0),
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    event BLOB NOT NULL,
    PRIMARY KEY (tenant_id, idempotent_key)
) WITHOUT ROWID;
CREATE INDEX claim_work_due ON claim_work (tenant_id, due_us);
CREATE INDEX claim_work_next ON claim_work (due_us, tenant_id);
CREATE INDEX claim_work_order ON claim_work (tenant_id, order_no);
