package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// What is a dead letter, by the names that topics, tables, functions and types have. See event.go and publish.go for those
// that are sent.

// buried reports whether a row that is added keeps a message that failed: what went wrong, for somebody to look at. It is
// the message's dead letter then, and no work of the handler.
func (w *walker) buried(ins *Instr, table string) bool {
	if w.dedupTable(table) {
		return false
	}
	named := deadLetterName(table)
	if !(w.st.failed && (named || namesFailure(table)) || named && w.buries()) {
		return false
	}
	w.event(&Event{Kind: EvDead, Pos: placeOf(ins)})
	return true
}

// namesFailure tells a name as failed_events or event_errors. It is a dead letter's only where something has failed: a
// topic of failed payments is business.
func namesFailure(s string) bool {
	for _, x := range know.Words(s) {
		switch x {
		case "failed", "failure", "failures", "error", "errors":
			return true
		}
	}
	return false
}

// buries reports whether a function on the way is named for taking care of dead letters.
func (w *walker) buries() bool {
	for fr, n := w.fr, 0; fr != nil && n < 3; fr, n = fr.up, n+1 {
		if _, name := splitType(fr.fn.Name); deadLetterName(name) {
			return true
		}
	}
	return false
}

// deadLetterType reports whether a type's name says dead letter.
func deadLetterType(s string) bool {
	for _, x := range know.Words(s) {
		switch x {
		case "retry", "retries", "retrier", "retrying":
			return false
		}
	}
	return deadLetterName(s)
}

// deadLetterName reports whether a topic's or function's name says dead letter or retry.
func deadLetterName(s string) bool {
	if s == "" {
		return false
	}
	f := strings.ReplaceAll(strings.ToLower(s), "deadline", "")
	for _, x := range [...]string{"dlq", "dead", "dlt", "quarantine", "poison", "parking"} {
		if strings.Contains(f, x) {
			return true
		}
	}
	for _, x := range know.Words(s) {
		if x == "retry" || x == "retries" {
			return true
		}
	}
	return false
}
