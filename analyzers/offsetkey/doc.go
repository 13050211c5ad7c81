// Package offsetkey reports offsets that end in the key by which repeats are told.
//
// # Analyzer offsetkey
//
// offsetkey: a dedup key is made of the offset (R-KFK-IDEM-X2)
//
// An offset is a position in a log, not the identity of an event: a producer's retry, a mirrored or recreated topic, a
// replay from a dead-letter topic bring the same event under another offset, and a new consumer group sees the old
// ones again. A key made of it lets the repeat through, or takes another event for a repeat.
//
//	key := fmt.Sprintf("%s-%d-%d", msg.Topic, msg.Partition, msg.Offset)
//
// Use the id that the producer put into the payload:
//
//	key := evt.EventID
//
// It stays silent about committing, seeking, lag, logs and metrics, and about an offset recorded beside the event's
// id for audit.
package offsetkey
