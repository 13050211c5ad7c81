// Package compare measures package runtime against what a Go service uses instead when it does not write its own
// consumer: Watermill with its Kafka subscriber. All run in one process on the same broker and database, and do the
// same work: an event's mark and a row for it, in one transaction.
//
// Watermill is given what a careful engineer would give it. Its own deduplicator lives in memory and forgets with the
// process, so the mark is in PostgreSQL; failures go through its Retry middleware; a topic's partitions are worked on
// side by side. There are two of it: the handler that one writes first, with a statement for the mark and one for the
// work between begin and commit, and one that does all in a single statement, which is as few round trips as an event
// by itself can have, but needs work that is a single INSERT. Watermill hands out one message of a partition at a time
// and waits for its acknowledgement, so there is no batch.
//
// It is a module of its own, so that nobody who uses package runtime carries what it depends on.
package compare
