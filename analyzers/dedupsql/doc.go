// Package dedupsql reports SQL on the dedup table that cannot tell a repeat.
//
// # Analyzer dedupsql
//
// dedupsql: the dedup table's SQL cannot deduplicate, or the table only grows (R-KFK-IDEM-2)
//
// A mark tells a repeat only if the database does: the event's id has a unique key, the INSERT leaves a row alone that
// is there, and its number of rows decides. Looking first and inserting later does not do: two consumers that look at
// the same time both find nothing.
//
//	tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1)`, evt.EventID)
//
//	tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
//	if err != nil || tag.RowsAffected() == 0 {
//		return err
//	}
//
// The table needs a primary or unique key on the event's id, without a column that differs on every try (a
// processed_at that is now() keeps the key from ever conflicting, also where the table is partitioned by it), no
// default that makes ids up, and something that removes old rows. The last is reported by the stand-alone command,
// which sees the whole module and its .sql files.
//
// It stays silent about an INSERT whose unique violation is handled outside a transaction or in a savepoint, about
// tables that hold payloads or a status (their rows go when the work is done), and about outboxes.
package dedupsql
