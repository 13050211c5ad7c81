package sqltext_test

import (
	"testing"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

func TestAnArgumentLeadsToItsColumns(t *testing.T) {
	for _, c := range []struct {
		name, sql string
		arg       func(sqltext.Param) bool
		want      []string
	}{
		{"dollar", `INSERT INTO e (event_id, c) VALUES ($2, $1)`, sqltext.Arg(2), []string{"e.event_id insert direct"}},
		{"question marks by order", `UPDATE t SET a = ?, b = ? WHERE c = ? AND d ? 'x'`, sqltext.Arg(3), []string{"t.c where direct"}},
		{"name", `INSERT INTO e (event_id) VALUES (:id) ON CONFLICT DO NOTHING`, sqltext.NamedArg("ID"), []string{"e.event_id insert direct"}},
		{"at", `DELETE FROM e WHERE event_id = @id`, sqltext.NamedArg("id"), []string{"e.event_id where direct"}},
		{"verbs", `INSERT INTO %s.e (event_id, n) VALUES ('%s', %d)`, sqltext.SprintfArg(2), []string{"e.event_id insert direct"}},
		{"explicit verbs", `INSERT INTO e_%[2]s (event_id) VALUES ('%[1]s')`, sqltext.SprintfArg(1), []string{"e_\x00.event_id insert direct"}},
		{"twice", `UPDATE t SET name = $2 WHERE id = $1 AND name <> $2`, sqltext.Arg(2), []string{"t.name set direct", "t.name where direct"}},
		{"a list", `SELECT 1 FROM e WHERE event_id IN (?, ?)`, sqltext.Arg(2), []string{"e.event_id where direct"}},
		{"cast", `INSERT INTO e (event_id) VALUES (CAST($1 AS uuid)), (($1)::text::uuid)`, sqltext.Arg(1), []string{"e.event_id insert direct", "e.event_id insert direct"}},
		{"computed", `INSERT INTO e (event_id) VALUES (md5($1 || ':' || $2))`, sqltext.Arg(2), []string{"e.event_id insert"}},
		{"through unnest", `INSERT INTO e (event_id, c) SELECT u.id, 'x' FROM unnest($1::uuid[]) u(id)`, sqltext.Arg(1), []string{"e.event_id insert direct"}},
		{"through a subselect", `INSERT INTO e (event_id) SELECT s.id FROM (SELECT $1::uuid AS id) s`, sqltext.Arg(1), []string{"e.event_id insert direct"}},
		{"the other side", `SELECT 1 FROM e WHERE $1 = event_id`, sqltext.Arg(1), []string{"e.event_id where direct"}},
		{"nowhere", `SELECT f($1) FROM e LIMIT $2`, sqltext.Arg(2), []string{"other"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := sqltext.Parse(c.sql)[0]
			var got []string
			for _, u := range st.UsesOf(c.arg) {
				got = append(got, place(u))
			}
			if len(got) != len(c.want) {
				t.Fatalf("%s: got %q, want %q", c.sql, got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("%s: got %q, want %q", c.sql, got[i], c.want[i])
				}
			}
		})
	}
}

func place(u sqltext.Use) string {
	role := [...]string{"other", "insert", "set", "where"}[u.Role]
	if u.Role != sqltext.InOther {
		role = u.Table.Name + "." + u.Column + " " + role
	}
	if u.Direct {
		role += " direct"
	}
	return role
}
