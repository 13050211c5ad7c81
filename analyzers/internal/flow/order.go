package flow

import (
	"slices"
	"sort"
	"strings"
)

// An AckKind says what is wrong with an acknowledgement.
type AckKind uint8

// The kinds of wrong acknowledgements.
const (
	AckEarly  AckKind = iota + 1 // before the effect
	AckOpenTx                    // before the transaction of the effect commits
	AckAsync                     // it does not wait for the goroutine of the effect
	AckFailed                    // although the effect failed
	AckAuto                      // by the read itself
)

// An AckFault is an offset that is committed before the work it stands for is done.
type AckFault struct {
	Kind    AckKind
	Pos     Pos    // of the ack; where acking is a return, of the effect
	Home    Pos    // in the handler, when Pos is that of a binding
	Ack     string // what acknowledges, "" for a return
	Handler string
	Eats    string // the function that keeps the effect's failure to itself
	Held    bool   // of an asynchronous effect: it is done later for what is gathered in memory
	Effect  *Hit
	Way     []Step
}

// An OutsideKind says how mark and business write miss each other.
type OutsideKind uint8

// The kinds of marks and writes that are not in one transaction.
const (
	MarkOutside   OutsideKind = iota + 1 // the mark is in no transaction
	WriteOutside                         // the write is in none
	WriteOtherTx                         // the write is in another
	MarkCommitted                        // the mark's transaction was committed before the write
	MarkElsewhere                        // the mark is in a store that cannot join the transaction
	MarkDropped                          // the mark's failure is taken for a duplicate
)

// An Outside is a mark and a business write that are not in one transaction.
type Outside struct {
	Kind    OutsideKind
	Pos     Pos // of the statement that is outside, or of the call that leads there
	Home    Pos // in the handler, when Pos is that of a binding
	Handler string
	Mark    string
	MarkPos Pos
	Write   *Hit // nil for a mark that is dropped
	at      *frame
}

// An Order is what the order of things has shown on a root's paths.
type Order struct {
	Acks    []*AckFault
	Outside []*Outside
	root    *Func
}

// Orders looks at the order in which the roots of the verdicts check, write, commit and acknowledge.
func (p *Program) Orders(vs []*Verdict) []*Order {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.orders == nil {
		p.orders = make(map[string]*Order)
	}
	var out []*Order
	keeps := make(map[string]bool) // functions that return nothing wrong whatever fails
	for _, v := range vs {
		if !v.Active {
			continue
		}
		key := v.Root.Fn.ID + "|" + itoa(int(v.Root.Kind))
		o := p.orders[key]
		if o == nil {
			o = p.order(v.Root)
			if !p.ownPkgs[v.Root.Fn.Pkg] {
				p.rebind(v.Root, o)
			}
			p.orders[key] = o
		}
		keeps[v.Root.Fn.ID] = keeps[v.Root.Fn.ID] || o.keepsAll()
		out = append(out, o)
	}
	for _, o := range out {
		if o.root != nil && keeps[o.root.ID] {
			// Where any failure is acknowledged, a mark's is no fault of its own.
			o.Outside = slices.DeleteFunc(o.Outside, func(x *Outside) bool { return x.Kind == MarkDropped })
		}
	}
	return out
}

// rebind moves what the root of a dependency has shown to where this package binds what the root calls. What is not
// reached through such a binding the dependency's own run has shown.
func (p *Program) rebind(r Root, o *Order) {
	acks, outs := o.Acks[:0], o.Outside[:0]
	for _, f := range o.Acks {
		if u := p.attribute(r, f.Effect); u.Binding != nil {
			if !p.ownPkgs[u.Pkg] {
				f.Home, f.Pos = f.Pos, u.Binding.Pos
			}
			acks = append(acks, f)
		}
	}
	for _, x := range o.Outside {
		if u := p.attribute(r, &Hit{chain: x.at}); u.Binding != nil {
			if !p.ownPkgs[u.Pkg] {
				x.Home, x.Pos = x.Pos, u.Binding.Pos
			}
			outs = append(outs, x)
		}
	}
	o.Acks, o.Outside = acks, outs
}

// pair is a mark and a business write on one path.
type pair struct {
	kind  OutsideKind
	mark  *Event
	write *Event
	place string // of a mark by its key, to tell whether a look asks for it
	look  string // of a row that is a mark since a look asked for it: the look's key
}

// ordering watches the paths of one root.
type ordering struct {
	p       *Program
	in      *interp // of the last run
	root    Root
	faults  map[Pos]*AckFault
	pairs   map[string]pair
	marks   map[string]*Event // marks and looks by key
	reached map[Pos]bool      // effects of any sort
	effects []*Hit
	acks    bool
	looks   map[string]bool // places that are looked at
	flat    bool            // only what is reached is of interest
	unknown bool            // the run was given up: anything may be reached
	caches  bool            // the keys set in Redis are all that is done: they count

	// of a world in which a check or an effect fails
	fresh   map[Pos]bool // effects that are reached when nothing fails
	failing string       // key of the check that fails
	opens   bool         // effects follow the failed check
	lost    bool         // the message is acknowledged though the check failed and nothing was done
}

