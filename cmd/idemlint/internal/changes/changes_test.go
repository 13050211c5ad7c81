package changes_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/changes"
)

// A repo is a fresh git repository.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T) repo {
	r := repo{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r repo) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// write writes lines into a file.
func (r repo) write(name string, lines ...string) {
	r.t.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r repo) commit() {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "x")
}

func (r repo) since(rev string) *changes.Lines {
	r.t.Helper()
	lines, err := changes.Since(r.t.Context(), r.dir, rev)
	if err != nil {
		r.t.Fatal(err)
	}
	return lines
}

// want checks which of a file's first ten lines are new.
func (r repo) want(lines *changes.Lines, name string, numbers ...int) {
	r.t.Helper()
	var got []int
	for n := 1; n <= 10; n++ {
		if lines.Has(filepath.Join(r.dir, filepath.FromSlash(name)), n) {
			got = append(got, n)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(numbers) {
		r.t.Errorf("%s: new lines %v, want %v", name, got, numbers)
	}
}

func all() []int { return []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10} }

func TestLinesOfCommitsOfTheIndexAndOfTheWorkTreeAreNew(t *testing.T) {
	r := newRepo(t)
	r.write("a.go", "1", "2", "3", "4", "5", "6")
	r.commit()
	r.write("a.go", "1", "zwei", "3", "4", "5", "6")
	r.commit()
	r.write("a.go", "1", "zwei", "3", "vier", "5", "6")
	r.git("add", "-A")
	r.write("a.go", "1", "zwei", "3", "vier", "5", "6", "7", "8")
	r.want(r.since("HEAD~1"), "a.go", 2, 4, 7, 8)
	r.want(r.since("HEAD"), "a.go", 4, 7, 8)
}

func TestAllLinesOfAFileThatGitDoesNotTrackAreNewUnlessItIsIgnored(t *testing.T) {
	r := newRepo(t)
	r.write(".gitignore", "ignored.go")
	r.commit()
	r.write("sub/new.go", "1")
	r.write("ignored.go", "1")
	r.write("added.go", "1", "2")
	r.git("add", "added.go")
	lines := r.since("HEAD")
	r.want(lines, "sub/new.go", all()...)
	r.want(lines, "ignored.go")
	r.want(lines, "added.go", 1, 2)
}

func TestDeletedLinesMakeNoOtherNew(t *testing.T) {
	r := newRepo(t)
	r.write("a.go", "1", "2", "3")
	r.write("b.go", "1")
	r.commit()
	r.write("a.go", "1", "3")
	r.git("rm", "-q", "b.go")
	r.want(r.since("HEAD"), "a.go")
	r.want(r.since("HEAD"), "b.go")
}

func TestAMovedFileHasOnlyItsChangesNew(t *testing.T) {
	r := newRepo(t)
	r.write("a.go", "one", "two", "three", "four", "five", "six", "seven", "eight")
	r.commit()
	r.git("mv", "a.go", "b.go")
	r.write("b.go", "one", "two", "three", "four", "five", "six", "sieben", "eight")
	r.want(r.since("HEAD"), "b.go", 7)
}

func TestOddNamesAndLinesThatLookLikeADiffAreRead(t *testing.T) {
	for _, name := range []string{"sp ace.go", "ü.go", `quo"te.go`, "tab\t.go", "a b/ä \\.go"} {
		r := newRepo(t)
		r.write(name, "1", "-- a/other.go", "++ b/other.go", "@@ -1 +1 @@", "5", "6", "7")
		r.write("z.go", "1", "2")
		r.commit()
		r.write(name, "1", "-- a/changed.go", "++ b/changed.go", "@@ -1 +7 @@", "5", "6", "sieben")
		r.write("z.go", "1", "zwei")
		r.want(r.since("HEAD"), name, 2, 3, 4, 7)
		r.want(r.since("HEAD"), "z.go", 2)
		r.want(r.since("HEAD"), "changed.go")
	}
}

func TestTheUsersOwnSettingsOfDiffDoNotMatter(t *testing.T) {
	r := newRepo(t)
	r.write("sub/a.go", "1", "2")
	r.commit()
	for _, kv := range [][2]string{{"diff.noprefix", "true"}, {"diff.mnemonicPrefix", "true"}, {"color.diff", "always"}, {"diff.external", "false"}, {"diff.relative", "true"}} {
		r.git("config", kv[0], kv[1])
	}
	r.write("sub/a.go", "1", "zwei")
	lines, err := changes.Since(t.Context(), filepath.Join(r.dir, "sub"), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	r.want(lines, "sub/a.go", 2)
}

func TestAFileIsFoundBehindASymbolicLink(t *testing.T) {
	r := newRepo(t)
	r.write("a.go", "1")
	r.commit()
	r.write("a.go", "eins")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(r.dir, link); err != nil {
		t.Fatal(err)
	}
	lines, err := changes.Since(t.Context(), link, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if !lines.Has(filepath.Join(link, "a.go"), 1) {
		t.Error("the changed line is not new")
	}
}

func TestOutsideOfGitIsAnErrorOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	if _, err := changes.Since(t.Context(), dir, "HEAD"); !errors.Is(err, changes.ErrNoRepository) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
}

func TestARevisionThatGitDoesNotKnowIsNamed(t *testing.T) {
	r := newRepo(t)
	r.write("a.go", "1")
	r.commit()
	for _, rev := range []string{"nowhere", "--output=x", "HEAD:a.go"} {
		if _, err := changes.Since(t.Context(), r.dir, rev); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", rev)) {
			t.Errorf("%s: got %v", rev, err)
		}
	}
	if _, err := os.Stat(filepath.Join(r.dir, "x")); err == nil {
		t.Error("a revision was taken for an option")
	}
}
