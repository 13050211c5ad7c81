package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const billing = "../../runtime/examples/billing"

// check is what byHand asks before it does its work.
const check = `
		tag, err := tx.Exec(ctx, "INSERT INTO processed_event (event_id, consumer_group) VALUES ($1, 'billing-service') ON CONFLICT DO NOTHING", e.Payload.EventID)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
`

// byHand is the billing example's consumer as it would be without the runtime: with a check of its own.
const byHand = `package main

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
)

func (b *Billing) consumeByHand(ctx context.Context, client *kgo.Client, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, "DELETE FROM processed_event WHERE processed_at < now() - interval '7 days'"); err != nil {
		return err
	}
	for {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, r := range fetches.Records() {
			if err := b.onOrderConfirmed(ctx, pool, r); err != nil {
				return err
			}
		}
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
}

func (b *Billing) onOrderConfirmed(ctx context.Context, pool *pgxpool.Pool, r *kgo.Record) error {
	var e runtime.Event[OrderConfirmed]
	if err := json.Unmarshal(r.Value, &e.Payload); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {` + check + `		charge, err := b.charge(ctx, e, ChargeRequest{OrderID: e.Payload.OrderID, Cents: e.Payload.Cents})
		if err != nil {
			return err
		}
		return b.book(ctx, tx, e, charge)
	})
}
`

// TestTheBillingExampleIsCleanAndItsGuardsAreWhatKeepsItSo lints the example as a user's module would hold it, then
// its consumer written by hand, and then that without its check and without its keys.
func TestTheBillingExampleIsCleanAndItsGuardsAreWhatKeepsItSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		file, cut, paste string // the guard that is removed, and what is there then
		byHand           bool
		want             []string // rules, each at a function that is named
	}{
		{name: "as it is"},
		{name: "by hand", byHand: true},
		{name: "by hand without the check", byHand: true, file: "byhand.go",
			cut: check, paste: "\n", want: []string{"R-KFK-IDEM-X1: Billing.onOrderConfirmed"}},
		{name: "by hand without the keys", byHand: true, file: "main.go",
			cut: "&http.Client{Transport: &runtime.KeyTransport{}}", paste: "http.DefaultClient", want: []string{"R-KFK-IDEM-4: HTTP POST …/v1/charges"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := billingModule(t, c.byHand)
			if c.cut != "" {
				file := filepath.Join(dir, c.file)
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				changed := strings.Replace(string(data), c.cut, c.paste, 1)
				if changed == string(data) {
					t.Fatalf("%s no longer has %q", c.file, c.cut)
				}
				if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got := run(t, dir, tool, "./...")
			findings := strings.Count(got.stdout, ": R-KFK-IDEM-")
			if findings != len(c.want) || got.status != min(1, len(c.want)) {
				t.Errorf("exit status %d and %d findings, want %d:\n%s%s", got.status, findings, len(c.want), got.stdout, got.stderr)
			}
			for _, want := range c.want {
				if !strings.Contains(got.stdout, want) {
					t.Errorf("no finding %q in\n%s", want, got.stdout)
				}
			}
		})
	}
}

// billingModule copies the example into a module of its own: inside of the runtime's it would be taken for a part of
// the runtime.
func billingModule(t *testing.T, withByHand bool) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, requirements, _ := strings.Cut(string(mod), "\n")
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"go.mod": "module example.com/billing\n" + requirements +
			"\nrequire github.com/idemlint/idemlint v0.0.0\n\nreplace github.com/idemlint/idemlint => " + root + "\n",
		"go.sum": string(sum),
	}
	for _, name := range []string{"main.go", "demo.go"} {
		data, err := os.ReadFile(filepath.Join(billing, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	if withByHand {
		files["byhand.go"] = byHand
	}
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
