package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// started is a meter as on a terminal, that writes to the builder.
func started(out *strings.Builder) *meter {
	m := &meter{out: out, quit: make(chan struct{}), gone: make(chan struct{})}
	go m.run()
	return m
}

func TestAShortRunShowsNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		m := started(&out)
		time.Sleep(patience - time.Millisecond)
		m.stop()
		if out.Len() > 0 {
			t.Errorf("got %q", out.String())
		}
	})
}

func TestALongRunShowsItsProgressInOneLineThatGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		m := started(&out)
		m.count()
		time.Sleep(patience)
		synctest.Wait()
		m.count()
		time.Sleep(period)
		synctest.Wait()
		m.stop()
		m.stop()
		want := eraseLine + "idemlint: 1 package analysed, 2s" + eraseLine + "idemlint: 2 packages analysed, 2s" + eraseLine
		if out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	})
}

func TestWhatIsSaidMeanwhileStandsAboveTheProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		m := started(&out)
		time.Sleep(patience)
		synctest.Wait()
		if _, err := m.Write([]byte("go: downloading x\n")); err != nil {
			t.Fatal(err)
		}
		m.stop()
		if want := eraseLine + "idemlint: 0 packages analysed, 2s" + eraseLine + "go: downloading x\n"; out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	})
}

func TestWithoutATerminalThereIsNoProgress(t *testing.T) {
	var out strings.Builder
	m := Command{Stderr: &out}.newMeter()
	defer m.stop()
	if m.quit != nil {
		t.Error("a meter runs")
	}
}
