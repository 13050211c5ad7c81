// Package pgerr tells the errors of PostgreSQL whatever the driver.
package pgerr

import "errors"

// Duplicate reports whether an error is a unique violation.
func Duplicate(err error) bool {
	var state interface{ SQLState() string }
	return errors.As(err, &state) && state.SQLState() == "23505"
}
