package flow

import (
	"cmp"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// A Handler is what the inventory says of one function that does the work for a message, as the paths of its root have
// shown it.
type Handler struct {
	Fn        *Func
	Pos       Pos // where a finding about it stands
	Root      Root
	From      []Step // the functions that hand the message on to it
	Source    Source
	Poll      Moment     // where its messages are taken; no place when a library calls it
	Unguarded *Unguarded // nil when a repeat reaches no effect
	GaveUp    bool       // part of it was not looked at
	Guards    []Guard    // what it asks, in the order in which it asks
	Effects   []Moment
	Begins    []Moment // transactions
	Commits   []Moment
	Acks      []Moment
	Returns   bool // returning acknowledges
	AckFaults []*AckFault
	Outside   []*Outside
	Money     []*MoneyCall
	Open      []Open  // its calls of which nothing in sight says what they do
	Loses     *Moment // the first effect after whose failure the mark stays

	chain *frame          // of what made it known
	path  map[string]bool // the functions from the root to it, by id
	seen  map[Pos]bool
}

// A GuardState says what a check is worth.
type GuardState uint8

// What a check is worth.
const (
	GuardDecides GuardState = iota + 1
	GuardIgnored            // its answer does not decide whether an effect is reached
	GuardFailsOpen
	GuardLate
	GuardForgets // it does not survive a restart
)

// A Guard is a check that a handler asks, or that is asked for it.
type Guard struct {
	Moment
	State GuardState
	Store string // as in a check: "sql", "redis", "mongo", "name", "memory", "state"
	Table string

	key string
}

// A Moment is a place that paths pass. Moments are in order by Rank.
type Moment struct {
	Pos     Pos
	Desc    string
	Kind    EffectKind // of an effect
	Again   bool       // of an effect: a repeat reaches it
	Natural bool       // of an effect: it lands on the same state when repeated
	InTx    bool
	Pool    bool // of a database write: surely in no transaction
	Auto    bool // of a poll: it commits what it returns
	Rank    int  // how much happens before it

	seq    int
	chain  *frame   // the first call in which it was passed
	chains []*frame // all of them
	tx     *Tx
	hit    *Hit
}

// Inventory finds the handlers of the packages, by the verdicts on their roots. It runs the roots again, and watches.
func (p *Program) Inventory(pkgs map[string]bool, vs []*Verdict) []*Handler {
	orders := p.Orders(vs)
	p.mu.Lock()
	defer p.mu.Unlock()
	inv := &inventory{p: p, at: make(map[Pos]*Handler)}
	n := 0
	for _, v := range vs {
		var o *Order
		if v.Active {
			o, n = orders[n], n+1
		}
		inv.root(v, o)
	}
	pays := p.mayPay()
	inv.companion(pkgs, pays)
	if pays {
		p.paying(pkgs, inv.pays)
	}
	settings := p.settings()
	for _, h := range inv.all {
		h.Source = settings.of(h)
	}
	slices.SortStableFunc(inv.all, func(a, b *Handler) int {
		return cmp.Or(strings.Compare(a.Fn.Pkg, b.Fn.Pkg), strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return inv.all
}

type inventory struct {
	p   *Program
	all []*Handler
	at  map[Pos]*Handler
}

// root adds the handlers to which the messages of one root come.
func (inv *inventory) root(v *Verdict, o *Order) {
	if !v.Active && len(v.Unguarded) == 0 && !v.GaveUp {
		return
	}
	s := inv.p.survey(v)
	var own []*Handler
	for _, m := range s.effects {
		h := inv.handler(v, m.chain)
		if !slices.Contains(own, h) {
			own = append(own, h)
		}
		if !h.seen[m.Pos] {
			h.seen[m.Pos] = true
			h.Effects = append(h.Effects, *m)
		}
	}
	for _, u := range v.Unguarded {
		h := inv.handler(v, u.Effect.chain)
		if h.Unguarded == nil {
			h.Unguarded = u
		}
		if !slices.Contains(own, h) {
			own = append(own, h)
		}
	}
	for _, h := range inv.idle(v, s, own) {
		own = append(own, h)
	}
	for _, h := range own {
		h.GaveUp = h.GaveUp || v.GaveUp || s.gaveUp && len(h.Effects) == 0
		h.open(v.Open)
		s.complete(h, v, o)
	}
}

// open adds those of a root's calls that stand in the handler.
func (h *Handler) open(calls []Open) {
	for _, o := range calls {
		for bi := range h.Fn.Blocks {
			if slices.ContainsFunc(h.Fn.Blocks[bi].Instrs, func(in Instr) bool { return in.Call != nil && in.Pos == o.Pos }) && !slices.Contains(h.Open, o) {
				h.Open = append(h.Open, o)
			}
		}
	}
}

// handler is the handler that a place belongs to.
func (inv *inventory) handler(v *Verdict, chain *frame) *Handler {
	u := inv.p.attribute(v.Root, &Hit{chain: chain})
	if h := inv.at[u.Pos]; h != nil {
		return h
	}
	h := &Handler{Fn: u.Fn, Pos: u.Pos, Root: v.Root, From: u.From, chain: chain, seen: make(map[Pos]bool), path: make(map[string]bool)}
	below := false // of the handler
	for f := chain; f != nil; f = f.up {
		if below = below || f.fn == u.Fn; below {
			h.path[f.fn.ID] = true
		}
	}
	inv.at[u.Pos] = h
	inv.all = append(inv.all, h)
	return h
}

// idle are the handlers of a root that reach no effect: functions named as handlers that get the message whole, and the
// root itself when there is no other. A function that hands back what it takes is none.
func (inv *inventory) idle(v *Verdict, s *survey, own []*Handler) []*Handler {
	if inv.p.yields[v.Root.Fn.ID] || handsBack(v.Root.Fn) {
		return nil
	}
	var out []*Handler
	busy := func(id string) bool {
		return slices.ContainsFunc(own, func(h *Handler) bool { return h.path[id] })
	}
	for _, fr := range s.takers {
		_, name := splitType(fr.fn.Name)
		if busy(fr.fn.ID) || !know.HandlerName(name) || handsBack(fr.fn) || slices.ContainsFunc(s.takers, func(g *frame) bool { return g != fr && g.up.within(fr) }) {
			continue
		}
		within := false
		for f := fr.up; f != nil; f = f.up {
			within = within || slices.ContainsFunc(own, func(h *Handler) bool { return h.Fn == f.fn })
		}
		if within {
			continue
		}
		h := inv.handler(v, fr)
		if !slices.Contains(out, h) && !slices.Contains(own, h) {
			out = append(out, h)
		}
	}
	_, name := splitType(v.Root.Fn.Name)
	helper := v.Root.Kind == RootParam && !know.HandlerName(name) // it may be called with any message
	if len(own)+len(out) == 0 && (v.Active || v.GaveUp) && !helper && !inv.p.Entered[v.Root.Fn.ID] {
		fr := s.last
		if fr == nil || v.Root.Kind != RootSource {
			fr = &frame{fn: v.Root.Fn, takes: v.Root.Kind != RootSource}
		}
		out = append(out, inv.handler(v, fr))
	}
	return out
}

// handsBack reports whether a function returns messages: whoever calls it handles them.
func handsBack(f *Func) bool {
	return slices.ContainsFunc(f.Results, func(t *Type) bool { return t != nil && t.Msg && t.Kind != KFunc })
}

// pays adds a money call to the handler that makes it.
func (inv *inventory) pays(pos Pos, s *moneySite) {
	c := s.verdict()
	if c == nil {
		c = s.call
	}
	for _, h := range inv.all {
		if (h.Fn.Name == c.Handler && h.Fn.Pkg == c.pkg || h.seen[c.Call]) && !slices.ContainsFunc(h.Money, func(o *MoneyCall) bool { return o.Pos == pos }) {
			h.Money = append(h.Money, c)
		}
	}
}
