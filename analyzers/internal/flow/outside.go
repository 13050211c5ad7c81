package flow

import (
	"slices"
	"sort"
	"strings"
)

// check remembers marks and looks, and pairs a mark with the writes before it.
func (o *ordering) check(w *walker, e *Event) {
	s := e.Site
	if s.Store == "memory" || s.Store == "state" {
		return
	}
	if s.Look {
		o.looks[s.Place] = true
	}
	if o.marks[s.Key] == nil {
		o.marks[s.Key] = e
	}
	if o.failed() || e.Outcome != outFresh || s.Look || s.Store == "name" {
		return
	}
	for a := w.st.trace; a != nil; a = a.Prev {
		if a.Kind == EvEffect {
			o.couple(w, e, a, false)
		}
	}
}

// pairing pairs a write with the marks before it; a Redis key that is set may be a mark by itself.
func (o *ordering) pairing(w *walker, e *Event) {
	for a := w.st.trace; a != nil; a = a.Prev {
		switch {
		case a.Kind == EvCheck && a.Outcome == outFresh && !a.Site.Look && a.Site.Store != "state" && a.Site.Store != "memory" && a.Site.Store != "name":
			o.couple(w, a, e, true)
		case a.Kind == EvEffect && a.Hit.row != "":
			o.coupleRow(w, a, e)
		case a.Kind == EvEffect && e.Hit.mark != "" && a.Hit.Kind == EffDB:
			o.put(pair{kind: MarkElsewhere, mark: e, write: a, place: e.Hit.mark})
		case a.Kind == EvEffect && a.Hit.mark != "" && e.Hit.Kind == EffDB:
			o.put(pair{kind: MarkElsewhere, mark: a, write: e, place: a.Hit.mark})
		}
	}
}

// coupleRow finds out how a business row that a look asks for and a later write miss each other.
func (o *ordering) coupleRow(w *walker, m, e *Event) {
	row, h := m.Hit, e.Hit
	if h.Kind != EffDB || m.Pos == e.Pos {
		return
	}
	p := pair{mark: m, write: e, look: row.row}
	switch {
	case row.tx == nil && row.pool:
		p.kind = MarkOutside
	case row.tx == nil:
		return
	case h.tx == nil && h.pool:
		p.kind = o.commitBetween(w, row.tx, m, true)
	case h.tx != nil && top1(h.tx) != top1(row.tx):
		if p.kind = o.commitBetween(w, row.tx, m, true); p.kind != MarkCommitted {
			p.kind = WriteOtherTx
		}
	default:
		return
	}
	o.put(p)
}

// couple finds out how a mark and a write miss each other.
func (o *ordering) couple(w *walker, m, e *Event, markFirst bool) {
	s, h := m.Site, e.Hit
	if h.Kind != EffDB || m.Pos == e.Pos || takesBack(s, h) {
		return
	}
	switch {
	case s.Store == "redis" || s.Store == "mongo":
		o.put(pair{kind: MarkElsewhere, mark: m, write: e})
	case s.Store != "sql":
	case s.Tx == nil:
		if s.Pool {
			o.put(pair{kind: MarkOutside, mark: m, write: e})
		}
	case h.tx == nil:
		if h.pool {
			o.put(pair{kind: o.commitBetween(w, s.Tx, m, markFirst), mark: m, write: e})
		}
	case top1(h.tx) != top1(s.Tx):
		k := WriteOtherTx
		if o.commitBetween(w, s.Tx, m, markFirst) == MarkCommitted {
			k = MarkCommitted
		}
		o.put(pair{kind: k, mark: m, write: e})
	}
}

// completes reports whether a write says, in the row that is the mark, what became of a remote call: no transaction can
// hold the row, the call and its outcome.
func (o *ordering) completes(m *Event, h *Hit) bool {
	if m.Site == nil || h.Table == "" || !strings.EqualFold(h.Table, m.Site.Table) || !strings.HasPrefix(h.Desc, "UPDATE ") {
		return false
	}
	return slices.ContainsFunc(o.effects, func(e *Hit) bool { return e.Kind != EffDB && e.Kind != EffRedis })
}

