package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// write puts a file into a module.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// accepted is the shop with a baseline of its findings.
func accepted(t *testing.T) string {
	t.Helper()
	dir := module(t, shop)
	got := idemlint(t, dir, "-baseline", "known.json", "-baseline-update", "./...")
	wantStatus(t, got, 0)
	wantContains(t, "standard error", got.stderr, "4 findings in the baseline known.json")
	return dir
}

func TestWhatTheBaselineKnowsIsNotReportedWhereverItMoves(t *testing.T) {
	t.Parallel()
	dir := accepted(t)
	write(t, dir, "consumer/consumer.go", strings.Replace(read(t, dir, "consumer/consumer.go"), "type Consumer", "// Moved.\n\n\ntype Consumer", 1))
	got := idemlint(t, dir, "-baseline", "known.json", "./...")
	wantStatus(t, got, 0)
	if got.stdout+got.stderr != "" {
		t.Errorf("got %+v", got)
	}
}

func TestWhatTheBaselineDoesNotKnowIsReported(t *testing.T) {
	t.Parallel()
	dir := accepted(t)
	write(t, dir, "clean/clean.go", "package clean\n\nfunc BadNews() {}\n")
	got := idemlint(t, dir, "-baseline", "known.json", "./...")
	wantStatus(t, got, 1)
	wantContains(t, "standard error", got.stderr, "1 finding in 1 package; 4 more in the baseline")
	if !strings.Contains(got.stdout, "BadNews is bad") || strings.Contains(got.stdout, "BadHandler") {
		t.Errorf("standard output:\n%s", got.stdout)
	}
}

func TestWhatIsGoneFromTheCodeIsStaleInTheBaseline(t *testing.T) {
	t.Parallel()
	dir := accepted(t)
	write(t, dir, "consumer/consumer.go", "package consumer\n\nfunc BadHandler() {}\n")
	got := idemlint(t, dir, "-baseline", "known.json", "./...")
	wantStatus(t, got, 0)
	wantContains(t, "standard error", got.stderr,
		"stale in the baseline: R-KFK-IDEM-X1 in example.com/shop/consumer.BadAfterUmlaut: BadAfterUmlaut is bad (1)\n",
		"stale in the baseline: R-KFK-IDEM-X2 in example.com/shop/consumer.WorseKey: ", "-baseline-update")
	wantStatus(t, idemlint(t, dir, "-baseline", "known.json", "-baseline-update", "./..."), 0)
	if again := idemlint(t, dir, "-baseline", "known.json", "./..."); again.stderr != "" {
		t.Errorf("after the update:\n%s", again.stderr)
	}
}

func TestWhatWasNotLookedAtIsNotStale(t *testing.T) {
	t.Parallel()
	dir := accepted(t)
	for _, args := range [][]string{{"./clean"}, {"-rules", "X2", "./..."}} {
		if got := idemlint(t, dir, append([]string{"-baseline", "known.json"}, args...)...); got.status != 0 || got.stderr != "" {
			t.Errorf("%v: got %+v", args, got)
		}
	}
}

func TestAPackageThatIsGoneIsStale(t *testing.T) {
	t.Parallel()
	dir := accepted(t)
	for _, gone := range []string{"service", "wire"} {
		if err := os.RemoveAll(filepath.Join(dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	got := idemlint(t, dir, "-baseline", "known.json", "./clean")
	wantStatus(t, got, 0)
	wantContains(t, "standard error", got.stderr, "stale in the baseline: R-KFK-IDEM-X1 in example.com/shop/service.HalfConfirm")
	if strings.Contains(got.stderr, "shop/consumer") {
		t.Errorf("a package that was not named is stale:\n%s", got.stderr)
	}
}

func TestAnUpdateKeepsWhatWasNotNamed(t *testing.T) {
	t.Parallel()
	dir := accepted(t)
	before := read(t, dir, "known.json")
	wantStatus(t, idemlint(t, dir, "-baseline", "known.json", "-baseline-update", "./clean"), 0)
	if after := read(t, dir, "known.json"); after != before {
		t.Errorf("got\n%s\nwant\n%s", after, before)
	}
}

func TestABaselineIsNotUpdatedFromHalfARun(t *testing.T) {
	t.Parallel()
	dir := module(t, broken)
	got := idemlint(t, dir, "-baseline", "known.json", "-baseline-update", "./fine", "./typo")
	wantStatus(t, got, 2)
	wantContains(t, "standard error", got.stderr, "example.com/broken/typo does not build", "known.json stays as it is")
	if _, err := os.Stat(filepath.Join(dir, "known.json")); err == nil {
		t.Error("it is written")
	}
}

// committed is the shop in a git repository.
func committed(t *testing.T) string {
	t.Helper()
	dir := module(t, shop)
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

func TestOnlyFindingsOnNewLinesAreReportedSinceARevision(t *testing.T) {
	t.Parallel()
	dir := committed(t)
	wantStatus(t, idemlint(t, dir, "-new-from-rev", "HEAD", "./..."), 0)
	write(t, dir, "consumer/consumer.go", "// Moved.\n"+strings.Replace(read(t, dir, "consumer/consumer.go"), "func WorseKey() {}", "func WorseKey() { /* now */ }", 1))
	write(t, dir, "consumer/untracked.go", "package consumer\n\nfunc BadUntracked() {}\n")
	got := idemlint(t, dir, "-new-from-rev", "HEAD", "./...")
	wantStatus(t, got, 1)
	wantContains(t, "standard output", got.stdout, "WorseKey is worse", "BadUntracked is bad")
	wantContains(t, "standard error", got.stderr, "2 findings in 1 package")
}

func TestAFindingWithARelatedPlaceOnANewLineIsNew(t *testing.T) {
	t.Parallel()
	dir := committed(t)
	write(t, dir, "wire/wire.go", strings.Replace(read(t, dir, "wire/wire.go"), "{ service", "{ /* new */ service", 1))
	got := idemlint(t, dir, "-new-from-rev", "HEAD", "./...")
	wantStatus(t, got, 1)
	wantContains(t, "standard output", got.stdout, "service/service.go:3:7: R-KFK-IDEM-X1: HalfConfirm is whole")
	wantContains(t, "standard error", got.stderr, "1 finding in 1 package")
}

func TestWithoutGitTheWayOutIsSaid(t *testing.T) {
	t.Parallel()
	dir := module(t, shop)
	got := run(t, dir, environ("GIT_CEILING_DIRECTORIES="+filepath.Dir(dir)), self(t), "-new-from-rev", "HEAD", "./clean")
	wantStatus(t, got, 2)
	wantContains(t, "standard error", got.stderr, "no git repository around "+dir, "-baseline")
}

func TestAnUnknownRevisionIsNamed(t *testing.T) {
	t.Parallel()
	got := idemlint(t, committed(t), "-new-from-rev", "mian", "./clean")
	wantStatus(t, got, 2)
	wantContains(t, "standard error", got.stderr, `git knows no revision "mian"`, "shallow")
}
