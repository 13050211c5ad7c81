package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// Of a run that is over before patience nothing is said; then the line is drawn anew in each period.
const (
	patience = 2 * time.Second
	period   = 250 * time.Millisecond
)

// eraseLine goes to the line's begin and empties it.
const eraseLine = "\r\x1b[K"

// A meter says on a terminal how far a long run is, in one line that is gone when the run is over. What is written
// through it stands above that line. It is nowhere but on a terminal.
type meter struct {
	out  io.Writer
	quit chan struct{}
	gone chan struct{}

	mu    sync.Mutex
	done  int  // packages
	drawn bool // the line is there
}

// newMeter starts a meter on standard error; it must be stopped.
func (c Command) newMeter() *meter {
	m := &meter{out: c.Stderr}
	if isTerminal(c.Stderr) && c.getenv("TERM") != "dumb" {
		m.quit, m.gone = make(chan struct{}), make(chan struct{})
		go m.run()
	}
	return m
}

func (m *meter) run() {
	defer close(m.gone)
	start := time.Now()
	next := time.NewTimer(patience)
	defer next.Stop()
	for {
		select {
		case <-m.quit:
			m.erase()
			return
		case <-next.C:
			m.draw(time.Since(start))
			next.Reset(period)
		}
	}
}

func (m *meter) draw(since time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drawn = true
	fmt.Fprintf(m.out, "%s%s: %s analysed, %s", eraseLine, rules.Analyzer, count(m.done, "package"), since.Truncate(time.Second))
}

func (m *meter) erase() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear()
}

// clear empties the line, if it is there; mu is held.
func (m *meter) clear() {
	if m.drawn {
		m.drawn = false
		io.WriteString(m.out, eraseLine)
	}
}

// Write writes above the line.
func (m *meter) Write(data []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear()
	return m.out.Write(data)
}

// count notes one more package.
func (m *meter) count() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
}

// stop takes the line away for good. It may be called again.
func (m *meter) stop() {
	if m.quit != nil {
		close(m.quit)
		<-m.gone
		m.quit = nil
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (c Command) getenv(key string) string {
	if c.Getenv == nil {
		return ""
	}
	return c.Getenv(key)
}
