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
// # When something fails
//
// A failure that is no record's fault (the database, a connection, a mistake of the
// code such as a missing table) is tried again for ever, with backoff and alarms, the
// partition waiting and the others running. It skips nothing and dead-letters nothing.
//
// A record that is at fault is found by running the batch again in ever smaller
// transactions, so that the others are processed. What becomes of it depends on
// whether another attempt may help:
//
//   - It will not, for an undecodable record, one without an event id, a data error of
//     PostgreSQL (a constraint, a value out of range), a handler that swallowed its
//     statement's error, and ErrPermanent. It is a dead letter at once.
//   - It may, for a handler's own error, a panic, and ErrTransient. The handler is run
//     for it up to Config.MaxAttempts times in place, then as often again after the
//     delay of each of Config.RetryTopics, if there are any. Then it is a dead letter.
//
// Dead letters go to Config.DeadLetterTopic (or Config.DeadLetter), and to retry
// topics, before their offset moves: written with acks=all and awaited, or by the
// outbox (Config.DeadLetterOutbox). While that fails the partition waits, with
// AlarmDeadLetter, and goes on by itself. A crash after the write may write a record
// twice, never not at all. With no place for dead letters the partition stops in front
// of the record, with AlarmPartitionStopped.
//
// Replay brings dead letters back to their own group, by Config.ReplayTopic, through the
// same handler and the same marks: replayed twice they are processed once.
//
// A record whose event id is outside of the window is neither: it may be a repeat or
// not, nobody can tell, and no attempt will change that. It goes to the quarantine
// (Config.Quarantine, the table quarantined_event), in the batch's transaction, without
// its handler being run and however it came, from its own topic, a retry topic or a
// replay. Quarantined records are for a person to decide about; Replay does not bring
// them back. So that waiting does not push events out of the window, a configuration
// whose retries and dead letters may be older than Window.Retention does not start.
//
// # Events that a handler emits
//
// Emit leaves an event in the table outbox_message, in the handler's transaction, and a
// Relay (Config.Relay) publishes it: at least once, under an id that is made once,
// in order by topic and key. See Relay for why that order is right although serial
// numbers are not commit order.
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
// # Seeing it
//
// Config.Logger gets alarms at level ERROR, retries and quarantined records (one line
// each, with event id, topic, partition, offset, group and reason) at WARN, and what is
// of interest at INFO; work that goes well is not logged. At DEBUG, and nothing else is
// logged there, it gets a line for every duplicate that was skipped, "duplicate
// skipped", with event_id, topic, partition, offset, group, and processed_at where that
// is known: after a restart some hundred, and for a topic that is read again as many as
// it has events. While the logger is not enabled for DEBUG that costs nothing; else a
// batch with duplicates takes one more round trip.
//
// Config.MeterProvider, else OpenTelemetry's global one, gets these metrics. Names that
// begin with messaging are those of the semantic conventions 1.43
// (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-metrics/).
//
//	messaging.client.consumed.messages    records polled, repeats included
//	messaging.process.duration            s, one attempt at a batch; failed ones have error.type
//	messaging.client.operation.duration   s, one offset commit; failed ones have error.type
//	idemlint.records.completed            records, by idemlint.outcome: processed, duplicate,
//	                                      skipped, quarantined, dead_lettered,
//	                                      delayed (written to a retry topic)
//	idemlint.retries                      attempts failed by no record's fault, by error.type
//	idemlint.isolations                   batches run again in parts
//	idemlint.batch.size                   records in a batch
//	idemlint.commit.latency               s, from a record's poll to PostgreSQL's commit
//	idemlint.lag                          records, by partition
//	idemlint.oldest_uncommitted.age       s, by partition, of the records that were polled
//	idemlint.partitions                   assigned ones, by idemlint.state: running, paused,
//	                                      retrying, stopped
//	idemlint.alarms                       by idemlint.alarm.kind
//	idemlint.dedup.ahead                  s for which processed_event has partitions
//	idemlint.dedup.partitions             partitions of processed_event
//	idemlint.dedup.oldest_uncommitted.age s, of the whole group, as of the last upkeep
//	idemlint.outbox.unsent                messages not published yet, from the relay that leads
//	idemlint.outbox.oldest_unsent.age     s, of the first of them
//
// The share of duplicates is that of the outcome duplicate among duplicate and
// processed. All metrics have the group as an attribute, and those about records the
// topic; only lag and oldest_uncommitted.age also have the partition, and one series for
// each that this process holds.
//
// Config.TracerProvider, else the global one, gets a span "process <topic>" for every
// attempt at a batch, with links to the spans that the records' headers name, the
// attempt's error, and idemlint.batch.processed and idemlint.batch.duplicates. The
// handler's context carries it. Links are read for spans that are sampled.
//
// Health, Liveness and Readiness tell orchestrators how the consumer is: live unless a
// restart would help, ready while it can do its work.
//
// The README beside this file says which of these is worth an alert, and holds a
// dashboard.
//
// # Boundaries
//
// The package talks to PostgreSQL through pgx and to Kafka through franz-go and
// knows nothing of idemlint's analyzers.
package runtime
