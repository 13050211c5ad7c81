package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const busCode = `package bus

import (
	"context"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
)

type Event struct{ ID, Body string }

type Bus struct {
	Client   *kgo.Client
	handlers map[string]func(context.Context, Event) error
}

func (b *Bus) Handle(topic string, h func(context.Context, Event) error) {
	if b.handlers == nil {
		b.handlers = make(map[string]func(context.Context, Event) error)
	}
	b.handlers[topic] = h
}

func (b *Bus) Run(ctx context.Context) error {
	for {
		fetches := b.Client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for rec := range fetches.RecordsAll() {
			var e Event
			if err := json.Unmarshal(rec.Value, &e); err != nil {
				continue
			}
			if err := b.handlers[rec.Topic](ctx, e); err != nil {
				return err
			}
		}
	}
}
`

const deskCode = `package desk

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"%s/bus"
)

type Desk struct{ Pool *pgxpool.Pool }

func (d *Desk) onLoan(ctx context.Context, e bus.Event) error {
	_, err := d.Pool.Exec(ctx, "INSERT INTO loans (body) VALUES ($1)", e.Body)
	return err
}

func Wire(b *bus.Bus, d *Desk) { b.Handle("loans", d.onLoan) }
`

// library writes a module or two that no run has seen: the go command has nothing in its cache about them.
func library(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	nonce := fmt.Sprintf("\n// %x\n", rand.Uint64())
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+nonce), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// requirements are the sample service's, under another module path.
func requirements(t *testing.T, path string) (mod, sum string) {
	t.Helper()
	m, err := os.ReadFile(filepath.Join(quickstart, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := os.ReadFile(filepath.Join(quickstart, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range m {
		if c == '\n' {
			return "module " + path + string(m[i:]), string(s)
		}
	}
	t.Fatal("the sample service's go.mod has one line")
	return "", ""
}

func TestWhatWasAnalysedAsADependencyFirstIsAnalysedAllTheSame(t *testing.T) {
	mod, sum := requirements(t, "example.com/library")
	dir := library(t, map[string]string{"go.mod": mod, "bus/bus.go": busCode, "desk/desk.go": fmt.Sprintf(deskCode, "example.com/library")})
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), []byte(sum), 0o644); err != nil {
		t.Fatal(err)
	}
	want := []string{"desk/desk.go:13: R-KFK-IDEM-X1"}
	for _, pattern := range []string{"./desk", "./..."} {
		if got := run(t, dir, tool, pattern); !slices.Equal(reported(got.stdout), want) {
			t.Errorf("%s: found %q, want %q; standard error:\n%s", pattern, reported(got.stdout), want, got.stderr)
		}
	}
}

func TestADependencyIsNotReportedWhenItWasNotAskedFor(t *testing.T) {
	mod, sum := requirements(t, "example.com/library")
	dir := library(t, map[string]string{"go.mod": mod, "bus/bus.go": busCode, "desk/desk.go": fmt.Sprintf(deskCode, "example.com/library")})
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), []byte(sum), 0o644); err != nil {
		t.Fatal(err)
	}
	const front = "package front\n\nimport (\n\t\"example.com/library/bus\"\n\t\"example.com/library/desk\"\n)\n\nfunc Main(b *bus.Bus, d *desk.Desk) { desk.Wire(b, d) }\n"
	if err := os.Mkdir(filepath.Join(dir, "front"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "front", "front.go"), []byte(front), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := run(t, dir, tool, "./front"); got.status != 0 {
		t.Errorf("exit status %d, want 0:\n%s%s", got.status, got.stdout, got.stderr)
	}
}

func TestAConsumerInAnotherModuleOfTheWorkspaceRunsTheHandlersOfThisOne(t *testing.T) {
	busMod, sum := requirements(t, "example.com/shared")
	deskMod, _ := requirements(t, "example.com/desk")
	dir := library(t, map[string]string{
		"go.work":       "go 1.26.0\n\nuse (\n\t./shared\n\t./desk\n)\n",
		"shared/go.mod": busMod, "shared/bus/bus.go": busCode,
		"desk/go.mod": deskMod, "desk/desk.go": fmt.Sprintf(deskCode, "example.com/shared"),
	})
	for _, m := range []string{"shared", "desk"} {
		if err := os.WriteFile(filepath.Join(dir, m, "go.sum"), []byte(sum), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"desk.go:13: R-KFK-IDEM-X1"}
	if got := run(t, filepath.Join(dir, "desk"), tool, "./..."); !slices.Equal(reported(got.stdout), want) {
		t.Errorf("found %q, want %q; standard error:\n%s", reported(got.stdout), want, got.stderr)
	}
}

const committingBus = `package bus

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

type Bus struct{ Client *kgo.Client }

func (b *Bus) Run(ctx context.Context, h func(context.Context, *kgo.Record) error) error {
	for {
		for rec := range b.Client.PollFetches(ctx).RecordsAll() {
			if err := b.Client.CommitRecords(ctx, rec); err != nil {
				return err
			}
			if err := h(ctx, rec); err != nil {
				return err
			}
		}
	}
}
`

const committedDesk = `package desk

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/shared/bus"
)

type Desk struct{ Pool *pgxpool.Pool }

func (d *Desk) onLoan(ctx context.Context, rec *kgo.Record) error {
	_, err := d.Pool.Exec(ctx, "INSERT INTO loans (id, body) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body", rec.Key, rec.Value)
	return err
}

func Serve(ctx context.Context, b *bus.Bus, d *Desk) error { return b.Run(ctx, d.onLoan) }
`

func TestASharedConsumersFaultIsReportedWithTheHandlerThatItIsAFaultFor(t *testing.T) {
	busMod, sum := requirements(t, "example.com/shared")
	deskMod, _ := requirements(t, "example.com/desk")
	dir := library(t, map[string]string{
		"go.work":       "go 1.26.0\n\nuse (\n\t./shared\n\t./desk\n)\n",
		"shared/go.mod": busMod, "shared/bus/bus.go": committingBus,
		"desk/go.mod": deskMod, "desk/desk.go": committedDesk,
	})
	for _, m := range []string{"shared", "desk"} {
		if err := os.WriteFile(filepath.Join(dir, m, "go.sum"), []byte(sum), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"../shared/bus/bus.go:14: R-KFK-IDEM-3"}
	if got := run(t, filepath.Join(dir, "desk"), tool, "./..."); !slices.Equal(reported(got.stdout), want) {
		t.Errorf("found %q, want %q; standard error:\n%s", reported(got.stdout), want, got.stderr)
	}
}

func TestSQLOutsideWhatWasNamedIsNotReported(t *testing.T) {
	mod, sum := requirements(t, "example.com/library")
	const table = "CREATE TABLE %s (event_id uuid, at timestamptz NOT NULL DEFAULT now());\n--"
	dir := library(t, map[string]string{"go.mod": mod, "bus/bus.go": busCode, "desk/desk.go": fmt.Sprintf(deskCode, "example.com/library"),
		"desk/schema.sql": fmt.Sprintf(table, "processed_events"), "shelf/schema.sql": fmt.Sprintf(table, "inbox_messages")})
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), []byte(sum), 0o644); err != nil {
		t.Fatal(err)
	}
	got := run(t, dir, tool, "./desk/...")
	want := []string{"desk/desk.go:13: R-KFK-IDEM-X1", "desk/schema.sql:1: R-KFK-IDEM-2"}
	if found := reported(got.stdout); !slices.Equal(found, want) {
		t.Errorf("found %q, want %q; standard error:\n%s", found, want, got.stderr)
	}
}
