-- +goose NO TRANSACTION
-- +goose Up
-- Sums of sealed postings per account.
CREATE TABLE IF NOT EXISTS balance (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    account VARBINARY(191) NOT NULL CHECK (LENGTH(account) BETWEEN 3 AND 191),
    currency VARBINARY(3) NOT NULL CHECK (LENGTH(currency) = 3),
    debit_minor BIGINT NOT NULL CHECK (debit_minor >= 0),
    credit_minor BIGINT NOT NULL CHECK (credit_minor >= 0),
    PRIMARY KEY (tenant_id, account, currency)
) ENGINE=InnoDB;
