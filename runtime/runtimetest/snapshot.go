package runtimetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// snapshot is what a run left behind: by table the rows, each as text, in no particular order. What happened outside
// of the database stands under outsideTable.
type snapshot map[string][]string

const outsideTable = "(outside)"

// runtimeTables are the runtime's own, which count deliveries and times.
const runtimeTables = `^(processed_event(_.*)?|idemlint_migration|quarantined_event|outbox_message|call_intent)$`

// outbox are the messages of the outbox without their ids, which are others in every run.
const outbox = `SELECT ROW(topic, encode(key, 'escape'), replace(encode(value, 'escape'), id::text, 'id'), header_keys)::text
	FROM outbox_message`

const outboxTable = "outbox_message"

// takeSnapshot reads all ordinary tables of all schemas but the system's and the runtime's own, of which it reads only
// the outbox.
func takeSnapshot(ctx context.Context, pool *pgxpool.Pool, ignore []string) (snapshot, error) {
	columns, err := comparedColumns(ctx, pool, ignore)
	if err != nil {
		return nil, err
	}
	taken := snapshot{}
	if !slices.Contains(ignore, outboxTable) {
		rows, err := pool.Query(ctx, outbox)
		if err != nil {
			return nil, fmt.Errorf("read the outbox: %w", err)
		}
		if taken[outboxTable], err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return nil, fmt.Errorf("read the outbox: %w", err)
		}
	}
	for table, names := range columns {
		row := "''"
		if len(names) > 0 {
			row = "ROW(" + strings.Join(names, ", ") + ")::text"
		}
		rows, err := pool.Query(ctx, "SELECT "+row+" FROM "+table)
		if err != nil {
			return nil, fmt.Errorf("read table %s: %w", table, err)
		}
		if taken[table], err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return nil, fmt.Errorf("read table %s: %w", table, err)
		}
	}
	return taken, nil
}

// comparedColumns answers by table the columns that must be equal in every run: all but those to ignore and those
// that the database fills with a counter, a clock or a random value.
func comparedColumns(ctx context.Context, pool *pgxpool.Pool, ignore []string) (map[string][]string, error) {
	rows, err := pool.Query(ctx, `
		SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.relname, a.attname, quote_ident(a.attname),
		       a.attidentity <> ''
		       OR coalesce(pg_get_expr(d.adbin, d.adrelid) ~* '(nextval|now|timestamp|random|uuid\w*|clock\w*)\(|current_|localtime', false)
		FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
		  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND c.relname !~ $1
		ORDER BY 1, a.attnum`, runtimeTables)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	compared := map[string][]string{}
	var table, relation, column, quoted string
	var volatile bool
	_, err = pgx.ForEachRow(rows, []any{&table, &relation, &column, &quoted, &volatile}, func() error {
		if compared[table] == nil {
			compared[table] = []string{}
		}
		if !volatile && !slices.Contains(ignore, relation) && !slices.Contains(ignore, relation+"."+column) {
			compared[table] = append(compared[table], quoted)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	for table := range compared {
		relation := table[strings.LastIndex(table, ".")+1:]
		if slices.Contains(ignore, strings.Trim(relation, `"`)) {
			delete(compared, table)
		}
	}
	return compared, nil
}

// compare tells how a run's result differs from the clean run's, at most a few rows of each table.
func compare(clean, run snapshot) []string {
	const most = 5
	var differences []string
	tables := maps.Clone(clean)
	maps.Copy(tables, run)
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		count := map[string]int{}
		for _, row := range clean[table] {
			count[row]--
		}
		for _, row := range run[table] {
			count[row]++
		}
		shown := 0
		for _, row := range slices.Sorted(maps.Keys(count)) {
			n := count[row]
			if n == 0 {
				continue
			}
			if shown++; shown > most {
				differences = append(differences, fmt.Sprintf("%s: and more", table))
				break
			}
			word := "too often"
			if n < 0 {
				n, word = -n, "missing"
			}
			differences = append(differences, fmt.Sprintf("%s: %s: %d× %s", table, row, n, word))
		}
	}
	return differences
}
