package sqltext_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// source is a file of a module.
type source struct{ file, text string }

func schemaOf(sources ...source) *sqltext.Schema {
	s := new(sqltext.Schema)
	for _, src := range sources {
		s.Add(src.file, src.text)
	}
	return s
}

func migrations(texts ...string) *sqltext.Schema {
	s := new(sqltext.Schema)
	for i, text := range texts {
		s.Add(fmt.Sprintf("migrations/%04d.sql", i+1), text)
	}
	return s
}

func TestATableIsPutTogetherFromSeveralMigrations(t *testing.T) {
	s := migrations(
		`CREATE TABLE parts (id bigserial PRIMARY KEY, event_id uuid NOT NULL, old text UNIQUE, note text);`,
		`ALTER TABLE parts DROP CONSTRAINT parts_pkey, ADD CONSTRAINT parts_ux UNIQUE (event_id), ADD COLUMN consumer text NOT NULL;
		 ALTER TABLE parts DROP COLUMN old; ALTER TABLE parts RENAME COLUMN event_id TO message_id;
		 ALTER TABLE parts ALTER COLUMN consumer SET DEFAULT 'billing';`,
		`CREATE UNIQUE INDEX CONCURRENTLY ux_part ON parts (message_id, consumer) WHERE note IS NULL; CREATE INDEX ix ON parts (note);`,
		`ALTER TABLE parts RENAME TO inbox_parts`,
	)
	ts := s.Tables()
	if len(ts) != 1 || ts[0].Name.Name != "inbox_parts" || len(ts[0].Definitions) != 1 {
		t.Fatalf("tables: %+v", ts)
	}
	d := ts[0].Definitions[0]
	var got []string
	for _, c := range d.Columns {
		got = append(got, c.Name)
	}
	for _, k := range d.Keys {
		got = append(got, key(k))
	}
	want := "id message_id note consumer|key parts_ux(message_id)|partial key ux_part(message_id, consumer)"
	if s := strings.Join(got[:4], " ") + "|" + strings.Join(got[4:], "|"); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
	if c := d.Columns[3]; !c.HasDefault || c.Default.Literal.Value != "billing" {
		t.Errorf("the default set later is %+v", c)
	}
	if d.File != "migrations/0001.sql" || d.Line != 1 || d.Offset != 0 {
		t.Errorf("the definition is at %+v", d.Position)
	}
}

func TestAChangeThatComesBeforeItsTableIsMadeAllTheSame(t *testing.T) {
	s := schemaOf(
		source{"migrations/10_key.sql", `ALTER TABLE inbox ADD PRIMARY KEY (event_id)`},
		source{"migrations/2_inbox.sql", "\nCREATE TABLE inbox (event_id uuid)"},
	)
	if p := s.Tables()[0].KeyProblems(); len(p) != 0 {
		t.Errorf("problems: %+v", p)
	}
}

func TestADroppedTableIsNone(t *testing.T) {
	s := migrations(`CREATE TABLE inbox (event_id uuid)`, `DROP TABLE inbox`)
	if ts := s.Tables(); len(ts) != 0 {
		t.Errorf("tables: %+v", ts)
	}
	s = migrations(`CREATE TABLE inbox (event_id uuid)`, `DROP TABLE IF EXISTS inbox; CREATE TABLE inbox (event_id uuid PRIMARY KEY)`)
	if ts := s.Tables(); len(ts) != 1 || len(ts[0].KeyProblems()) != 0 {
		t.Errorf("tables: %+v", ts)
	}
}

func TestADropInGoCodeOrAnotherFolderLeavesTheTable(t *testing.T) {
	s := schemaOf(
		source{"migrations/1.sql", `CREATE TABLE inbox (event_id uuid)`},
		source{"reset.go", `DROP TABLE inbox`}, source{"scripts/reset.sql", `DROP TABLE inbox`},
	)
	if len(s.Tables()) != 1 {
		t.Error("the table is gone")
	}
}

