// Package schema carries a table that is emptied by hand, as its comment says.
package schema
