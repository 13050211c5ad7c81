// Package dedupcheck reports Kafka handlers that do their work again when a message is delivered again.
//
// # Analyzer dedupcheck
//
// dedupcheck: a handler reaches an effect with no processed-event check before it (R-KFK-IDEM-X1)
//
// Kafka delivers at least once: a rebalance, a crash between the work and the commit, a replay of the dead letters
// bring a message again. A handler from which an effect (a database write, an HTTP call, a produced message, a mail) is
// reached on a path with no check of the event's id does that effect again.
//
//	func (c *Consumer) Handle(ctx context.Context, rec *kgo.Record) error {
//		var evt OrderPlaced
//		if err := json.Unmarshal(rec.Value, &evt); err != nil {
//			return err
//		}
//		_, err := c.pool.Exec(ctx, `UPDATE accounts SET points = points + $2 WHERE id = $1`, evt.Customer, evt.Points)
//		return err
//	}
//
// Insert the event's id into a table with a unique key first, in the transaction of the work, and stop when no row
// was inserted:
//
//	tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
//	if err != nil || tag.RowsAffected() == 0 {
//		return err
//	}
//
// It stays silent about handlers whose effects land on the same state when repeated (an upsert of absolute values, a
// DELETE by key, an UPDATE that names the state it leaves), about writing dead letters, and about what it cannot see.
package dedupcheck