func TestWhatAMigrationTakesBackIsNoSchema(t *testing.T) {
	for _, s := range []*sqltext.Schema{
		schemaOf(source{"1.sql", "-- +goose Up\nCREATE TABLE inbox (event_id uuid PRIMARY KEY);\n-- +goose Down\nDROP TABLE inbox;\n"}),
		schemaOf(source{"1.sql", "-- +migrate Up\nCREATE TABLE inbox (event_id uuid PRIMARY KEY);\n-- +migrate Down\nDROP TABLE inbox;\n"}),
		schemaOf(source{"1.sql", "-- migrate:up\nCREATE TABLE inbox (event_id uuid PRIMARY KEY);\n-- migrate:down\nDROP TABLE inbox;\n"}),
		schemaOf(source{"1.up.sql", "CREATE TABLE inbox (event_id uuid PRIMARY KEY);"}, source{"1.down.sql", "DROP TABLE inbox;"}),
		schemaOf(source{"V1__inbox.sql", "CREATE TABLE inbox (event_id uuid PRIMARY KEY);"}, source{"U1__inbox.sql", "DROP TABLE inbox;"}),
		schemaOf(source{"1.sql", "-- +goose Down\nDROP TABLE inbox;\n-- +goose Up\nCREATE TABLE inbox (event_id uuid PRIMARY KEY);\n"}),
	} {
		if ts := s.Tables(); len(ts) != 1 || len(ts[0].KeyProblems()) != 0 {
			t.Errorf("tables: %+v", ts)
		}
	}
}

func TestAPartitionIsPartOfItsParent(t *testing.T) {
	s := migrations(
		`CREATE TABLE consumed_events (event_id uuid, at timestamptz, PRIMARY KEY (event_id, at)) PARTITION BY RANGE (at);
		 CREATE TABLE consumed_events_1 PARTITION OF consumed_events DEFAULT;
		 CREATE TABLE consumed_events_2 (LIKE consumed_events INCLUDING ALL);
		 ALTER TABLE consumed_events ATTACH PARTITION consumed_events_2 FOR VALUES FROM ('a') TO ('b');`)
	ts := s.Tables()
	if len(ts) != 1 || ts[0].Name.Name != "consumed_events" {
		t.Fatalf("tables: %+v", ts)
	}
	if got := s.Partitions(ts[0].Name); len(got) != 2 || got[0] != "consumed_events_1" || got[1] != "consumed_events_2" {
		t.Errorf("partitions: %v", got)
	}
	if d := ts[0].Definitions[0]; d.PartitionBy != "range" || len(d.PartitionColumns) != 1 || d.PartitionColumns[0] != "at" {
		t.Errorf("partitioned by %s %v", d.PartitionBy, d.PartitionColumns)
	}
}

// faults are the problems of the table named first, as fault:column.
func faults(s *sqltext.Schema, eventID ...string) string {
	names := [...]string{"", "no key", "key varies", "random default"}
	var out []string
	for _, p := range s.Tables()[0].KeyProblems(eventID...) {
		f := names[p.Fault] + ": " + p.Column
		if p.Given {
			f += " given"
		}
		out = append(out, f)
	}
	return strings.Join(out, ", ")
}

