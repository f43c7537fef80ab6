-- +goose NO TRANSACTION
-- +goose Up
-- Which orders are still to be asked about at their channel, and since when. A row may outlive its order's end for a while.
CREATE TABLE IF NOT EXISTS order_query (
    tenant_id BIGINT NOT NULL CHECK (tenant_id > 0),
    order_no VARBINARY(64) NOT NULL,
    channel VARBINARY(64) NOT NULL,
    account VARBINARY(64) NOT NULL,
    due_us BIGINT NOT NULL,
    tries BIGINT NOT NULL CHECK (tries >= 0),
    asked_us BIGINT NOT NULL CHECK (asked_us >= 0),
    answer VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    PRIMARY KEY (tenant_id, order_no),
    KEY order_query_due (due_us, tenant_id, channel, account),
    KEY order_query_scope (tenant_id, channel, account, due_us)
) ENGINE=InnoDB;
