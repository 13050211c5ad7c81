// Package payloadid reports event ids that travel only in a Kafka header.
//
// # Analyzer payloadid
//
// payloadid: an event id travels only in a Kafka header (R-KFK-IDEM-1)
//
// Headers are lost where payloads are not: a replay tool, a connector to another store, a mirror, a dead-letter topic
// may drop or rewrite them. An event that has its id in a header only cannot be recognised after that.
//
//	for _, h := range rec.Headers {
//		if h.Key == "event_id" {
//			id = string(h.Value)
//		}
//	}
//	tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, id)
//
// Take the id from the payload, and let producers put it there:
//
//	tag, err := tx.Exec(ctx, `INSERT INTO processed_event …`, evt.EventID)
//
// Reported are a consumer that takes its dedup key from a header (the UUID of a watermill message is one), where the
// header is named, and a producer that writes an event-id header while the payload's type has no field for an event id.
//
// It stays silent about headers read for tracing, routing or a schema version, about a header that repeats the id of the
// payload, about the ID of a CloudEvents SDK, and about payloads whose type is not seen.
package payloadid
