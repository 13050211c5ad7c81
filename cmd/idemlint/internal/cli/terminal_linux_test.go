package cli_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal: what is written to its far end is read from the near one.
func terminal(t *testing.T) (near, far *os.File) {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	fd := int(near.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	far, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return near, far
}

// onTerminal is what the command prints on a terminal.
func onTerminal(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	near, far := terminal(t)
	cmd := exec.CommandContext(t.Context(), self(t), args...)
	cmd.Dir, cmd.Env = dir, append(environ(env...), "PWD="+dir)
	cmd.Stdout, cmd.Stderr = far, far
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	far.Close()
	out, err := io.ReadAll(near)
	if err != nil && !errors.Is(err, syscall.EIO) { // so does Linux end it
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out)
}

func TestTextIsColouredOnATerminalUnlessTheUserWantsNone(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		want bool
	}{
		{"as it is", []string{"TERM=xterm", "NO_COLOR="}, nil, true},
		{"with NO_COLOR", []string{"TERM=xterm", "NO_COLOR=1"}, nil, false},
		{"on one that is dumb", []string{"TERM=dumb", "NO_COLOR="}, nil, false},
		{"of another format", []string{"TERM=xterm", "NO_COLOR="}, []string{"-format", "github"}, false},
	} {
		out := onTerminal(t, dir, tt.env, append(tt.args, "./consumer")...)
		if !strings.Contains(out, "BadHandler is bad") {
			t.Fatalf("%s: the findings are missing: %q", tt.name, out)
		}
		if got := strings.Contains(out, "\x1b[1;31m"); got != tt.want {
			t.Errorf("%s: coloured: %t: %q", tt.name, got, out)
		}
	}
}

const cleanShop = `
-- go.mod --
module example.com/shop

go 1.26.0
-- shop.go --
package shop

func HandleOrder() {}
-- empty/empty.go --
package empty
`

func TestARunThatFindsNothingTellsAPersonWhatItLookedAt(t *testing.T) {
	t.Parallel()
	dir := module(t, cleanShop)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"./..."}, "idemlint: nothing found in 2 packages with 1 handler\r\n"},
		{[]string{"./empty"}, "idemlint: nothing found in 1 package with 0 handlers; where a client of your own brings the messages, " +
			"it is named in .idemlint.yml (idemlint init)\r\n"},
	} {
		if out := onTerminal(t, dir, nil, tt.args...); !strings.HasSuffix(out, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.args, out, tt.want)
		}
	}
	got := idemlint(t, dir, "./...")
	wantStatus(t, got, 0)
	if got.stdout+got.stderr != "" {
		t.Errorf("where nobody looks it prints %q and %q", got.stdout, got.stderr)
	}
}
