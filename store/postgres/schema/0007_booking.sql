-- +goose Up
-- One row per booked event: the fence on the money, independent of the claim. Append-only.
CREATE TABLE booking (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    cause TEXT COLLATE "C" NOT NULL CHECK (octet_length(cause) BETWEEN 5 AND 191),
    booking_id TEXT COLLATE "C" NOT NULL,
    chain TEXT COLLATE "C" NOT NULL,
    order_no TEXT COLLATE "C" NOT NULL,
    booked_us BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, cause),
    UNIQUE (tenant_id, booking_id)
);
CREATE INDEX booking_order ON booking (tenant_id, order_no);
