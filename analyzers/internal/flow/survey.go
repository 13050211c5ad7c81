package flow

import (
	"cmp"
	"slices"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// A survey is what happens on the paths of one root.
type survey struct {
	p       *Program
	root    Root
	wrote   map[string]bool
	effects []*Moment
	checks  []*Guard
	begins  []*Moment
	commits []*Moment
	acks    []*Moment
	polls   []*Moment
	takers  []*frame // the calls of functions that get the message whole, or an event made of it
	last    *frame   // in which a message was taken
	gaveUp  bool

	reached  map[effectOf]bool            // effects
	decides  map[string]map[effectOf]bool // by check: the effects that are not reached when it alone says "already there"
	together map[effectOf]bool            // the same, when all of them do
	have     map[string]bool
	seq      int
}

// effectOf is an effect of a handler: by way of a helper that they share, several may have one at the same place.
type effectOf struct{ effect, handler Pos }

func (s *survey) effectOf(h *Hit) effectOf { return effectOf{h.Pos, s.p.attribute(s.root, h).Pos} }

// surveyRuns bounds what is tried out for one root: which checks decide, and which effects may fail.
const surveyRuns = 12

// survey runs the root of a verdict on a first delivery, and then with its checks one by one.
func (p *Program) survey(v *Verdict) *survey {
	s := &survey{p: p, root: v.Root, have: make(map[string]bool), reached: make(map[effectOf]bool),
		decides: make(map[string]map[effectOf]bool)}
	s.gaveUp = s.run(World{}, s.see, s.enters).gaveUp
	if len(v.wrote) > 0 {
		// A look for what the root itself writes finds nothing the first time. A look for other rows of the table may.
		s.wrote = v.wrote
		s.gaveUp = s.run(World{}, s.see, s.enters).gaveUp || s.gaveUp
	}
	again := make(map[effectOf]bool)
	for _, h := range v.again {
		again[s.effectOf(h)] = true
	}
	for _, m := range s.effects {
		m.Again = again[s.effectOf(m.hit)] && !m.Natural
	}
	for _, list := range [][]*Moment{s.effects, s.begins, s.commits, s.acks, s.polls} {
		slices.SortStableFunc(list, func(a, b *Moment) int { return a.compare(b) })
	}
	slices.SortStableFunc(s.checks, func(a, b *Guard) int { return a.compare(&b.Moment) })
	s.tryChecks()
	return s
}

func (m *Moment) compare(o *Moment) int {
	return cmp.Or(cmp.Compare(m.Rank, o.Rank), cmp.Compare(m.seq, o.seq))
}

func (s *survey) run(world World, watch func(*walker, *Event), enters func(*frame)) *interp {
	in := newInterp(s.p, world)
	in.limit, in.traces, in.watch = orderSteps, true, watch
	for k := range s.wrote {
		in.wrote[k] = true
	}
	in.onEnter = enters
	in.try(s.root)
	return in
}

// enters is told every call that gets the message, or an event made of it.
func (s *survey) enters(fr *frame) {
	if key := "enter|" + fr.fn.ID; !s.have[key] {
		s.have[key] = true
		s.takers = append(s.takers, fr)
	}
}

// see is told every event of the first delivery. What was seen before is kept as it is, but for how much may precede it.
func (s *survey) see(w *walker, e *Event) {
	rank := 0
	for a := w.st.trace; a != nil; a = a.Prev {
		if a.Kind != EvPoll && a.Kind != EvTake {
			rank++
		}
	}
	m := Moment{Pos: e.Pos, Desc: e.Desc, Rank: rank, chain: e.Fr, hit: e.Hit, tx: e.Tx, InTx: e.Tx != nil}
	switch e.Kind {
	case EvEffect:
		s.reached[s.effectOf(e.Hit)] = true
		m.Desc, m.Kind, m.Natural, m.Pool = e.Hit.Desc, e.Hit.Kind, e.Hit.natural, e.Hit.pool
		s.note(&s.effects, m)
	case EvCheck:
		s.check(e, m)
	case EvBegin:
		s.note(&s.begins, m)
	case EvCommit:
		s.note(&s.commits, m)
	case EvAck:
		s.note(&s.acks, m)
	case EvPoll:
		s.last, m.Auto = e.Fr, e.Auto
		s.note(&s.polls, m)
	case EvTake:
		s.last = e.Fr
	}
}

func (s *survey) note(list *[]*Moment, m Moment) {
	s.seq++
	m.seq = s.seq
	for _, o := range *list {
		if o.Pos != m.Pos || m.Kind != 0 && s.effectOf(o.hit) != s.effectOf(m.hit) {
			continue
		}
		o.passed(m.chain)
		o.Rank, o.Natural, o.Auto = max(o.Rank, m.Rank), o.Natural && m.Natural, o.Auto || m.Auto
		o.InTx, o.Pool = o.InTx && m.InTx, o.Pool || m.Pool
		return
	}
	m.chains = []*frame{m.chain}
	*list = append(*list, &m)
}

// passed remembers a further call in which a place is passed.
func (m *Moment) passed(fr *frame) {
	if !slices.ContainsFunc(m.chains, func(o *frame) bool { return o == fr || o.hash == fr.hash }) {
		m.chains = append(m.chains, fr)
	}
}

func (s *survey) check(e *Event, m Moment) {
	m.Desc = e.Site.Desc
	for _, g := range s.checks {
		if g.key == e.Site.Key {
			g.Rank = max(g.Rank, m.Rank)
			g.passed(e.Fr)
			return
		}
	}
	s.seq++
	m.seq = s.seq
	g := &Guard{Moment: m, Store: e.Site.Store, Table: e.Site.Table, key: e.Site.Key}
	g.chains = []*frame{e.Fr}
	g.tx, g.InTx = e.Site.Tx, e.Site.Tx != nil
	s.checks = append(s.checks, g)
}

// tryChecks finds out which effects each check decides about by itself, and which all of them do.
func (s *survey) tryChecks() {
	missing := func(world World) map[effectOf]bool {
		got := make(map[effectOf]bool)
		in := s.run(world, func(_ *walker, e *Event) {
			if e.Kind == EvEffect {
				got[s.effectOf(e.Hit)] = true
			}
		}, nil)
		out := make(map[effectOf]bool)
		for x := range s.reached {
			out[x] = !got[x] && !in.gaveUp
		}
		return out
	}
	n := 0
	for _, g := range s.checks {
		if g.Store == "memory" {
			continue
		}
		if n++; n > surveyRuns {
			break
		}
		s.decides[g.key] = missing(World{Dup: true, Only: g.key})
	}
	if n > 1 {
		s.together = missing(World{Dup: true})
	}
}

// complete adds to a handler what the root's paths have shown beside its effects.
func (s *survey) complete(h *Handler, v *Verdict, o *Order) {
	for _, m := range s.polls {
		if !h.Poll.Pos.IsValid() {
			h.Poll = *m
		}
	}
	s.guards(h, v)
	s.copy(h, &h.Begins, s.begins)
	s.copy(h, &h.Commits, s.commits)
	s.copy(h, &h.Acks, s.acks)
	h.Returns = h.Returns || s.root.Kind == RootRegistered && know.AcksOnReturn(know.Client(know.Normal(s.root.Client)))
	if o != nil {
		for _, f := range o.Acks {
			if s.p.attribute(s.root, f.Effect).Pos == h.Pos {
				h.AckFaults = append(h.AckFaults, f)
			}
		}
		for _, x := range o.Outside {
			if s.p.attribute(s.root, &Hit{chain: x.at}).Pos == h.Pos || x.Write != nil && s.p.attribute(s.root, x.Write).Pos == h.Pos {
				h.Outside = append(h.Outside, x)
			}
		}
	}
	if h.Unguarded == nil {
		s.loses(h)
	}
}

// copy adds what concerns a handler, and is not known of it by way of another root.
func (s *survey) copy(h *Handler, to *[]Moment, from []*Moment) {
	for _, m := range from {
		if s.concernsAny(h, m.chains) && !slices.ContainsFunc(*to, func(o Moment) bool { return o.Pos == m.Pos }) {
			*to = append(*to, *m)
		}
	}
}

func (s *survey) concernsAny(h *Handler, chains []*frame) bool {
	return slices.ContainsFunc(chains, func(fr *frame) bool { return s.concerns(h, fr) })
}

// concerns reports whether what happens in a call concerns a handler: it is on the way to it, or beneath it.
func (s *survey) concerns(h *Handler, fr *frame) bool {
	if fr == nil {
		return false
	}
	if h.path[fr.fn.ID] {
		return true
	}
	for f := fr; f != nil; f = f.up {
		if f.fn == h.Fn {
			return true
		}
		if h.path[f.fn.ID] {
			// Beneath a function on the way to the handler: a helper of it, or another handler.
			return !s.takes(fr, f)
		}
	}
	return false
}

// takes reports whether the message was handed on whole between a call and one above it to a function with effects.
func (s *survey) takes(fr, up *frame) bool {
	for f := fr; f != up; f = f.up {
		if !f.takes && !(f.event && f.dyn) {
			continue
		}
		if slices.ContainsFunc(s.effects, func(m *Moment) bool {
			for c := m.chain; c != nil; c = c.up {
				if c.fn == f.fn {
					return true
				}
			}
			return false
		}) {
			return true
		}
	}
	return false
}

// guards adds the checks of a handler, and what each is worth.
func (s *survey) guards(h *Handler, v *Verdict) {
	decided := func(by map[effectOf]bool) bool {
		return slices.ContainsFunc(h.Effects, func(m Moment) bool { return by[effectOf{m.Pos, h.Pos}] && !m.Again })
	}
	alone := slices.ContainsFunc(s.checks, func(g *Guard) bool { return decided(s.decides[g.key]) })
	for _, c := range s.checks {
		g := *c
		if slices.ContainsFunc(h.Guards, func(o Guard) bool { return o.Pos == g.Pos }) {
			continue // by way of another root
		}
		mine := s.concernsAny(h, c.chains)
		switch u := h.Unguarded; {
		case u != nil && u.Check != nil && u.Check.Key == g.key:
			g.State = map[Reason]GuardState{LateCheck: GuardLate, Ignored: GuardIgnored, FailsOpen: GuardFailsOpen, Forgets: GuardForgets}[u.Reason]
		case decided(s.decides[g.key]):
			g.State = GuardDecides
		case g.Store == "memory" && mine:
			g.State = GuardForgets
		case g.Store == "state" || !mine:
			continue
		case u == nil && !alone && decided(s.together):
			g.State = GuardDecides
		default:
			g.State = GuardIgnored
		}
		h.Guards = append(h.Guards, g)
	}
}

// loses looks for an effect outside the database after whose failure the mark stays, so that the next delivery does not
// do it either.
func (s *survey) loses(h *Handler) {
	n := 0
	for i := range h.Effects {
		m := &h.Effects[i]
		if m.Kind == EffDB || m.Natural || m.Again || m.hit == nil || m.hit.cache {
			continue
		}
		if n++; n > surveyRuns {
			return
		}
		stays, undone := false, false
		s.run(World{Broken: siteKey(m.Pos)}, func(w *walker, e *Event) {
			switch e.Kind {
			case EvFail:
				mark := committedMark(w.st.trace)
				stays = stays || mark != nil && mark.Site.Store != "name" && mark.Site.Store != "state"
			case EvEffect:
				undone = undone || !s.reached[s.effectOf(e.Hit)] && failedOn(w.st.trace)
			}
		}, nil)
		if stays && !undone {
			h.Loses = m
			return
		}
	}
}

// failedOn reports whether the effect that fails has failed on a path.
func failedOn(trace *Event) bool {
	for a := trace; a != nil; a = a.Prev {
		if a.Kind == EvFail {
			return true
		}
	}
	return false
}
