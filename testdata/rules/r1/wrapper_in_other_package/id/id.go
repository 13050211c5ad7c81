// Package id makes ids.
package id

import "github.com/google/uuid"

// New makes an id.
func New() string { return uuid.NewString() }