func TestAKeyMustBeOnTheEventsIDAndRepeat(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{`CREATE TABLE processed_event (event_id uuid PRIMARY KEY, processed_at timestamptz NOT NULL DEFAULT now())`, ""},
		{`CREATE TABLE processed_event (event_id uuid, consumer text, PRIMARY KEY (event_id, consumer))`, ""},
		{`CREATE TABLE processed_event (id bigserial PRIMARY KEY, event_id uuid UNIQUE)`, ""},
		{`CREATE TABLE processed_event (id bigserial PRIMARY KEY, event_id uuid NOT NULL)`, "no key: event_id"},
		{`CREATE TABLE processed_event (event_id uuid); CREATE UNIQUE INDEX ON processed_event (event_id)`, ""},
		{`CREATE TABLE processed_event (event_id uuid); CREATE INDEX ON processed_event (event_id)`, "no key: event_id"},
		{`CREATE TABLE processed_event (event_id uuid); CREATE UNIQUE INDEX ON processed_event (lower(event_id))`, ""},
		{`CREATE TABLE processed_event (event_id uuid, at timestamptz DEFAULT now(), PRIMARY KEY (event_id, at))`, "key varies: at"},
		{`CREATE TABLE processed_event (event_id uuid, at timestamptz NOT NULL, PRIMARY KEY (event_id, at))`, ""},
		{`CREATE TABLE processed_event (event_id uuid, at timestamptz NOT NULL, PRIMARY KEY (event_id, at));
		  INSERT INTO processed_event (event_id, at) VALUES ($1, now()) ON CONFLICT DO NOTHING`, "key varies: at"},
		{`CREATE TABLE processed_event (event_id uuid, at timestamptz DEFAULT now(), PRIMARY KEY (event_id, at));
		  INSERT INTO processed_event (event_id, at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, "key varies: at given"},
		{`CREATE TABLE processed_event (event_id uuid, at timestamptz DEFAULT now(), PRIMARY KEY (event_id, at));
		  INSERT INTO processed_event (event_id, at) VALUES ($1, $2); INSERT INTO processed_event (event_id) VALUES ($1)`, "key varies: at"},
		{`CREATE TABLE processed_event (event_id uuid, at timestamptz DEFAULT now(), PRIMARY KEY (event_id, at), UNIQUE (event_id))`, ""},
		{`CREATE TABLE processed_event (event_id uuid, day date DEFAULT CURRENT_DATE, PRIMARY KEY (event_id, day))`, ""},
		{`CREATE TABLE processed_event (event_id uuid, n bigserial, PRIMARY KEY (event_id, n))`, "key varies: n"},
		{`CREATE TABLE processed_event (event_id uuid, r uuid DEFAULT gen_random_uuid(), PRIMARY KEY (event_id, r))`, "key varies: r"},
		{`CREATE TABLE processed_event (event_id uuid PRIMARY KEY DEFAULT gen_random_uuid())`, "random default: event_id"},
		{`CREATE TABLE processed_event (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), kind text)`, "random default: id"},
		{`CREATE TABLE processed_event (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), voyage text, kind text);
			CREATE UNIQUE INDEX ON processed_event (voyage, kind)`, ""},
		{`CREATE TABLE processed_event (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), voyage text, at timestamptz DEFAULT now(), UNIQUE (voyage, at))`, "random default: id"},
		{`CREATE TABLE processed_event (event_id uuid PRIMARY KEY); ALTER TABLE processed_event ALTER event_id SET DEFAULT uuid_generate_v4()`, "random default: event_id"},
		{`CREATE TABLE processed_event (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), event_id uuid NOT NULL UNIQUE)`, ""},
		{`CREATE TABLE idempotency_keys (key varchar(200) PRIMARY KEY, processed_at timestamp NOT NULL)`, ""},
		{`CREATE TABLE idempotency_keys (key varchar(200), processed_at timestamp NOT NULL)`, "no key: key"},
		{`CREATE TABLE inbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), key text UNIQUE)`, ""},
		{`CREATE TABLE inbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), key text)`, "no key: key"},
		{`CREATE TABLE idempotency_keys (key text PRIMARY KEY, request_fingerprint text)`, ""},
		{`CREATE TABLE idempotency_keys (key text PRIMARY KEY, webhook_id text)`, ""},
		{`CREATE TABLE idempotency_keys (key text PRIMARY KEY, event_id text)`, "no key: event_id"},
		{`CREATE TABLE inbox (event_id uuid); ALTER TABLE inbox ADD CONSTRAINT ux UNIQUE (event_id)`, ""},
		{`CREATE TABLE inbox (event_id uuid PRIMARY KEY); ALTER TABLE inbox DROP CONSTRAINT inbox_pkey`, "no key: event_id"},
		{`CREATE TABLE inbox (event_id uuid CONSTRAINT u UNIQUE); ALTER TABLE inbox DROP CONSTRAINT u`, "no key: event_id"},
		{`CREATE TABLE inbox (event_id uuid); CREATE UNIQUE INDEX ux ON inbox (event_id); DROP INDEX ux`, "no key: event_id"},
		{`CREATE TABLE inbox (day date, n int)`, ""},
		{`CREATE TABLE inbox AS SELECT * FROM x`, ""},
		{"CREATE TABLE inbox (event_id uuid, \x00)", ""},
		{"CREATE TABLE `inbox` (`id` bigint AUTO_INCREMENT PRIMARY KEY, `event_id` char(36), UNIQUE KEY `ux` (`event_id`))", ""},
		{"CREATE TABLE inbox (event_id uuid, at DateTime) ENGINE = MergeTree ORDER BY event_id PRIMARY KEY event_id", "no key: event_id"},
	} {
		if got := faults(migrations(c.sql)); got != c.want {
			t.Errorf("%s\n\tgot %q, want %q", c.sql, got, c.want)
		}
	}
}

func TestTheColumnOfTheEventsIDCanBeGiven(t *testing.T) {
	s := migrations(`CREATE TABLE bookings (ref text UNIQUE, cause text, n int)`)
	if got := faults(s, "ref"); got != "" {
		t.Errorf("got %q", got)
	}
	if got := faults(s, "cause"); got != "no key: cause" {
		t.Errorf("got %q", got)
	}
}

func TestEachDefinitionOfATableIsJudgedByItself(t *testing.T) {
	s := schemaOf(
		source{"a/1.sql", "CREATE TABLE inbox (event_id uuid PRIMARY KEY)"},
		source{"b/store.go", "CREATE TABLE IF NOT EXISTS inbox (event_id uuid)"},
	)
	ps := s.Tables()[0].KeyProblems()
	if len(ps) != 1 || ps[0].Definition.File != "b/store.go" {
		t.Errorf("problems: %+v", ps)
	}
}

func TestADefinitionThatIsNotKnownHidesNoOther(t *testing.T) {
	s := migrations("CREATE TABLE inbox AS SELECT * FROM x", "CREATE TABLE inbox (LIKE nobody_knows)", "CREATE TABLE inbox (event_id uuid)")
	ps := s.Tables()[0].KeyProblems()
	if len(ps) != 1 || ps[0].Definition.File != "migrations/0003.sql" {
		t.Errorf("problems: %+v", ps)
	}
}

func TestATableMadeLikeAnotherHasItsKeysOnlyIfItSaysSo(t *testing.T) {
	const parent = "CREATE TABLE marks (event_id uuid PRIMARY KEY);"
	for sql, want := range map[string]int{
		"CREATE TABLE inbox (LIKE marks INCLUDING ALL)": 0, "CREATE TABLE inbox (LIKE marks)": 1,
		"CREATE TABLE inbox (LIKE marks INCLUDING INDEXES)": 0, "CREATE TABLE inbox (LIKE marks INCLUDING DEFAULTS)": 1,
		"CREATE TABLE inbox LIKE marks": 0,
	} {
		if ps := migrations(parent, sql).Table(sqltext.Name{Name: "inbox"}).KeyProblems(); len(ps) != want {
			t.Errorf("%s: problems: %+v", sql, ps)
		}
	}
}

func TestDroppingAnIndexLeavesThoseOfOtherNames(t *testing.T) {
	s := migrations(
		`CREATE TABLE inbox (event_id uuid, n int); CREATE UNIQUE INDEX a ON inbox (event_id); CREATE UNIQUE INDEX b ON inbox (n)`,
		`DROP INDEX c, b`,
	)
	if got := faults(s); got != "" {
		t.Errorf("got %q", got)
	}
	s.Add("migrations/0003.sql", `DROP INDEX a ON other`)
	if got := faults(s); got != "" {
		t.Errorf("after the drop of another table's index: %q", got)
	}
	s.Add("migrations/0004.sql", `ALTER TABLE inbox DROP INDEX a`)
	if got := faults(s); got != "no key: event_id" {
		t.Errorf("after the drop of the index: %q", got)
	}
}

func TestMarksAreToldFromWork(t *testing.T) {
	for _, c := range []struct {
		columns     string
		marks, work bool
	}{
		{"event_id uuid, consumer text, processed_at timestamptz", true, false},
		{"id bigserial, message_id text, topic text, partition int, kafka_offset bigint, received_at timestamptz", true, false},
		{"key text, created_at timestamptz, ttl_expires_at timestamptz", true, false},
		{"event_id uuid, event_type text, consumer_group text, processed_at timestamptz", true, false},
		{"event_id uuid, payload jsonb, received_at timestamptz", false, true},
		{"event_id uuid, status text, processed_at timestamptz", false, true},
		{"event_id uuid, attempts int", false, true},
		{"event_id uuid, processed boolean", false, true},
		{"key text, response_body text, status_code int", false, true},
		{"event_id uuid, next_retry_at timestamptz", false, true},
		{"event_id uuid, amount_cents bigint", false, false},
	} {
		d := migrations("CREATE TABLE inbox (" + c.columns + ")").Tables()[0].Definitions[0]
		if got := d.HoldsOnlyMarks(); got != c.marks {
			t.Errorf("%s: HoldsOnlyMarks() = %v", c.columns, got)
		}
		if got := d.IsWorkQueue(); got != c.work {
			t.Errorf("%s: IsWorkQueue() = %v", c.columns, got)
		}
	}
}

func TestCleanupIsSeenInAllItsForms(t *testing.T) {
	const table = "CREATE TABLE inbox (event_id uuid, at timestamptz) PARTITION BY RANGE (at);"
	kinds := [...]string{"", "delete", "partition drop", "tool", "expiry", "drop of an unknown table"}
	for _, c := range []struct{ sql, want string }{
		{`DELETE FROM inbox WHERE at < $1`, "delete"},
		{`DELETE FROM billing.inbox WHERE at < $1`, "delete"},
		{`DELETE FROM %s.inbox WHERE at < $1`, "delete"},
		{`DELETE FROM inbox WHERE ctid IN (SELECT ctid FROM inbox WHERE at < $1 LIMIT 100)`, "delete"},
		{`WITH old AS (SELECT event_id FROM inbox WHERE at < $1) DELETE FROM inbox USING old WHERE inbox.event_id = old.event_id`, "delete"},
		{`WITH gone AS (DELETE FROM inbox WHERE at < now() RETURNING 1) SELECT count(*) FROM gone`, "delete"},
		{`CREATE TABLE inbox_1 PARTITION OF inbox DEFAULT; DELETE FROM inbox_1 WHERE at < $1`, "delete"},
		{`CREATE TABLE inbox_1 PARTITION OF inbox DEFAULT; DROP TABLE inbox_1`, "partition drop"},
		{`DROP TABLE IF EXISTS inbox_%s`, "drop of an unknown table"},
		{`DROP TABLE inbox_2026_05`, "drop of an unknown table"},
		{`ALTER TABLE inbox DETACH PARTITION ` + "\x00", "partition drop"},
		{`ALTER TABLE inbox DROP PARTITION p1`, "partition drop"},
		{`SELECT drop_chunks('inbox', INTERVAL '7 days')`, "partition drop"},
		{`SELECT partman.create_parent('public.inbox', 'at', '1 day')`, "tool"},
		{`UPDATE partman.part_config SET retention = '7 days' WHERE parent_table = 'public.inbox'`, "tool"},
		{`INSERT INTO partman.part_config (parent_table, retention) VALUES ('public.inbox', '7 days')`, "tool"},
		{`SELECT add_retention_policy('inbox', INTERVAL '7 days')`, "tool"},
		{`SELECT cron.schedule('0 3 * * *', $$DELETE FROM inbox WHERE at < now() - interval '7 days'$$)`, "delete scheduled"},
		{`CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM inbox WHERE at < NOW() - INTERVAL 7 DAY`, "delete scheduled"},
		{`CREATE FUNCTION purge() RETURNS void LANGUAGE sql AS $$ DELETE FROM inbox WHERE at < now() $$`, "delete in purge"},
		{"-- name: Purge :execrows\nDELETE FROM inbox WHERE at < $1", "delete named Purge"},

		{`DELETE FROM inbox WHERE event_id = $1`, ""},
		{`DELETE FROM inbox WHERE at > $1`, ""},
		{`DELETE FROM inbox`, ""},
		{`DELETE FROM outbox WHERE at < $1`, ""},
		{`DROP TABLE inbox_tickets`, ""},
		{"-- +goose Down\nDELETE FROM inbox WHERE at < $1", ""},
	} {
		s := schemaOf(source{"1.sql", table}, source{"2.sql", c.sql})
		var got []string
		for _, cl := range s.Cleanups(sqltext.Name{Name: "inbox"}) {
			k := kinds[cl.Kind]
			if cl.Scheduled {
				k += " scheduled"
			}
			if cl.Routine != "" {
				k += " in " + cl.Routine
			}
			if cl.Query != "" {
				k += " named " + cl.Query
			}
			got = append(got, k)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s\n\tgot %q, want %q", c.sql, got, c.want)
		}
	}
}

func TestATableThatForgetsByItselfIsCleanedUp(t *testing.T) {
	s := migrations(`CREATE TABLE inbox (event_id uuid PRIMARY KEY, at timestamptz) WITH (ttl_expire_after = '7 days')`)
	if c := s.Cleanups(sqltext.Name{Name: "inbox"}); len(c) != 1 || c[0].Kind != sqltext.ExpiryByDatabase {
		t.Errorf("cleanups: %+v", c)
	}
}
