// Package check holds the test of the dashboard and the alerting rules beside it: a consumer does its work on
// PostgreSQL and a fake broker, its metrics go through OpenTelemetry's Prometheus exporter, and every metric, label and
// label value that the dashboard and the rules ask for must be among what comes out. It is a module of its own, so that
// nobody who uses package runtime carries what it depends on.
package check
