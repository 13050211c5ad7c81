// Package schema adds the key in a later step, and pg_partman drops what is old.
package schema

const create = `CREATE TABLE processed_lift_events (
	id       bigserial,
	event_id uuid NOT NULL,
	seen_on  date NOT NULL
)`

const unique = `ALTER TABLE processed_lift_events ADD CONSTRAINT lift_once UNIQUE (event_id)`

// Steps are run in order.
var Steps = []string{create, unique}
