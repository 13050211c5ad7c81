package analyzers_test

import (
	"os/exec"
	"strings"
	"testing"
)

// notes are what -debug says of fixtures in the stand-alone command.
func notes(t *testing.T, patterns ...string) string {
	t.Helper()
	bin, err := idemlint()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, append([]string{"-json", "-debug"}, patterns...)...)
	cmd.Dir = fixtures
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.String())
	}
	return stderr.String()
}

func TestASmallServiceOfManyHandlersIsNotGivenUp(t *testing.T) {
	if got := notes(t, "./x1/many_handlers"); strings.Contains(got, "gave up") {
		t.Error(got)
	}
}

func TestAnInterfaceThatNothingImplementsIsNamedWithDebug(t *testing.T) {
	const want = "x1/ok_interface_without_implementation/clerk.go:22:13: nothing in sight implements " +
		"example.com/fixtures/x1/ok_interface_without_implementation.Archive.File"
	if got := notes(t, "./x1/ok_interface_without_implementation"); !strings.Contains(got, want) {
		t.Errorf("got:\n%s\nwant a line with:\n%s", got, want)
	}
}

func TestStrictCountsWritesThatLandOnTheSameState(t *testing.T) {
	bin, err := idemlint()
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []struct {
		name string
		args []string
	}{
		{"stand-alone", []string{bin, "-json", "-dedupcheck.strict", "./x1/ok_dump_in_recover"}},
		{"go vet", []string{"go", "vet", "-vettool=" + bin, "-json", "-dedupcheck.strict", "./x1/ok_dump_in_recover"}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			cmd := exec.Command(mode.args[0], mode.args[1:]...)
			cmd.Dir = fixtures
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(out), "R-KFK-IDEM-X1: keep does its work again"); n != 1 {
				t.Errorf("the upsert in ok_dump_in_recover is reported %d times, want once:\n%s", n, out)
			}
		})
	}
}
