package sqltext_test

import (
	"testing"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

func TestASuffixIsAConflictClauseOrReturning(t *testing.T) {
	for _, c := range []struct {
		text      string
		action    sqltext.Action
		returning int
		ok        bool
	}{
		{"ON CONFLICT (event_id) DO NOTHING", sqltext.DoNothing, 0, true},
		{"ON CONFLICT DO NOTHING RETURNING id, at", sqltext.DoNothing, 2, true},
		{"on conflict (a) do update set n = excluded.n", sqltext.DoUpdate, 0, true},
		{"ON DUPLICATE KEY UPDATE n = VALUES(n)", sqltext.DoUpdate, 0, true},
		{`RETURNING "id"`, sqltext.NoAction, 1, true},
		{"ON CONFLICT (\x00) \x00", sqltext.UnseenAction, 0, false},
		{"FOR UPDATE", sqltext.NoAction, 0, false},
		{"", sqltext.NoAction, 0, false},
	} {
		conflict, returning, ok := sqltext.ParseSuffix(c.text)
		if conflict.Action != c.action || len(returning) != c.returning || ok != c.ok {
			t.Errorf("%q: %v, %v, %v", c.text, conflict.Action, returning, ok)
		}
	}
}

func TestAConditionIsReadOnItsOwn(t *testing.T) {
	w := sqltext.ParseWhere("consumed_at < ? AND consumer = ?")
	if !w.ByTime || len(w.Equals()) != 1 || w.OnlyEquals() {
		t.Errorf("got %+v", w)
	}
	w = sqltext.ParseWhere("WHERE id = ? AND (topic = 'a')")
	if w.ByTime || !w.OnlyEquals() {
		t.Errorf("got %+v", w)
	}
	if w = sqltext.ParseWhere("id = ? \x00"); w.OnlyEquals() {
		t.Error("a condition with an unknown piece is taken for equalities alone")
	}
}

func TestAValueIsReadOnItsOwn(t *testing.T) {
	if e := sqltext.ParseExpr("cents + ?"); e.Absolute() || len(e.Columns) != 1 {
		t.Errorf("got %+v", e)
	}
	if e := sqltext.ParseExpr("now()"); e.Class != sqltext.NowExpr || !e.Absolute() {
		t.Errorf("got %+v", e)
	}
}
