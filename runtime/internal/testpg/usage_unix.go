//go:build unix

package testpg

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Postmaster is the process id of a pool's server if it runs on this machine, else zero.
func Postmaster(pool *pgxpool.Pool) int {
	var text string
	if err := pool.QueryRow(context.Background(), `SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)`).Scan(&text); err != nil {
		return 0
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return pid
}

// ProcessorTime is the processor time that this process has used, and a server and its
// children, where the machine tells. A benchmark compares by it what other work on the
// machine does not change. A server of zero is none.
func ProcessorTime(postmaster int) time.Duration {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return 0
	}
	total := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	if postmaster == 0 {
		return total
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		// Fields from the third on, after the name in parentheses (proc(5)).
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		const parent, user, system, childrensUser, childrensSystem = 1, 11, 12, 13, 14
		if ppid, _ := strconv.Atoi(fields[parent]); pid != postmaster && ppid != postmaster {
			continue
		}
		for _, field := range []int{user, system, childrensUser, childrensSystem} {
			ticks, _ := strconv.Atoi(fields[field])
			total += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return total
}
