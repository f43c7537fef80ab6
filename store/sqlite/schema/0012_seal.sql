-- +goose Up
-- The chain of digests over sealed bookings.
CREATE TABLE seal (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    seal_no INTEGER NOT NULL CHECK (seal_no > 0),
    bookings INTEGER NOT NULL CHECK (bookings > 0),
    digest TEXT NOT NULL,
    sealed_us INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, seal_no)
) WITHOUT ROWID;