// takesBack reports whether a write takes the mark out again: a remote call has failed, and another delivery is to try it.
func takesBack(s *site, h *Hit) bool {
	return h.Table != "" && strings.EqualFold(h.Table, s.Table) && strings.HasPrefix(h.Desc, "DELETE ")
}

// commitBetween reports MarkCommitted when the mark's transaction was over before the write.
func (o *ordering) commitBetween(w *walker, tx *Tx, m *Event, markFirst bool) OutsideKind {
	if markFirst {
		for a := w.st.trace; a != nil && a != m; a = a.Prev {
			if a.Kind == EvCommit && top1(a.Tx) == top1(tx) {
				return MarkCommitted
			}
		}
	}
	return WriteOutside
}

func (o *ordering) put(p pair) {
	key := siteKey(p.mark.Pos) + "|" + siteKey(p.write.Pos)
	if old, ok := o.pairs[key]; !ok || p.kind < old.kind {
		o.pairs[key] = p
	}
}

// outside keeps the pairs whose mark decides: the write is not reached when the mark was there, nor when it failed.
func (p *Program) outside(first *ordering, wrote map[string]bool, out *Order) {
	if !first.acksFailures() {
		// Where any failure is acknowledged, a mark's is no fault of its own.
		first.dropping(wrote, out)
	}
	if len(first.pairs) == 0 {
		return
	}
	dup := newOrdering(p, first.root)
	dup.flat = true
	if dup.run(World{Dup: true}, wrote).gaveUp {
		return
	}
	keys := make([]string, 0, len(first.pairs))
	for k := range first.pairs {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return earlier(first.pairs[keys[i]], first.pairs[keys[j]]) })
	decides := make(map[string]*ordering)
	done := make(map[string]bool)
	for _, k := range keys {
		pr := first.pairs[k]
		if dup.reached[pr.write.Pos] || first.completes(pr.mark, pr.write.Hit) || !first.accepted(pr, wrote, decides) {
			continue
		}
		x := &Outside{Kind: pr.kind, Mark: desc(pr.mark), MarkPos: pr.mark.Pos, Write: pr.write.Hit, at: pr.mark.Fr}
		at, other := pr.mark, pr.write
		cause := "m" + siteKey(pr.mark.Pos)
		switch pr.kind {
		case WriteOutside, WriteOtherTx:
			at, other, cause = pr.write, pr.mark, "w"+siteKey(pr.write.Pos)
		case MarkCommitted:
			at, other, cause = pr.write, pr.mark, "c"+siteKey(pr.mark.Pos)
		}
		if done[cause] {
			continue
		}
		done[cause] = true
		u := p.attribute(first.root, &Hit{chain: pr.write.Fr})
		x.Handler, x.Pos = u.Handler, standing(at, other, u.Pkg)
		out.Outside = append(out.Outside, x)
	}
}

func earlier(a, b pair) bool {
	if a.mark.Pos != b.mark.Pos {
		return less(a.mark.Pos, b.mark.Pos)
	}
	return less(a.write.Pos, b.write.Pos)
}

func desc(e *Event) string {
	if e.Site != nil {
		return e.Site.Desc
	}
	return e.Hit.Desc
}