const (
	orderSteps = maxSteps
	orderRuns  = 20
)

func (o *ordering) run(w World, wrote map[string]bool) *interp {
	in := newInterp(o.p, w)
	if in.limit = orderSteps; w.Fail != "" || w.Broken != "" {
		in.limit = orderSteps / 3
	}
	in.traces, in.flat = true, o.flat
	in.watch = o.see
	in.onEnd = o.end
	for k := range wrote {
		in.wrote[k] = true
	}
	o.in = in
	in.execute(o.root)
	return in
}

func newOrdering(p *Program, r Root) *ordering {
	return &ordering{p: p, root: r, faults: make(map[Pos]*AckFault), pairs: make(map[string]pair), marks: make(map[string]*Event),
		reached: make(map[Pos]bool), looks: make(map[string]bool)}
}

// order runs a root: as on first delivery, as on a repeat to see which checks decide, and with each check and each
// effect failing.
func (p *Program) order(r Root) *Order {
	first := newOrdering(p, r)
	in := first.run(World{}, nil)
	out := &Order{root: r.Fn}
	wrote := make(map[string]bool)
	for k := range in.wrote {
		if s, ok := strings.CutPrefix(k, "new:"); ok {
			wrote[s] = true
		}
	}
	plain := first
	if len(wrote) > 0 {
		// Looks for what this very handler writes are known only now.
		again := newOrdering(p, r)
		again.run(World{}, wrote)
		first = again
	}
	if first.onlyCaches() {
		again := newOrdering(p, r)
		again.caches = true
		again.run(World{}, wrote)
		first = again
	}
	p.failing(first, first.effects, wrote)
	first.behindRows(plain)
	p.outside(first, wrote, out)
	for _, f := range first.faults {
		out.Acks = append(out.Acks, f)
	}
	sort.Slice(out.Acks, func(i, j int) bool { return less(out.Acks[i].Pos, out.Acks[j].Pos) })
	out.Acks = onePerCause(out.Acks)
	sort.Slice(out.Outside, func(i, j int) bool { return less(out.Outside[i].Pos, out.Outside[j].Pos) })
	return out
}

// passes reports whether an effect only keeps a cache up to date. A key that is set counts where nothing else is done.
func (o *ordering) passes(h *Hit) bool { return h.cache && !(o.caches && h.mark != "") }

func (o *ordering) onlyCaches() bool {
	set := false
	for _, h := range o.effects {
		if !h.cache {
			return false
		}
		set = set || h.mark != ""
	}
	return set
}

// behindRows adds what the plain run shows of effects that are reached only when a row is found, in a table that the
// handler writes to: such a row is what the handler works on, and no mark of its own. What is done about duplicates
// loses nothing when it fails.
func (o *ordering) behindRows(plain *ordering) {
	if plain == o {
		return
	}
	for _, e := range o.marks {
		if e.Site.Look && o.p.marks(e.Site) {
			return
		}
	}
	var behind []*Hit
	for _, h := range plain.effects {
		if !o.reached[h.Pos] {
			behind = append(behind, h)
		}
	}
	if len(behind) == 0 {
		return
	}
	o.p.failing(plain, behind, nil)
	for pos, f := range plain.faults {
		if o.faults[pos] == nil && !o.reached[f.Effect.Pos] {
			o.faults[pos] = f
		}
	}
}

// failing runs the root with each of the effects failing, and looks for messages that are acknowledged all the same.
func (p *Program) failing(first *ordering, effects []*Hit, wrote map[string]bool) {
	if !first.acks && !first.returnAcks() {
		return
	}
	n := 0
	for _, h := range effects {
		if first.passes(h) || first.in.window(h) || h.async && n > orderRuns/2 {
			continue
		}
		if n++; n > orderRuns {
			break
		}
		run := newOrdering(p, first.root)
		run.fresh, run.caches = first.reached, first.caches
		run.run(World{Broken: siteKey(h.Pos)}, wrote)
		for pos, f := range run.faults {
			if f.Kind == AckFailed && first.faults[pos] == nil {
				first.faults[pos] = f
			}
		}
	}
}

// see is told every event before it joins the trace.
func (o *ordering) see(w *walker, e *Event) {
	switch e.Kind {
	case EvEffect:
		o.effect(w, e)
	case EvCommit:
		if e.Hit != nil && w.st.msg && !o.reached[e.Pos] {
			o.reached[e.Pos] = true
			o.effects = append(o.effects, e.Hit)
		}
		if !o.failed() {
			o.commits(w, e)
		}
	case EvAck:
		o.acks = true
		o.ack(w, e)
	case EvCheck:
		o.check(w, e)
	case EvHand:
		if a := auto(w.st.trace); a != nil && !o.failed() {
			o.fault(&AckFault{Kind: AckAuto, Pos: a.Pos, Ack: "ReadMessage", Effect: e.Hit})
		}
	}
}

func (o *ordering) failed() bool { return o.fresh != nil || o.failing != "" }

