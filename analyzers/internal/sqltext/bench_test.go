package sqltext_test

import (
	"strings"
	"testing"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

var benchmarks = map[string]string{
	"mark":   `INSERT INTO processed_event (event_id, consumer_group) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
	"update": `UPDATE orders SET status = 'shipped', shipped_at = $2 WHERE id = $1 AND status = 'packed' RETURNING id`,
	"cte": `WITH mark AS (INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id)
		INSERT INTO orders (id, event_id, cents) SELECT $2, event_id, $3::int FROM mark`,
	"table": `CREATE TABLE processed_events (event_id uuid NOT NULL, consumer_group text NOT NULL,
		processed_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (event_id, processed_at)) PARTITION BY RANGE (processed_at)`,
}

func BenchmarkParse(b *testing.B) {
	for name, sql := range benchmarks {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(sql)))
			for b.Loop() {
				sqltext.Parse(sql)
			}
		})
	}
}

func BenchmarkMayBeSQL(b *testing.B) {
	for name, text := range map[string]string{
		"sql": benchmarks["mark"], "prose": "failed to update the order: %w", "path": "github.com/jackc/pgx/v5/pgxpool",
		"comment": "-- name: MarkProcessed :execrows\n" + benchmarks["mark"],
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sqltext.MayBeSQL(text)
			}
		})
	}
}

// BenchmarkHostileText measures texts that would be slow if anything looked at them twice. The time per byte must not
// grow with the size.
func BenchmarkHostileText(b *testing.B) {
	for name, piece := range map[string]string{
		"brackets": "(", "selects": "(SELECT ", "comments": "/*", "tags": "$a$b$c$", "templates": "{{", "copies": "COPY t FROM stdin;",
		"arms": "SELECT 1 UNION ", "calls": "coalesce(", "conditions": "x=1 AND ", "quotes": "'",
	} {
		for size, n := range map[string]int{"10k": 10_000, "100k": 100_000} {
			text := "SELECT 1 WHERE " + strings.Repeat(piece, n/len(piece))
			b.Run(name+"/"+size, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					sqltext.Parse(text)
				}
			})
		}
	}
}
