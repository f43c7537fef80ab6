-- +goose Up
-- Which booking lies under which seal, with its digest.
CREATE TABLE sealed_booking (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    booking_id TEXT NOT NULL,
    seal_no INTEGER NOT NULL CHECK (seal_no > 0),
    digest TEXT NOT NULL,
    PRIMARY KEY (tenant_id, booking_id)
) WITHOUT ROWID;
CREATE INDEX sealed_booking_seal ON sealed_booking (tenant_id, seal_no);
