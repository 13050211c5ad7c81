//go:build !unix

package testpg

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Postmaster is not known here.
func Postmaster(*pgxpool.Pool) int { return 0 }

// ProcessorTime is not known here.
func ProcessorTime(int) time.Duration { return 0 }
