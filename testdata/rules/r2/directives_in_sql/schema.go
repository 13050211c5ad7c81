// Package schema has SQL with a directive without a reason, and with one that matches nothing.
package schema