// auto is the read that committed the message in hand by itself.
func auto(trace *Event) *Event {
	for e := trace; e != nil; e = e.Prev {
		if e.Kind == EvPoll && e.Auto {
			return e
		}
	}
	return nil
}

func (o *ordering) effect(w *walker, e *Event) {
	if !o.reached[e.Pos] {
		o.reached[e.Pos] = true
		o.effects = append(o.effects, e.Hit)
	}
	if o.failing != "" && failedCheck(w.st.trace, o.failing) != nil {
		o.opens = true
	}
	if o.failed() {
		return
	}
	o.pairing(w, e)
	if o.passes(e.Hit) {
		return
	}
	if a := auto(w.st.trace); a != nil {
		o.fault(&AckFault{Kind: AckAuto, Pos: a.Pos, Ack: "ReadMessage", Effect: e.Hit})
		return
	}
	var first *Event // of marking an offset and committing it, the mark is too early
	for a := w.st.trace; a != nil; a = a.Prev {
		if a.Kind == EvAck && a.Depth <= e.Depth {
			first = a
		}
	}
	if first != nil {
		o.fault(&AckFault{Kind: AckEarly, Pos: first.Pos, Ack: first.Desc, Effect: e.Hit})
	}
}

// commits looks for an acknowledgement between an effect and the commit of its transaction.
func (o *ordering) commits(w *walker, e *Event) {
	if e.Tx == nil || auto(w.st.trace) != nil {
		return
	}
	var ack *Event
	for a := w.st.trace; a != nil; a = a.Prev {
		switch {
		case a.Kind == EvAck && a.Depth <= e.Depth:
			ack = a
		case a.Kind == EvCommit && top1(a.Tx) == top1(e.Tx) && a.Tx.Up == nil:
			return
		case a.Kind == EvEffect && ack != nil && !o.passes(a.Hit) && a.Tx != nil && top1(a.Tx) == top1(e.Tx):
			o.fault(&AckFault{Kind: AckOpenTx, Pos: ack.Pos, Ack: ack.Desc, Effect: a.Hit})
			return
		}
	}
}

// top1 is the transaction that a savepoint belongs to.
func top1(t *Tx) *Tx {
	for t != nil && t.Up != nil {
		t = t.Up
	}
	return t
}

func (o *ordering) ack(w *walker, e *Event) {
	if auto(w.st.trace) != nil {
		return
	}
	if o.failed() {
		if h := unhandled(w.st.trace, e.Depth, o.fresh); h != nil {
			o.fault(&AckFault{Kind: AckFailed, Pos: e.Pos, Ack: e.Desc, Effect: h})
		}
		o.loses(w.st.trace, e.Depth)
		return
	}
	if a := o.unwaited(w.st.trace, e.Depth, e.All); a != nil {
		o.fault(&AckFault{Kind: AckAsync, Pos: e.Pos, Ack: e.Desc, Effect: a.Hit, Held: a.held()})
	}
}

// unwaited is an effect in a goroutine for which nobody waited. An acknowledgement of all that was marked leaves to
// goroutines that mark what is theirs.
func (o *ordering) unwaited(trace *Event, depth int, all bool) *Event {
	wait := 1 << 20
	for a := trace; a != nil; a = a.Prev {
		switch {
		case a.Kind == EvWait:
			wait = min(wait, a.Depth)
		case a.Kind == EvEffect && a.Depth > depth && !(wait < a.Depth) && !a.Hit.tick && !o.passes(a.Hit):
			return a
		case a.Kind == EvHand && a.Depth >= depth && wait > a.Depth && !(all && a.Acks):
			return a
		}
	}
	return nil
}

// end is told every way out of the root.
func (o *ordering) end(st *state, vals []*Value) {
	ok := true
	if n := len(o.root.Fn.Results); n > 0 && len(vals) > 0 {
		if t := o.root.Fn.Results[n-1]; t != nil && t.Kind == KError || t != nil && t.Kind == KInterface {
			isNil, known := vals[len(vals)-1].isNil()
			ok = known && isNil
		}
	}
	if !ok {
		return
	}
	if o.failing != "" && o.root.Kind != RootSource && (o.returnAcks() || len(o.root.Fn.Results) > 0) {
		o.loses(st.trace, 0)
	}
	if !o.returnAcks() || auto(st.trace) != nil {
		return
	}
	if o.failed() {
		if h := unhandled(st.trace, 0, o.fresh); h != nil {
			f := &AckFault{Kind: AckFailed, Pos: o.at(h), Effect: h, Eats: o.root.Fn.Name}
			if st.eats != nil {
				f.Eats = st.eats.Name
			}
			o.fault(f)
		}
		return
	}
	if a := o.unwaited(st.trace, 0, false); a != nil {
		f := &AckFault{Kind: AckAsync, Pos: o.at(a.Hit), Effect: a.Hit, Held: a.held()}
		if a.Kind == EvHand {
			f.Handler = o.p.attribute(o.root, &Hit{chain: a.Fr}).Handler
		}
		o.fault(f)
	}
}
