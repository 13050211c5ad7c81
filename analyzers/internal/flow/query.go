package flow

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// A Reason says why a handler is unguarded.
type Reason uint8

// The reasons.
const (
	NoCheck   Reason = iota + 1 // nothing asks whether the event was there
	LateCheck                   // the check comes after the effect
	Ignored                     // the check's answer does not decide
	FailsOpen                   // the check's error lets the effect run
	Forgets                     // the check does not survive a restart
)

// A Step is a place on the way from a handler to an effect.
type Step struct {
	Pos  Pos
	Name string
}

// Unguarded is a handler from which an effect is reached for a message that was processed before.
type Unguarded struct {
	Handler string
	Pkg     string
	Pos     Pos // the handler's name, or the expression that yields the message
	Fn      *Func
	Effect  *Hit
	Reason  Reason
	Check   *site // the check that does not help, nil for none
	Way     []Step
	From    []Step // the functions that handed the message on to the handler
	Home    Pos    // in the handler, when Pos is that of the binding
	Binding *Edge  // the binding of this package through which it is reached
	Cond    bool
}

// CheckDesc describes the check that does not help.
func (u *Unguarded) CheckDesc() (string, Pos) {
	if u.Check == nil {
		return "", Pos{}
	}
	return u.Check.Desc, u.Check.Pos
}

// EffectPos is where the effect is.
func (h *Hit) EffectPos() Pos { return h.Pos }

// A Verdict is what running a root has shown.
type Verdict struct {
	Root      Root
	Unguarded []*Unguarded
	Sinks     []Sink
	Open      []Open // what nothing in sight answers, though it gets what the message carries
	SeenSets  bool   // a set in memory decides what is skipped
	GaveUp    bool
	Active    bool   // a message was seen
	Internal  string // what went wrong in the engine, for -debug

	handed map[string]bool // where to a repeat sends something of the message
	checks []*site         // the checks that were asked
	again  []*Hit          // the effects that a repeat reaches, whatever makes it
	wrote  map[string]bool // what the first delivery leaves behind
}

// Judge runs a root in the worlds that X1 and the origins need.
func (p *Program) Judge(r Root) (v *Verdict) {
	v = &Verdict{Root: r}
	defer func() {
		if e := recover(); e != nil {
			// A function that the engine cannot run is given up, as one that is too large is.
			v = &Verdict{Root: r, GaveUp: true, Internal: fmt.Sprint(e)}
		}
	}()
	first := p.firstRun(r)
	if p.left == nil {
		p.left = make(map[string]map[string][]remains)
	}
	p.left[r.Fn.ID] = first.leaves
	v.GaveUp = first.gaveUp
	v.Active = first.active || r.Kind != RootSource
	p.enteredFrom(first)
	wrote := make(map[string]bool)
	for k := range first.wrote {
		if s, ok := strings.CutPrefix(k, "new:"); ok {
			wrote[s] = true
		}
	}
	v.Sinks = p.sinksOf(r, first)
	v.checks, v.wrote = sortedSites(first.sites), wrote
	if !v.Active || first.producer || r.Client == know.Runtime {
		return v // the companion runtime asks before it calls a handler
	}
	dup, wrote, dupe := p.duplicate(r, wrote, first)
	v.GaveUp, v.handed = v.GaveUp || dup.gaveUp, dup.handed
	p.enteredFrom(dup)
	var mem *interp
	if dup.memory || first.memory {
		mem = p.world(r, World{Dup: true, Memory: true, Dupe: dupe}, wrote)
		v.SeenSets = len(mem.hits) < len(dup.hits)
	}
	stateful := updatesWhatItReads(first)
	if stateful {
		// The state that the first delivery left is what a repeat finds: a check of it is taken for a guard.
		dup.hits = slices.DeleteFunc(dup.hits, func(h *Hit) bool { return h.state })
	}
	hits := dup.hits
	failSite := make(map[*Hit]*site)
	if len(hits) == 0 {
		stores := storeSites(dup.sites)
		more := 0 // checks that are asked when one has failed
		for _, s := range stores {
			run := p.world(r, World{Dup: true, Fail: s.Key, Dupe: dupe}, wrote)
			for _, h := range run.hits {
				if stateful && h.state {
					continue
				}
				failSite[h] = s
				hits = append(hits, h)
			}
			if len(hits) > 0 {
				break
			}
			more = max(more, len(storeSites(run.sites)))
		}
		if len(hits) == 0 && more > 1 {
			// Two checks that both let the effect run when they fail are none.
			for _, h := range p.world(r, World{Dup: true, Fail: anyCheck, Dupe: dupe}, wrote).hits {
				if !stateful || !h.state {
					failSite[h] = stores[0]
					hits = append(hits, h)
				}
			}
		}
	}
	v.again = hits
	byPos := make(map[Pos]*Unguarded)
	for _, h := range hits {
		u := p.attribute(r, h)
		u.Reason, u.Check = NoCheck, nil
		switch s := failSite[h]; {
		case s != nil:
			u.Reason, u.Check = FailsOpen, s
		case mem != nil && !has(mem.hits, h):
			u.Reason = Forgets
		case h.checked != nil:
			u.Reason, u.Check = Ignored, h.checked
		default:
			if s := lateCheck(dup, u.Fn, h); s != nil {
				u.Reason, u.Check = LateCheck, s
			}
		}
		old := byPos[u.Pos]
		if old == nil || old.Cond && !u.Cond || old.Cond == u.Cond && less(u.Effect.Pos, old.Effect.Pos) && u.Effect.Pos.File == old.Effect.Pos.File && false {
			byPos[u.Pos] = u
		}
	}
	for _, u := range byPos {
		v.Unguarded = append(v.Unguarded, u)
	}
	sort.Slice(v.Unguarded, func(i, j int) bool { return less(v.Unguarded[i].Pos, v.Unguarded[j].Pos) })
	v.Open = dup.openCalls()
	return v
}

