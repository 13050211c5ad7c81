// Package cursors keeps a row per group beside the marks: a table that holds no event's id is no dedup table.
package cursors

import _ "embed"

//go:embed schema.sql
var Schema string
