package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// What the runs of the handlers show of statements: whose outcome decides, and who races whom.

// outcomes runs the handlers, and what else leads to an INSERT, in the world where its key is taken.
func (v *SQLView) outcomes(vs []*Verdict) {
	done := make(map[string]bool)
	for _, x := range vs {
		var looks, marks []*site
		for _, s := range x.checks {
			switch {
			case s.Store != "sql" || !v.isDedup(sqltext.Name{Name: s.Table}, v.prog.scopeOf(s.chain)):
			case s.Look:
				looks = append(looks, s)
			default:
				marks = append(marks, s)
			}
		}
		if len(marks) == 0 {
			continue
		}
		done[x.Root.Fn.ID] = true
		v.prog.taken(x.Root, true, x.wrote, maxSteps, v.fates)
		if len(looks) > 0 {
			v.race(x, looks, marks)
		}
	}
	for _, u := range v.uses {
		if u.st.Kind != sqltext.Insert || u.st.Conflict.Action != sqltext.NoAction || !v.isDedup(u.st.Table, v.prog.scopeAt(u.pos.File)) {
			continue
		}
		for _, f := range v.usersOf(u) {
			for _, g := range v.prog.above(f, 3) {
				if !done[g.ID] {
					done[g.ID] = true
					v.prog.taken(Root{Fn: g, Kind: RootParam}, false, nil, 60_000, v.fates)
				}
			}
		}
	}
}

// race runs a handler as one of two consumers that look at the same time: both find nothing. What still happens then
// happens twice, unless the INSERT's own outcome stops it.
func (v *SQLView) race(x *Verdict, looks, marks []*site) {
	dup := v.prog.world(x.Root, World{Dup: true}, x.wrote)
	if len(dup.hits) > 0 {
		return // it is unguarded as it is
	}
	locked := false
	blind := newInterp(v.prog, World{Dup: true, Blind: true})
	for k := range x.wrote {
		blind.wrote[k] = true
	}
	blind.onSQL = func(r ran) {
		low := strings.ToLower(r.text)
		if strings.Contains(low, "advisory") || strings.Contains(low, "lock table") || r.st.Locks && !v.isDedup(from(r.st), v.prog.scopeIn(x.Root.Fn.Pkg)) {
			locked = true
		}
	}
	blind.execute(x.Root)
	if locked || blind.gaveUp {
		return
	}
	for _, m := range marks {
		for _, l := range looks {
			key := siteKey(m.Pos)
			if len(blind.hits) == 0 && (blind.asked[key] || blind.sites[key] == nil) {
				continue
			}
			if strings.EqualFold(m.Table, l.Table) && !v.serializable(m) {
				v.races[siteKey(m.Pos)] = l
			}
		}
	}
}

// serializable reports whether a function on the way to a check names the isolation level at which two transactions
// that both look and insert do not both commit.
func (v *SQLView) serializable(s *site) bool {
	for fr := s.chain; fr != nil; fr = fr.up {
		for _, c := range fr.fn.Consts {
			if c.Kind == CString && strings.EqualFold(c.S, "serializable") ||
				c.Kind == CInt && c.T != nil && c.T.Name == "database/sql.IsolationLevel" && c.I == 6 {
				return true
			}
		}
	}
	return false
}
