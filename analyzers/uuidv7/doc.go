// Package uuidv7 reports event ids that are random UUIDs.
//
// # Analyzer uuidv7
//
// uuidv7: an event id is a random (v4) UUID (R-KFK-IDEM-1)
//
// Random ids scatter over the index of every consumer's dedup table: each insert touches another page. A version 7
// UUID begins with the time it was made, so inserts go to the end of the index, rows can be dropped by age, and events
// sort by time.
//
//	evt := OrderConfirmed{EventID: uuid.New()}
//
//	evt := OrderConfirmed{EventID: uuid.Must(uuid.NewV7())}
//
// It stays silent about ids of requests, traces, users, orders and other entities, about v6, ULID and name-based v5
// ids, and about the own id of an outbox row that no publisher in sight sends as the event's id.
package uuidv7
