// Package schema has a function in the database that would remove old rows.
package schema