// firstRun runs a root on a first delivery, and learns whether it hands back what a message carries.
func (p *Program) firstRun(r Root) *interp {
	first := newInterp(p, World{})
	first.onEnd = func(st *state, vals []*Value) {
		if !st.msg || r.Kind != RootSource {
			return
		}
		w := &walker{in: first, st: st, fn: r.Fn, fr: &frame{fn: r.Fn}}
		for _, v := range vals {
			if v != nil && !v.Msg && w.deep(v).has(FromPayload) {
				p.yields[r.Fn.ID] = true
			}
		}
	}
	first.execute(r)
	return first
}

// storeSites are the checks that ask a store.
func storeSites(sites map[string]*site) []*site {
	return slices.DeleteFunc(sortedSites(sites), func(s *site) bool { return s.Store == "memory" || s.Store == "state" })
}

// sinksOf are the sinks of a root: those of a first delivery, and where it takes something from a header or an offset,
// those of a run that tells paths apart by what holds it.
func (p *Program) sinksOf(r Root, first *interp) []Sink {
	if !first.sources {
		return first.sinks
	}
	in := newInterp(p, World{})
	in.sinking, in.sinks, in.sinkKey = true, first.sinks, first.sinkKey
	in.execute(r)
	return in.sinks
}

// updatesWhatItReads reports whether a run reads rows of a table that it also updates.
func updatesWhatItReads(in *interp) bool {
	for k := range in.wrote {
		if t, ok := strings.CutPrefix(k, "upd:"); ok && (in.wrote["read:"+t] || t == "") {
			return true
		}
	}
	return false
}

func has(hits []*Hit, h *Hit) bool {
	for _, x := range hits {
		if x.Pos == h.Pos {
			return true
		}
	}
	return false
}

func sortedSites(m map[string]*site) []*site {
	out := make([]*site, 0, len(m))
	for _, s := range m {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return less(out[i].Pos, out[j].Pos) })
	return out
}

// lateCheck finds a check that the handler asks after the effect.
func lateCheck(in *interp, handler *Func, h *Hit) *site {
	for _, s := range sortedSites(in.sites) {
		if s.Store == "memory" || s.Store == "state" || !s.after[h.Pos] {
			continue
		}
		for f := s.chain; f != nil; f = f.up {
			if f.fn == handler {
				return s
			}
		}
	}
	return nil
}

func (p *Program) world(r Root, w World, wrote map[string]bool) *interp {
	in := newInterp(p, w)
	for k := range wrote {
		in.wrote[k] = true
	}
	in.execute(r)
	return in
}

