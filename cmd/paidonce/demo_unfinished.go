package main

import (
	"context"
	"errors"
	"fmt"
)

// sqlUnfinished lists claims that are open although their order is there, those whose turn comes first at the top.
const sqlUnfinished = `SELECT w.tenant_id, w.idempotent_key, w.reason, w.detail, w.attempts, w.due_us, c.lease_until_us
 FROM claim_work w JOIN channel_idempotent c ON c.tenant_id = w.tenant_id AND c.idempotent_key = w.idempotent_key
 JOIN channel_order o ON o.tenant_id = w.tenant_id AND o.order_no = w.order_no ORDER BY w.due_us LIMIT 40`

// unfinished names what a failed proof counts as lost and the database still holds. A count alone does not tell an
// event that nobody drives on from one whose next try is minutes away, and the folder is gone when the demo ends.
func (d *demo) unfinished(ctx context.Context) (list []error) {
	rows, err := d.store.Pools().Read.QueryContext(ctx, sqlUnfinished)
	if err != nil {
		return []error{fmt.Errorf("the unfinished events cannot be listed: %w", err)}
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var tenant, attempts, dueUs, leaseUs int64
		var key, reason, detail string
		if err := rows.Scan(&tenant, &key, &reason, &detail, &attempts, &dueUs, &leaseUs); err != nil {
			return append(list, fmt.Errorf("the unfinished events cannot be read: %w", err))
		}
		list = append(list, fmt.Errorf("open: tenant %d %s %q %q, attempt %d, next try %s, lease until %s", tenant, key,
			reason, detail, attempts, clockTime(dueUs), clockTime(leaseUs)))
	}
	if err := rows.Err(); err != nil {
		list = append(list, err)
	}
	return append(list, errors.New("now "+clockTime(d.app.Clock().UnixMicro())))
}
