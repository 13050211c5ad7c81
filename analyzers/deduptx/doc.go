// Package deduptx reports processed-event marks that do not share a transaction with the business write.
//
// # Analyzer deduptx
//
// deduptx: mark and business write are not in one transaction (R-KFK-IDEM-3)
//
// The mark says "this event is done". Where it can be committed without the write, a failure between the two loses the
// event: the next delivery finds the mark and does nothing. Where the write can be committed without the mark, the next
// delivery does it again.
//
//	tag, err := pool.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
//	if err != nil || tag.RowsAffected() == 0 {
//		return err
//	}
//	_, err = pool.Exec(ctx, `UPDATE accounts SET points = points + $2 WHERE id = $1`, evt.Customer, evt.Points)
//
// Do both in one transaction:
//
//	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		tag, err := tx.Exec(ctx, `INSERT INTO processed_event …`, evt.EventID)
//		if err != nil || tag.RowsAffected() == 0 {
//			return err
//		}
//		_, err = tx.Exec(ctx, `UPDATE accounts …`, evt.Customer, evt.Points)
//		return err
//	})
//
// A mark in Redis cannot join the transaction of a database. A mark whose error is dropped is reported, too: its failure
// looks like a duplicate, and the event is lost.
//
// It stays silent about marks that decide nothing (R-KFK-IDEM-X1 reports those), about effects that no transaction can
// hold, such as HTTP calls, and about handles of which it cannot be seen whether they are in a transaction.
package deduptx
