-- +goose Up
-- Sums of sealed postings per account.
CREATE TABLE balance (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    account TEXT NOT NULL CHECK (typeof(account) = 'text' AND octet_length(account) BETWEEN 3 AND 191),
    currency TEXT NOT NULL CHECK (octet_length(currency) = 3),
    debit_minor INTEGER NOT NULL CHECK (debit_minor >= 0),
    credit_minor INTEGER NOT NULL CHECK (credit_minor >= 0),
    PRIMARY KEY (tenant_id, account, currency)
) WITHOUT ROWID;
