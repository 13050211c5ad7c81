package runtimetest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/runtimetest"
)

// bank moves money once for each key.
type bank struct {
	mu    sync.Mutex
	moved map[string]string // payment by key
}

func (b *bank) move(key uuid.UUID, p payment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.moved[key.String()] = fmt.Sprintf("%s %d", p.Account, p.Amount)
}

func (b *bank) statement() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []string
	for _, line := range b.moved {
		lines = append(lines, line)
	}
	return lines
}

// transfers is a service that moves money between two transactions, with keys by key.
func transfers(key func(context.Context) (uuid.UUID, error)) runtimetest.Service {
	b := &bank{}
	return runtimetest.Service{
		Setup: func(ctx context.Context, pool *pgxpool.Pool) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.moved = make(map[string]string)
			return tables(ctx, pool)
		},
		Records: payments(30),
		Outside: b.statement,
		Register: func(c *runtime.Consumer, _ *pgxpool.Pool) {
			runtime.HandleCall(c, topic, runtime.Call[payment, payment, struct{}]{
				Step:    "transfer",
				Timeout: 100 * time.Millisecond,
				Intent: func(_ context.Context, _ pgx.Tx, e runtime.Event[payment]) (payment, error) {
					return e.Payload, nil
				},
				Do: func(ctx context.Context, _ runtime.Event[payment], p payment) (struct{}, error) {
					k, err := key(ctx)
					if err == nil {
						b.move(k, p)
					}
					return struct{}{}, err
				},
				Result: func(ctx context.Context, tx pgx.Tx, e runtime.Event[payment], _ struct{}) error {
					return book(ctx, tx, e.Payload)
				},
			})
		},
	}
}

func TestACallWithItsEventsKeyIsIdempotent(t *testing.T) {
	t.Parallel()
	runtimetest.AssertIdempotent(t, transfers(func(ctx context.Context) (uuid.UUID, error) {
		return runtime.IdempotencyKey(ctx, "transfer")
	}))
}

func TestACallWithAKeyOfItsAttemptIsFound(t *testing.T) {
	t.Parallel()
	j := &judgement{TB: t}
	runtimetest.AssertIdempotent(j, transfers(func(context.Context) (uuid.UUID, error) { return uuid.New(), nil }))
	// On a busy machine a call is also made again when its lease has run out, whatever else happened.
	if text := j.text(); !strings.Contains(text, "a crash at step AfterCall") {
		t.Errorf("it says\n%s\nwant it to find the crash after the call", text)
	}
}
