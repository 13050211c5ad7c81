package lint

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTheModuleIsSearchedButForOtherPeoplesFiles(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{
		"go.mod", "main.go", "db/migrations/0002.sql", "db/migrations/0001.sql", "tools/purge.go", "tools/purge_test.go",
		"testdata/seed.sql", "vendor/x/x.sql", "node_modules/y/y.sql", ".cache/z.sql", "_old/o.sql",
		"nested/go.mod", "nested/n.sql", "store/store.go", "store/schema.sql",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := module([]string{root, filepath.Join(root, "store")})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, got []string, want ...string) {
		t.Helper()
		for i := range want {
			want[i] = filepath.Join(root, filepath.FromSlash(want[i]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	check(".sql files", m.SQL, "db/migrations/0001.sql", "db/migrations/0002.sql", "store/schema.sql")
	check("Go files of no analysed package", m.Rest, "tools/purge.go")
}

func TestAModuleIsSearchedOnceForAllItsPackages(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"go.mod", "a/a.sql", "b/b.sql"} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := module([]string{filepath.Join(root, "a"), filepath.Join(root, "b")})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.SQL) != 2 {
		t.Errorf("got %q, want each file once", m.SQL)
	}
}