// duplicate runs a root for a message that was processed before: again, as long as it turns out that a statement's
// unique violation is looked at, and for either polarity of a check of which only the name is seen.
func (p *Program) duplicate(r Root, wrote map[string]bool, first *interp) (*interp, map[string]bool, map[string]bool) {
	settle := func(dupe map[string]bool) *interp {
		var in *interp
		for range 4 {
			in = p.world(r, World{Dup: true, Dupe: dupe}, wrote)
			more := false
			for s := range in.handled {
				if !wrote["taken:"+s] {
					wrote["taken:"+s], more = true, true
				}
			}
			if !more {
				break
			}
		}
		return in
	}
	best := settle(nil)
	var ids []string
	for id := range first.either {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	dupe := map[string]bool{}
	for _, id := range ids {
		if len(best.hits) == 0 || len(ids) > 4 {
			break
		}
		try := map[string]bool{id: true}
		for k := range dupe {
			try[k] = true
		}
		if in := settle(try); len(in.hits) < len(best.hits) {
			best, dupe = in, try
		}
	}
	return best, wrote, dupe
}

// enteredFrom remembers which functions a run handed a message to.
func (p *Program) enteredFrom(in *interp) {
	if p.Entered == nil {
		p.Entered = make(map[string]bool)
	}
	for id := range in.entered {
		p.Entered[id] = true
	}
}

// attribute finds the handler that a hit belongs to: the last function on the way that gets the message whole, or to
// which a dispatcher handed what it had decoded.
func (p *Program) attribute(r Root, h *Hit) *Unguarded {
	var frames []*frame
	for f := h.chain; f != nil; f = f.up {
		frames = append(frames, f)
	}
	for i, j := 0, len(frames)-1; i < j; i, j = i+1, j-1 {
		frames[i], frames[j] = frames[j], frames[i]
	}
	cand := 0
	for i, f := range frames {
		if i == 0 {
			continue
		}
		switch {
		case f.takes:
			cand = i
		case f.msgPos.IsValid() && !f.fn.Literal:
			cand = i
		case f.dyn && f.event && p.dispatched(frames, cand, i):
			cand = i
		}
	}
	c := frames[cand]
	u := &Unguarded{Handler: c.fn.Name, Pkg: c.fn.Pkg, Fn: c.fn, Effect: h, Cond: h.cond, Pos: c.fn.Pos}
	if !c.takes && !(c.event && c.dyn) {
		u.Pos = c.msgPos
		for f := c; !u.Pos.IsValid() && f.up != nil; f = f.up {
			u.Pos = f.up.msgPos
		}
		if !u.Pos.IsValid() {
			u.Pos = c.fn.Pos
		}
	}
	if c.fn.Literal && strings.HasPrefix(c.fn.Name, "func literal in ") {
		u.Handler = c.fn.Name
	}
	for i := 0; i < cand; i++ {
		if frames[i+1].in == nil {
			continue
		}
		u.From = append(u.From, Step{Pos: frames[i+1].in.Pos, Name: frames[i].fn.Name})
	}
	for i := cand + 1; i < len(frames); i++ {
		if frames[i].in != nil {
			u.Way = append(u.Way, Step{Pos: frames[i].in.Pos, Name: frames[i].fn.Name})
		}
	}
	for _, f := range frames {
		if f.via != nil && p.own[f.via] && u.Binding == nil {
			u.Binding = f.via
		}
	}
	return u
}

// dispatched reports whether the call that entered frame i hands an event over to a handler: through a function
// value that comes from outside, or a method that is named as a handler.
func (p *Program) dispatched(frames []*frame, cand, i int) bool {
	f := frames[i]
	if f.in == nil || f.in.Call == nil {
		return false
	}
	c := f.in.Call
	if c.Kind == CallInvoke {
		_, iface := splitType(c.Iface)
		if know.HandlerName(c.Fn) || handlerType(iface) {
			return true
		}
		return false
	}
	if f.fn.Literal {
		// A literal of a function on the way is a part of it, unless it was made elsewhere.
		for _, g := range frames[:i] {
			if f.fn.Parent == g.fn.ID || strings.HasPrefix(f.fn.ID, g.fn.ID+"$") {
				return false
			}
		}
	}
	return true
}

func handlerType(name string) bool {
	for _, w := range know.Words(name) {
		switch w {
		case "handler", "processor", "consumer", "listener", "subscriber", "worker", "projector":
			return true
		}
	}
	return false
}