// looksAt are the keys of the checks that ask for what is kept in a place.
func (o *ordering) looksAt(place string) []string {
	var keys []string
	for k, e := range o.marks {
		if e.Site.Look && e.Site.Place == place {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	return keys
}

// accepted reports whether a mark is a guard that holds: it decides whether the write is reached, and its failure
// keeps the write from being reached.
func (o *ordering) accepted(pr pair, wrote map[string]bool, decides map[string]*ordering) bool {
	if pr.place != "" && !o.looks[pr.place] {
		return false // a key that is set and that nobody asks for
	}
	reaches := func(key string, w World) bool {
		d := decides[key]
		if d == nil {
			d = newOrdering(o.p, o.root)
			d.flat = true
			d.unknown = d.run(w, wrote).gaveUp
			decides[key] = d
		}
		return d.unknown || d.reached[pr.write.Pos]
	}
	if pr.look != "" {
		return !reaches("only "+pr.look, World{Dup: true, Only: pr.look})
	}
	if pr.mark.Site == nil {
		return pr.place == "" || slices.ContainsFunc(o.looksAt(pr.place), func(key string) bool {
			return !reaches("only "+key, World{Dup: true, Only: key})
		})
	}
	s := pr.mark.Site
	if s.Store == "sql" && !o.p.marks(s) && reaches("only "+s.Key, World{Dup: true, Only: s.Key}) {
		return false
	}
	return !reaches("fail "+s.Key, World{Dup: true, Fail: s.Key}) && !reaches("fail", World{Dup: true, Fail: anyCheck})
}

// acksFailures reports whether a message is acknowledged after its effect has failed.
func (o *ordering) acksFailures() bool {
	for _, f := range o.faults {
		if f.Kind == AckFailed {
			return true
		}
	}
	return false
}

// dropping runs the root with each mark failing, and looks for messages that are taken for duplicates then.
func (o *ordering) dropping(wrote map[string]bool, out *Order) {
	keys := make([]string, 0, len(o.marks))
	for k, e := range o.marks {
		s := e.Site
		if s.Store == "sql" && o.p.marks(s) || s.Store == "name" || s.Store != "sql" && !s.Look {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	for i, k := range keys {
		if i >= orderRuns/2 {
			return
		}
		run := newOrdering(o.p, o.root)
		run.failing = k
		in := run.run(World{Fail: k}, wrote)
		if in.gaveUp || run.opens || !run.lost || len(o.effects) == 0 || !o.decides(k, wrote) {
			continue
		}
		e := o.marks[k]
		u := o.p.attribute(o.root, &Hit{chain: e.Fr})
		out.Outside = append(out.Outside, &Outside{Kind: MarkDropped, Mark: desc(e), MarkPos: e.Pos, Handler: u.Handler, at: e.Fr, Pos: lifted(e.Fr, e.Pos, u.Pkg)})
	}
}

// decides reports whether an effect is not reached when a check answers that the event was there. A key that is set in a
// cache is no mark.
func (o *ordering) decides(key string, wrote map[string]bool) bool {
	there := newOrdering(o.p, o.root)
	there.flat = true
	if there.run(World{Dup: true, Only: key}, wrote).gaveUp {
		return false
	}
	for _, h := range o.effects {
		if !there.reached[h.Pos] {
			return true
		}
	}
	return false
}

func failedCheck(trace *Event, key string) *Event {
	for a := trace; a != nil; a = a.Prev {
		if a.Kind == EvCheck && a.Outcome == outFail && a.Site.Key == key {
			return a
		}
	}
	return nil
}

// loses notes that the message in hand counts as done although the check failed and nothing was done.
func (o *ordering) loses(trace *Event, depth int) {
	failed := failedCheck(trace, o.failing)
	if o.failing == "" || failed == nil || !waited(trace, failed, depth) {
		return
	}
	for a := trace; a != failed; a = a.Prev {
		switch a.Kind {
		case EvNack, EvDead, EvUnseen, EvEffect:
			return
		}
	}
	o.lost = true
}

// standing is where a statement stands, seen from the function in which it and the other one meet: the statement, or
// the call that leads there.
func standing(e, other *Event, pkg string) Pos {
	have := make(map[*frame]bool)
	for f := other.Fr; f != nil; f = f.up {
		have[f] = true
	}
	var chain []*frame // from the statement up
	meet := -1
	for f := e.Fr; f != nil; f = f.up {
		if have[f] && meet < 0 {
			meet = len(chain)
		}
		chain = append(chain, f)
	}
	if meet < 0 {
		return lifted(e.Fr, e.Pos, pkg)
	}
	home := chain[meet].fn
	pos := e.Pos
	for i := 0; i <= meet; i++ {
		f := chain[i].fn
		if f == home || strings.HasPrefix(f.ID, home.ID+"$") {
			break
		}
		pos = chain[i].in.Pos
	}
	for i := meet; i < len(chain); i++ {
		if chain[i].fn.Pkg == pkg {
			if i > meet {
				pos = chain[i-1].in.Pos
			}
			return pos
		}
	}
	return pos
}
