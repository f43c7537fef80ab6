-- +goose NO TRANSACTION
-- +goose Up
-- Raw deliveries as evidence. May be archived once their claim is finished; no verdict rests on it. The event is kept where it deviates from the claimed one.
CREATE TABLE IF NOT EXISTS channel_delivery (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    idempotent_key VARBINARY(191) NOT NULL CHECK (LENGTH(idempotent_key) BETWEEN 5 AND 191),
    delivery_id VARBINARY(26) NOT NULL,
    received_us BIGINT NOT NULL,
    source VARBINARY(64) NOT NULL,
    verdict VARBINARY(64) NOT NULL,
    digest VARBINARY(80) NOT NULL,
    instance VARBINARY(64) NOT NULL,
    header MEDIUMBLOB NOT NULL,
    body MEDIUMBLOB NOT NULL,
    event MEDIUMBLOB NOT NULL,
    PRIMARY KEY (tenant_id, idempotent_key, delivery_id)
) ENGINE=InnoDB;
