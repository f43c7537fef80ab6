-- +goose Up
-- What a person did to an event, and why. Append-only.
CREATE TABLE operator_action (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    action_id TEXT COLLATE "C" NOT NULL,
    idempotent_key TEXT COLLATE "C" NOT NULL CHECK (octet_length(idempotent_key) BETWEEN 5 AND 191),
    what TEXT COLLATE "C" NOT NULL,
    actor TEXT NOT NULL,
    why TEXT NOT NULL,
    detail TEXT NOT NULL,
    at_us BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, action_id)
);
CREATE INDEX operator_action_key ON operator_action (tenant_id, idempotent_key);
