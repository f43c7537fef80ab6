-- +goose Up
-- What a person did to an event, and why. Append-only.
CREATE TABLE operator_action (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    action_id TEXT NOT NULL,
    idempotent_key TEXT NOT NULL CHECK (typeof(idempotent_key) = 'text' AND octet_length(idempotent_key) BETWEEN 5 AND 191),
    what TEXT NOT NULL,
    actor TEXT NOT NULL,
    why TEXT NOT NULL,
    detail TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, action_id)
) WITHOUT ROWID;
CREATE INDEX operator_action_key ON operator_action (tenant_id, idempotent_key);
