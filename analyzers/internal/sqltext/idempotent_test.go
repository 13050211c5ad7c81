package sqltext_test

import (
	"testing"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// repetition is what a statement does when it is executed twice.
type repetition struct {
	sql        string
	idempotent bool
	guarded    bool
}

func checkRepetition(t *testing.T, cases []repetition) {
	t.Helper()
	for _, c := range cases {
		sts := sqltext.Parse(c.sql)
		if len(sts) != 1 || sts[0].Kind == sqltext.Unknown {
			t.Errorf("%s\n\tnot recognised: %v", c.sql, sts)
			continue
		}
		st := sts[0]
		if ok, why := st.Idempotent(); ok != c.idempotent || why == "" {
			t.Errorf("%s\n\tIdempotent() = %v (%s), want %v", c.sql, ok, why, c.idempotent)
		}
		if got := st.StateGuarded(); got != c.guarded {
			t.Errorf("%s\n\tStateGuarded() = %v, want %v", c.sql, got, c.guarded)
		}
	}
}

func TestAnInsertRepeatsOnlyWithAKeyThatStopsIt(t *testing.T) {
	checkRepetition(t, []repetition{
		{sql: `INSERT INTO invoices (id, cents) VALUES ($1, $2)`},
		{sql: `INSERT INTO invoices VALUES (DEFAULT, $1)`},
		{sql: `INSERT INTO t DEFAULT VALUES`},
		{sql: `INSERT INTO donor_calls (donor_id) SELECT id FROM donors WHERE region = $1`},
		{sql: `INSERT INTO e (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, idempotent: true},
		{sql: `INSERT INTO e (event_id) VALUES ($1) ON CONFLICT (event_id) DO NOTHING RETURNING event_id`, idempotent: true},
		{sql: `INSERT INTO e (event_id) VALUES ($1) ON CONFLICT ON CONSTRAINT e_pkey DO NOTHING`, idempotent: true},
		{sql: "INSERT IGNORE INTO `e` (`event_id`) VALUES (?)", idempotent: true},
		{sql: `INSERT OR IGNORE INTO e (event_id) VALUES (?)`, idempotent: true},
		{sql: `INSERT OR REPLACE INTO e (event_id) VALUES (?)`, idempotent: true},
		{sql: `REPLACE INTO e (event_id) VALUES (?)`, idempotent: true},
		{sql: `REPLACE INTO e (id, event_id) VALUES (UUID(), ?)`},
		{sql: `INSERT INTO e (event_id) SELECT unnest($1::uuid[]) ON CONFLICT DO NOTHING`, idempotent: true},
		{sql: `INSERT INTO e (id, order_id) VALUES (gen_random_uuid(), $1) ON CONFLICT (order_id) DO NOTHING`, idempotent: true},
		{sql: `INSERT INTO e (id, order_id) VALUES (gen_random_uuid(), $1) ON CONFLICT (id) DO NOTHING`},
		{sql: `INSERT INTO e (id, order_id) VALUES (DEFAULT, $1) ON CONFLICT (id) DO NOTHING`},
		{sql: `INSERT INTO e (id, order_id) VALUES (gen_random_uuid(), $1) ON CONFLICT DO NOTHING`},
		{sql: `INSERT INTO e (event_id, processed_at) VALUES ($1, now()) ON CONFLICT (event_id, processed_at) DO NOTHING`},
		{sql: `INSERT INTO e (event_id, processed_at) VALUES ($1, now()) ON CONFLICT (event_id) DO NOTHING`, idempotent: true},
		{sql: `INSERT INTO e (event_id) VALUES ($1) ON CONFLICT ` + "\x00"},
		{sql: `INSERT INTO e (a) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM e WHERE a = $1)`, idempotent: true},
		{sql: `INSERT INTO e (a) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM other WHERE a = $1)`},
	})
}

func TestAnUpsertRepeatsWhenItSetsAbsoluteValues(t *testing.T) {
	checkRepetition(t, []repetition{
		{sql: `INSERT INTO p (sku, cents) VALUES ($1, $2) ON CONFLICT (sku) DO UPDATE SET cents = EXCLUDED.cents`, idempotent: true},
		{sql: `INSERT INTO p (sku, cents) VALUES ($1, $2) ON CONFLICT (sku) DO UPDATE SET cents = EXCLUDED.cents, updated_at = now()`, idempotent: true},
		{sql: `INSERT INTO p (sku, cents) VALUES ($1, $2) ON CONFLICT (sku) DO UPDATE SET cents = $2, state = 'new'`, idempotent: true},
		{sql: `INSERT INTO p AS t (sku, n) VALUES ($1, $2) ON CONFLICT (sku) DO UPDATE SET n = t.n + EXCLUDED.n`},
		{sql: `INSERT INTO p (sku, n) VALUES ($1, 1) ON CONFLICT (sku) DO UPDATE SET n = p.n + 1`},
		{sql: `INSERT INTO p (sku, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = VALUES(n)`, idempotent: true},
		{sql: `INSERT INTO p (sku, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = n + VALUES(n)`},
		{sql: `INSERT INTO p (sku, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE sku = sku`, idempotent: true},
		{sql: `INSERT INTO p (sku, n) VALUES (?, ?) AS new ON DUPLICATE KEY UPDATE n = new.n`, idempotent: true},
		{sql: `INSERT INTO p (sku, v) VALUES ($1, $2) ON CONFLICT (sku) DO UPDATE SET v = GREATEST(p.v, EXCLUDED.v)`, idempotent: true},
		{sql: `INSERT INTO p (sku, n, v) VALUES ($1, $2, $3) ON CONFLICT (sku) DO UPDATE SET n = p.n + EXCLUDED.n, v = EXCLUDED.v WHERE p.v < EXCLUDED.v`, idempotent: true, guarded: true},
		{sql: `INSERT INTO p (sku, token) VALUES ($1, gen_random_uuid()) ON CONFLICT (sku) DO UPDATE SET token = EXCLUDED.token`},
	})
}

func TestAnUpdateRepeatsWhenItSetsAbsoluteValuesOrLeavesTheStateItNames(t *testing.T) {
	checkRepetition(t, []repetition{
		{sql: `UPDATE machines SET order_id = $2 WHERE id = $1`, idempotent: true},
		{sql: `UPDATE machines SET order_id = $2, changed_at = now() WHERE id = $1`, idempotent: true},
		{sql: `UPDATE stock SET n = n + 1 WHERE sku = $1`},
		{sql: `UPDATE stock SET on_hand = on_hand - $2, changed_at = now() WHERE sku = $1`},
		{sql: `UPDATE stock s SET n = s.n + 1 WHERE s.sku = $1`},
		{sql: `UPDATE orders SET status = 'shipped', shipped_at = $2 WHERE id = $1 AND status = 'packed'`, idempotent: true, guarded: true},
		{sql: `UPDATE orders SET n = n + 1, status = 'shipped' WHERE id = $1 AND status = 'packed'`, idempotent: true, guarded: true},
		{sql: `UPDATE orders SET n = n + 1, status = 'packed' WHERE id = $1 AND status = 'packed'`},
		{sql: `UPDATE orders SET n = n + 1, status = $2 WHERE id = $1 AND status = 'packed'`},
		{sql: `UPDATE contracts SET signed_at = $2 WHERE id = $1 AND signed_at IS NULL`, idempotent: true, guarded: true},
		{sql: `UPDATE products SET name = $2 WHERE sku = $1 AND name <> $2`, idempotent: true, guarded: true},
		{sql: `UPDATE products SET name = $2 WHERE sku = $1 AND name IS DISTINCT FROM $2`, idempotent: true, guarded: true},
		{sql: `UPDATE jobs SET done = true, n = n + 1 WHERE id = $1 AND NOT done`, idempotent: true, guarded: true},
		{sql: `UPDATE jobs SET done = true, n = n + 1 WHERE id = $1 AND done = false`, idempotent: true, guarded: true},
		{sql: `UPDATE jobs SET state = 'done', n = n + 1 WHERE id = $1 AND state IN ('new', 'running')`, idempotent: true, guarded: true},
		{sql: `UPDATE jobs SET state = 'done', n = n + 1 WHERE id = $1 AND state IN ('new', 'done')`},
		{sql: `UPDATE jobs SET state = 'done', n = n + 1 WHERE id = $1 AND state NOT IN ('failed', 'done')`, idempotent: true, guarded: true},
		{sql: `UPDATE jobs SET state = 'done', n = n + 1 WHERE id = $1 AND (state = 'new' OR state = 'running')`, idempotent: true, guarded: true},
		{sql: `UPDATE jobs SET state = 'done', n = n + 1 WHERE id = $1 AND (state = 'new' OR owner = $2)`},
		{sql: `UPDATE jobs SET state = 'done', n = n + 1 WHERE id = $1 OR state = 'new'`},
		{sql: `UPDATE jobs SET state = 'done', n = n + 1 WHERE id = $1 AND state = ANY(ARRAY['new', 'running'])`, idempotent: true, guarded: true},
		{sql: `UPDATE jobs SET state = 'done', n = n + 1 WHERE id = $1 AND state = ANY(ARRAY['new', 'done']::text[])`},
		{sql: `UPDATE t SET v = $2, n = n + 1 WHERE id = $1 AND v < $2`, idempotent: true, guarded: true},
		{sql: `UPDATE t SET version = version + 1, n = n + $2 WHERE id = $1 AND version = $3`},
		{sql: `UPDATE t SET name = COALESCE($2, name) WHERE id = $1`, idempotent: true},
		{sql: `UPDATE t SET v = GREATEST(v, $2) WHERE id = $1`, idempotent: true},
		{sql: `UPDATE t SET v = COALESCE(v, 0) + 1 WHERE id = $1`},
		{sql: `UPDATE t SET v = CASE WHEN $2::boolean THEN $3 ELSE v END WHERE id = $1`, idempotent: true},
		{sql: `UPDATE t SET v = CASE WHEN v = 'open' THEN 'closed' ELSE v END WHERE id = $1`, idempotent: true},
		{sql: `UPDATE t SET v = CASE WHEN v = 'a' THEN 'b' WHEN v = 'b' THEN 'c' ELSE v END WHERE id = $1`},
		{sql: `UPDATE t SET a = b, b = a WHERE id = $1`},
		{sql: `UPDATE t SET a = b WHERE id = $1`, idempotent: true},
		{sql: `UPDATE t SET token = gen_random_uuid() WHERE id = $1`},
		{sql: `UPDATE t SET total = (SELECT sum(x) FROM items WHERE t = $1) WHERE id = $1`},
		{sql: `UPDATE m SET order_id = $1 WHERE id = (SELECT id FROM m WHERE order_id IS NULL LIMIT 1)`},
		{sql: `UPDATE m SET order_id = ? WHERE order_id IS NULL LIMIT 1`},
		{sql: `UPDATE t SET ` + "\x00" + ` WHERE id = $1`},
		{sql: `UPDATE t SET n = %s WHERE id = %d`},
		{sql: `UPDATE t SET n = %d WHERE id = '%s'`, idempotent: true},
		{sql: `UPDATE t SET (a, b) = ($1, $2) WHERE id = $3`, idempotent: true},
		{sql: `UPDATE t SET (a, b) = (a + 1, $2) WHERE id = $3`},
		{sql: "UPDATE t SET a = $1 \x00 WHERE id = $2"},
		{sql: `UPDATE t SET meta = jsonb_set(meta, '{state}', $2) WHERE id = $1`, idempotent: true},
		{sql: `UPDATE t SET meta = jsonb_set(jsonb_set(meta, '{a}', $2), '{b,c}', '1') WHERE id = $1`, idempotent: true},
		{sql: `UPDATE t SET meta = jsonb_set(meta, '{list,7}', $2) WHERE id = $1`},
		{sql: `UPDATE t SET meta = jsonb_set(meta, '{n}', (meta->>'n')::int + 1) WHERE id = $1`},
		{sql: `UPDATE t SET tags = array_remove(tags, $2) WHERE id = $1`, idempotent: true},
		{sql: `UPDATE t SET tags = array_append(tags, $2) WHERE id = $1`},
		{sql: `UPDATE t SET meta = meta || $2::jsonb WHERE id = $1`},
	})
}

func TestAMergeRepeatsLikeAnUpsert(t *testing.T) {
	const head = `MERGE INTO stock s USING (VALUES ($1, $2)) v (sku, n) ON s.sku = v.sku `
	checkRepetition(t, []repetition{
		{sql: head + `WHEN MATCHED THEN UPDATE SET n = $2 WHEN NOT MATCHED THEN INSERT (sku, n) VALUES ($1, $2)`, idempotent: true},
		{sql: head + `WHEN MATCHED AND v.n > 0 THEN UPDATE SET n = s.n + v.n WHEN NOT MATCHED THEN INSERT (sku, n) VALUES ($1, $2)`},
		{sql: head + `WHEN MATCHED THEN DELETE`, idempotent: true},
	})
}

func TestAFreshArgumentIsNoRepetition(t *testing.T) {
	fresh := sqltext.Assumption{Fresh: sqltext.Arg(2)}
	for _, c := range []repetition{
		{sql: `INSERT INTO e (event_id, id) VALUES ($1, $2) ON CONFLICT (event_id) DO NOTHING`, idempotent: true},
		{sql: `INSERT INTO e (event_id, id) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`},
		{sql: `INSERT INTO e (event_id, id) VALUES ($1, $2) ON CONFLICT DO NOTHING`},
		{sql: `INSERT INTO e (event_id, at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, idempotent: true},
		{sql: `INSERT INTO e (event_id, id) VALUES ($1, $2) ON CONFLICT (event_id) DO UPDATE SET id = EXCLUDED.id`},
		{sql: `UPDATE e SET token = $2 WHERE id = $1`},
		{sql: `UPDATE e SET seen_at = $2 WHERE id = $1`, idempotent: true},
		{sql: `UPDATE e SET n = n + 1, seen_at = $2 WHERE id = $1 AND seen_at < $2`},
		{sql: `UPDATE e SET n = n + 1, seen_at = $2 WHERE id = $1 AND seen_at IS NULL`, idempotent: true, guarded: true},
	} {
		st := sqltext.Parse(c.sql)[0]
		if ok, why := st.IdempotentIf(fresh); ok != c.idempotent {
			t.Errorf("%s\n\tIdempotentIf() = %v (%s)", c.sql, ok, why)
		}
		if ok := st.StateGuardedIf(fresh); ok != c.guarded {
			t.Errorf("%s\n\tStateGuardedIf() = %v", c.sql, ok)
		}
	}
}

func TestKnownArgumentsTellStatesApart(t *testing.T) {
	known := sqltext.Assumption{Value: func(p sqltext.Param) (sqltext.Literal, bool) {
		text := map[int]string{2: "packed", 3: "shipped", 4: "packed"}[p.Ordinal]
		return sqltext.Literal{Kind: sqltext.StringLiteral, Value: text}, text != ""
	}}
	for _, c := range []repetition{
		{sql: `UPDATE p SET state = $3 WHERE id = $1 AND state = $2`, guarded: true},
		{sql: `UPDATE p SET state = $4 WHERE id = $1 AND state = $2`},
		{sql: `UPDATE p SET state = $5 WHERE id = $1 AND state = $2`},
		{sql: `UPDATE p SET state = 'shipped' WHERE id = $1 AND state IN ($2, $4)`, guarded: true},
	} {
		if ok := sqltext.Parse(c.sql)[0].StateGuardedIf(known); ok != c.guarded {
			t.Errorf("%s\n\tStateGuardedIf() = %v", c.sql, ok)
		}
	}
}

func TestAKnownArrayTellsStatesApart(t *testing.T) {
	known := sqltext.Assumption{List: func(p sqltext.Param) ([]sqltext.Literal, bool) {
		var out []sqltext.Literal
		for _, text := range map[int][]string{2: {"packed", "weighed"}, 3: {"packed", "shipped"}}[p.Ordinal] {
			out = append(out, sqltext.Literal{Kind: sqltext.StringLiteral, Value: text})
		}
		return out, out != nil
	}}
	for _, c := range []repetition{
		{sql: `UPDATE p SET state = 'shipped' WHERE id = $1 AND state = ANY($2)`, guarded: true},
		{sql: `UPDATE p SET state = 'shipped' WHERE id = $1 AND state = ANY($2::text[])`, guarded: true},
		{sql: `UPDATE p SET state = 'shipped' WHERE id = $1 AND state = ANY($3)`},
		{sql: `UPDATE p SET state = 'shipped' WHERE id = $1 AND state = ANY($4)`},
		{sql: `UPDATE p SET state = 'shipped' WHERE id = $1 AND state <> ALL($3)`, guarded: true},
		{sql: `UPDATE p SET state = 'shipped' WHERE id = $1 AND state <> ALL($2)`},
	} {
		if ok := sqltext.Parse(c.sql)[0].StateGuardedIf(known); ok != c.guarded {
			t.Errorf("%s\n\tStateGuardedIf() = %v", c.sql, ok)
		}
	}
}

func TestAnUpsertMeetsNoRowAgainWhenItTakesOnlyWhatIsNewer(t *testing.T) {
	const head = `INSERT INTO rates AS r (pair, version, rate, state) VALUES ($1, $2, $3, 'open') ON CONFLICT (pair) DO UPDATE `
	checkRepetition(t, []repetition{
		{sql: head + `SET version = EXCLUDED.version, rate = EXCLUDED.rate WHERE r.version < EXCLUDED.version`, idempotent: true, guarded: true},
		{sql: head + `SET version = $2, n = r.n + 1 WHERE r.version < $2`, idempotent: true, guarded: true},
		{sql: head + `SET version = EXCLUDED.version, n = r.n + 1 WHERE r.version <= EXCLUDED.version`},
		{sql: head + `SET rate = EXCLUDED.rate WHERE r.rate IS DISTINCT FROM EXCLUDED.rate`, idempotent: true, guarded: true},
		{sql: head + `SET rate = EXCLUDED.rate WHERE r.version < EXCLUDED.version`, idempotent: true},
		{sql: head + `SET state = 'closed', version = $2 WHERE r.state = 'open'`, idempotent: true},
		{sql: `INSERT INTO rates AS r (id, version) VALUES (gen_random_uuid(), $1) ON CONFLICT (id)
			DO UPDATE SET version = EXCLUDED.version WHERE r.version < EXCLUDED.version`},
		{sql: `INSERT INTO rates AS r (pair, seen) VALUES ($1, now()) ON CONFLICT (pair)
			DO UPDATE SET seen = EXCLUDED.seen WHERE r.seen < EXCLUDED.seen`, idempotent: true},
	})
}

func TestADeleteRepeatsUnlessItTakesOtherRowsEachTime(t *testing.T) {
	checkRepetition(t, []repetition{
		{sql: `DELETE FROM t WHERE id = $1`, idempotent: true, guarded: true},
		{sql: `DELETE FROM t WHERE id = ANY($1)`, idempotent: true, guarded: true},
		{sql: `DELETE FROM t WHERE processed_at < $1`, idempotent: true},
		{sql: `DELETE FROM processed_event WHERE processed_at < ? LIMIT 10000`, idempotent: true},
		{sql: `DELETE FROM q WHERE id = (SELECT id FROM q ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING body`},
	})
}

func TestACommonTableExpressionThatMarksGatesTheStatementThatReadsIt(t *testing.T) {
	checkRepetition(t, []repetition{
		{sql: `WITH mark AS (INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id)
			INSERT INTO orders (id, event_id) SELECT $2, event_id FROM mark`, idempotent: true},
		{sql: `WITH mark AS (INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id)
			UPDATE stock SET n = n - $2 FROM mark WHERE sku = $3`, idempotent: true},
		{sql: `WITH mark AS (INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id)
			UPDATE stock SET n = n - $2 WHERE sku = $3 AND EXISTS (SELECT 1 FROM mark)`, idempotent: true},
		{sql: `WITH mark AS (INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id)
			UPDATE stock SET n = n - $2 WHERE sku = $3`},
		{sql: `WITH mark AS (INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT (event_id) DO UPDATE SET n = 1 RETURNING event_id)
			INSERT INTO orders (id) SELECT $2 FROM mark`},
		{sql: `WITH mark AS (INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id)
			INSERT INTO orders (id) SELECT $2 FROM x LEFT JOIN mark ON true`},
		{sql: `WITH mark AS (INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id)
			INSERT INTO orders (n) SELECT count(*) FROM mark`},
		{sql: `WITH mark AS (INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id)
			UPDATE stock SET n = n - 1 WHERE event IN (SELECT event_id FROM mark)`, idempotent: true},
		{sql: `WITH mark AS (INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id)
			UPDATE stock SET n = n - 1 WHERE event NOT IN (SELECT event_id FROM mark)`},
		{sql: `WITH mark AS (INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING)
			UPDATE stock SET n = n - 1 FROM mark`},
		{sql: `WITH mark AS (something else) UPDATE t SET a = $1 WHERE id = $2`},
		{sql: `WITH gone AS (DELETE FROM q WHERE id = $1 RETURNING body) INSERT INTO log (body) SELECT body FROM gone`, idempotent: true},
		{sql: `WITH mark AS (INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id),
			booked AS (INSERT INTO bookings (id) SELECT event_id FROM mark RETURNING id) SELECT count(*) FROM booked`, idempotent: true},
	})
}
