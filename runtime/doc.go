// Package runtime is a Kafka consumer on franz-go, pgx and PostgreSQL that does
// its work once for every event, however often the event is delivered.
//
//	consumer, err := runtime.New(pool, runtime.Config{
//		Brokers: []string{"localhost:9092"},
//		Group:   "billing-service",
//	})
//	runtime.Handle(consumer, "order-service.order.confirmed",
//		func(ctx context.Context, tx pgx.Tx, e runtime.Event[OrderConfirmed]) error {
//			return runtime.Queue(ctx, tx, `INSERT INTO invoice …`, e.ID, e.Payload.OrderID)
//		})
//	err = consumer.Run(ctx)
//
// # How it works
//
// Records are taken in batches, a batch from one partition. In one transaction
// the runtime marks the batch's event ids in the table processed_event, learns
// from that which of them are new, and runs the handler for these; marks and
// effects commit together. Only then does the partition's watermark move, and
// behind it the committed offset. A crash, a rebalance or a lost answer at any
// point leads to the same records being delivered again, and the marks to their
// being skipped.
//
// The marks are kept for a window of time (Window). An event whose id does not
// say that it is inside the window is not processed but kept in a quarantine,
// since nobody could tell whether it was processed before.
//
// Only the runtime commits the batch's transaction. PostgreSQL itself refuses a
// commit that a handler sends by whatever way, and a batch whose transaction was
// rolled back and replaced is noticed; both end in an alarm, and nothing is kept.
//
// A record that is at fault is found by running the batch again in ever smaller
// transactions, and goes to Config.DeadLetter or stops its partition. A failure that
// is no record's fault (the database, a connection, a mistake of the code) is tried
// again for ever, with alarms, and skips nothing.
//
// # What holds, and what does not
//
// What a handler writes through its pgx.Tx happens once. What it does by any
// other way (another connection, an HTTP call, another broker) happens at least
// once: a batch may be tried several times.
//
// Events of one key are applied in the order of their offsets, as far as the
// producer keeps a key in one partition.
//
// Durability is PostgreSQL's: a failover to a replica that lacks confirmed
// commits loses effects whose offsets are committed.
//
// # Boundaries
//
// The package talks to PostgreSQL through pgx and to Kafka through franz-go and
// knows nothing of idemlint's analyzers.
package runtime
