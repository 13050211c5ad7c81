// Package crash tells where a panic came from, so that a user sees one line that can be reported, and no trace.
package crash

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Error makes an error of what recover returned. It is for the deferred function itself, whose stack still holds the
// frames of the panic: the error names the file and line that panicked.
func Error(recovered any) error {
	return fmt.Errorf("internal error: %v (%s)", recovered, site())
}

func site() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	panicked := false
	for {
		frame, more := frames.Next()
		inRuntime := strings.HasPrefix(frame.Function, "runtime.")
		if panicked && !inRuntime {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
		panicked = panicked || inRuntime && strings.Contains(frame.Function, "panic")
		if !more {
			return "unknown place"
		}
	}
}
