// Package know holds what the analysis knows about other people's libraries: what each of them calls a message, a
// poll, an ack, a write, a transaction, an HTTP send, a UUID. It is data: rows and look-ups, no reasoning. A new
// client library is new rows here and a fixture. It may import nothing of this project.
package know
