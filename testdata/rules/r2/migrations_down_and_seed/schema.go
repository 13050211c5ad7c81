// Package schema carries migrations with both directions, seed rows and a copy of an older table.
package schema
