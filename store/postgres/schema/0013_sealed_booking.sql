-- +goose Up
-- Which booking lies under which seal, with its digest.
CREATE TABLE sealed_booking (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    booking_id TEXT COLLATE "C" NOT NULL,
    seal_no BIGINT NOT NULL CHECK (seal_no > 0),
    digest TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, booking_id)
);
CREATE INDEX sealed_booking_seal ON sealed_booking (tenant_id, seal_no);
