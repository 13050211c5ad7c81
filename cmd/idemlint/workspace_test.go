package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const ledgerCode = `package %[1]s

import (
	"context"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Ledger is a service that remembers what it was asked; nothing here shows that.
type Ledger interface {
	Note(ctx context.Context, id string) (bool, error)
}

type remote struct{}

func (remote) Note(_ context.Context, id string) (bool, error) {
	res, err := http.Get("http://ledger.local/" + id)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusNotFound, nil
}

type Desk struct {
	Pool   *pgxpool.Pool
	Ledger Ledger
}

func (d *Desk) Lend(ctx context.Context, rec *kgo.Record) error { // guarded by the ledger
	if first, err := d.Ledger.Note(ctx, string(rec.Key)); err != nil || !first {
		return err
	}
	_, err := d.Pool.Exec(ctx, "UPDATE shelf SET lent = lent + 1")
	return err
}

func (d *Desk) Shelve(ctx context.Context, rec *kgo.Record) error { // the same when repeated
	_, err := d.Pool.Exec(ctx, "INSERT INTO shelf (id, body) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body", rec.Key, rec.Value)
	return err
}

func (d *Desk) Refer(ctx context.Context, id string) error { // to a table of which a configuration says what it is
	_, err := d.Pool.Exec(ctx, "INSERT INTO loan_refs (event_id) VALUES ($1)", id)
	return err
}

func New(pool *pgxpool.Pool) *Desk { return &Desk{pool, remote{}} }
`

// wantInWorkspace asks for the same findings in every way of running, whichever directory it is run in.
func wantInWorkspace(t *testing.T, dir string, want ...string) {
	t.Helper()
	for _, wd := range []string{".", "shop"} {
		at := filepath.Join(dir, wd)
		alone := run(t, at, tool, "example.com/shop", "example.com/desk")
		if found := fromRoot(dir, at, reported(alone.stdout)); !slices.Equal(found, want) {
			t.Errorf("alone in %s: found %q, want %q; standard error:\n%s", wd, found, want, alone.stderr)
		}
		vet := run(t, at, "go", "vet", "-vettool="+tool, "example.com/shop", "example.com/desk")
		if found := fromRoot(dir, at, reported(vet.stderr)); !slices.Equal(found, want) {
			t.Errorf("go vet in %s: found %q, want %q in:\n%s", wd, found, want, vet.stderr)
		}
	}
}

// fromRoot names the files of findings from root, and not from the directory in which they were found.
func fromRoot(root, dir string, found []string) []string {
	for i, f := range found {
		if rel, err := filepath.Rel(root, filepath.Join(dir, f)); err == nil {
			found[i] = filepath.ToSlash(rel)
		}
	}
	slices.Sort(found)
	return found
}

func TestEachModuleOfAWorkspaceGoesByItsOwnConfigurationInEveryWayOfRunning(t *testing.T) {
	shopMod, sum := requirements(t, "example.com/shop")
	deskMod, _ := requirements(t, "example.com/desk")
	dir := library(t, map[string]string{
		"go.work":     "go 1.26.0\n\nuse (\n\t./shop\n\t./desk\n)\n",
		"shop/go.mod": shopMod, "shop/shop.go": fmt.Sprintf(ledgerCode, "shop"),
		"desk/go.mod": deskMod, "desk/desk.go": fmt.Sprintf(ledgerCode, "desk"),
	})
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("shop/go.sum", sum)
	write("desk/go.sum", sum)

	const lend, shelve, refer = ".go:32: R-KFK-IDEM-X1", ".go:40: R-KFK-IDEM-X1", ".go:46: R-KFK-IDEM-2"
	wantInWorkspace(t, dir, "desk/desk"+lend, "shop/shop"+lend)

	write("shop/.idemlint.yml", "guards: [example.com/shop.Ledger.Note]\ndedup-tables: [loan_refs]\n")
	wantInWorkspace(t, dir, "desk/desk"+lend, "shop/shop"+refer)

	write(".idemlint.yml", "strict: true\nguards: [example.com/shop.Ledger.Note, example.com/desk.Ledger.Note]\n")
	wantInWorkspace(t, dir, "desk/desk"+shelve, "shop/shop"+refer)

	write("desk/.idemlint.yml", "")
	wantInWorkspace(t, dir, "desk/desk"+lend, "shop/shop"+refer)

	write("shop/.idemlint.yml", "strict: true\n")
	wantInWorkspace(t, dir, "desk/desk"+lend, "shop/shop"+lend, "shop/shop"+shelve)
}
