-- +goose Up
-- Which orders are still to be asked about at their channel, and since when. A row may outlive its order's end for a while.
CREATE TABLE order_query (
    tenant_id INTEGER NOT NULL CHECK (tenant_id > 0),
    order_no TEXT NOT NULL CHECK (typeof(order_no) = 'text'),
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    due_us INTEGER NOT NULL,
    tries INTEGER NOT NULL CHECK (tries >= 0),
    asked_us INTEGER NOT NULL CHECK (asked_us >= 0),
    answer TEXT NOT NULL,
    PRIMARY KEY (tenant_id, order_no)
) WITHOUT ROWID;
CREATE INDEX order_query_due ON order_query (due_us, tenant_id, channel, account);
CREATE INDEX order_query_scope ON order_query (tenant_id, channel, account, due_us);
