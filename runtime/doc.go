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
// # Money
//
// A call to a payment provider is not rolled back with the transaction. HandleCall
// makes it in two: an intent is committed, the call is made outside of any
// transaction, and its result is committed with the mark. What a crash leaves in
// between is gone on with when the record is delivered again:
//
//	crash after                  what is there            what happens next
//	nothing                      nothing                  from the beginning
//	the intent is committed      the intent               the call, with its key
//	the provider moved money     the intent               the call, with the same key and
//	                                                      request; the provider answers as before
//	the result is committed      mark and result          the record is a duplicate
//
// The key is a UUID v5 of event id, group and step (IdempotencyKey), set by a
// KeyTransport or the interceptors of package grpcidem. These refuse a mutating call
// that belongs to no event, and one of two that would share a key. A provider
// forgets keys; what is delivered later than Config.KeyLifetime goes to the quarantine
// for a person and is not paid again.
//
// A call that a handler of Handle makes inside of its transaction needs the same key.
// It then moves money once, too, but holds a connection and the marks of its batch
// while the provider thinks, and knows its age only from the event's id.
//
// What rests on the provider: that it takes the key, keeps it for as long as it says,
// and answers a repeated key with the first answer. A provider without keys is asked
// before each call whether it was made, by whatever reference it keeps; no client can
// make such a call exactly once.
//
// # What holds, and what does not
//
// What a handler writes through its pgx.Tx happens once. What it does by any
// other way (another connection, an HTTP call, another broker) happens at least
// once: a batch may be tried several times. A call with an idempotency key happens
// once as far as its provider keeps the key.
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
