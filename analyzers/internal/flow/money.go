package flow

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// A MoneyCall is a call that moves money, reached by a handler, whose key is not what it must be.
type MoneyCall struct {
	Desc    string // what it does, for a reader: "HTTP POST …/v1/charges"
	Handler string
	Pos     Pos // where it stands for the handler: the call, or the call that leads to it in another package
	Call    Pos // the call itself
	Way     []Step
	Fault   KeyFault
	Partly  bool   // on another path the key is fine
	Maker   string // of a fresh key: what makes it
	MadeAt  Pos
	Other   Pos // of a shared key: the earlier call
	Outside string
	Home    Pos   // of the call, when Pos is that of the binding
	Binding *Edge // the binding of this package through which it is reached
	pkg     string
}

// moneyState is what a path remembers of its money calls.
type moneyState struct {
	calls *moneyEv
	hash  uint64
	voids []string
	kept  []keptKey
}

// keptKey is a value that was written to the database before it became a key.
type keptKey struct {
	at Pos
	tx *Tx
}

// moneyEv is a money call that was made on a path.
type moneyEv struct {
	prev *moneyEv
	site uint64
	ns   string // keys of one namespace meet
	op   string
	sym  string
	ok   bool
	pos  Pos
	fr   *frame
}

// forget begins anew: another message, another event.
func (m *moneyState) forget() { *m = moneyState{} }

func (m *moneyState) void(sym string) {
	for _, v := range m.voids {
		if v == sym {
			return
		}
	}
	m.voids = append(m.voids[:len(m.voids):len(m.voids)], sym)
	m.hash ^= mix(hashString(sym) + 5)
}

func (m *moneyState) add(e *moneyEv) {
	for p := m.calls; p != nil; p = p.prev {
		if p.site == e.site && p.sym == e.sym && p.ok == e.ok {
			return
		}
	}
	e.prev = m.calls
	m.calls = e
	h := mix(e.site + hashString(e.sym))
	if e.ok {
		h = mix(h + 1)
	}
	m.hash ^= h
}

// moneyRun is what a run collects when money calls are looked for.
type moneyRun struct {
	sites  map[Pos]*moneySite
	order  []Pos
	built  map[string][]builtVal
	watch  *watch
	sender *sender
}

// sender is the call on whose behalf a transport, hook or interceptor runs.
type sender struct {
	fr  *frame
	ins *Instr
}

type moneySite struct {
	call  *MoneyCall
	tries []moneyTry
	again [2]bool // reached again on a path: after it failed, after it succeeded
}

type moneyTry struct {
	call    *MoneyCall // as it is on this path: a helper may make several
	fault   KeyFault
	src     *Src
	sym     string
	counter bool
	voids   []string
	other   Pos
	outside string
}

// remoteCall is a call that moves money, as its model found it.
type remoteCall struct {
	desc    string
	ns, op  string
	key     *Value // nil when none is set
	unsure  bool   // what could hold the key cannot be seen
	outside string // a client that comes from outside the module
}

// pays records a money call on the present path, and gives the two ways it can come out.
func (w *walker) pays(ins *Instr, m remoteCall) []exit {
	if w.in.money.watch != nil || !w.st.msg {
		return w.quiet(ins)
	}
	fr, at := w.fr, ins
	if s := w.in.money.sender; s != nil {
		fr, at = s.fr, s.ins
	}
	ev := &moneyEv{site: mix(fr.hash ^ hashString(callPos(at).String())), ns: m.ns, op: m.op, sym: symOf(m.key), pos: callPos(at), fr: fr}
	try := moneyTry{fault: KeyMissing, sym: ev.sym, voids: w.st.money.voids, outside: m.outside}
	if m.key != nil {
		try.fault, try.src = w.judgeKey(m.key)
		t := w.deep(m.key)
		try.counter = t.has(FromCounter)
		if try.fault == KeyFresh && w.stored(t) {
			try.fault = KeyFine // the next delivery finds it
		}
	} else if m.unsure {
		try.fault = KeyFine
	}
	frames, cand := w.in.handlerOf(fr)
	pos, depth := standsAt(frames, cand, at)
	again := [2]bool{}
	for p := w.st.money.calls; p != nil; p = p.prev {
		if p.site == ev.site {
			again[b2i(p.ok)] = true
		}
		if try.fault != KeyFine || ev.sym == "" || p.sym != ev.sym || p.ns != ev.ns {
			continue
		}
		same := p.site == ev.site
		if same && (!p.ok || varies(ev.sym)) || !same && p.op == ev.op && !p.ok {
			continue // the same call again, which is what the key is for
		}
		try.fault, try.other = KeyShared, p.pos
		if d, in := parts(p.fr, frames); !same && in != nil && d < depth {
			pos = callPos(in)
			try.other = sharedWith(p, d)
		}
	}
	c := &MoneyCall{Desc: m.desc, Handler: frames[cand].fn.Name, Pos: pos, Call: callPos(at), Way: wayOf(frames, cand), pkg: frames[cand].fn.Pkg}
	for _, f := range frames {
		if f.via != nil && w.in.prog.own[f.via] && c.Binding == nil {
			c.Binding = f.via
		}
	}
	w.in.money.record(pos, c, try, again)
	return w.comesOut(ins, ev)
}

// comesOut are the ways out of a money call: done, or failed.
func (w *walker) comesOut(ins *Instr, ev *moneyEv) []exit {
	fallible := false
	for _, r := range ins.Call.Res {
		fallible = fallible || r != nil && r.Kind == KError
	}
	bad := *w
	bad.st = w.st.fork()
	done := *ev
	done.ok = true
	w.st.money.add(&done)
	out := w.quiet(ins)
	if fallible {
		failed := *ev
		bad.st.money.add(&failed)
		vals := make([]*Value, len(ins.Call.Res))
		for i, r := range ins.Call.Res {
			vals[i] = top
			if r != nil && r.Kind == KError {
				vals[i] = &Value{K: VErr, S: "money"}
			}
		}
		out = append(out, exit{vals, bad.st})
	}
	return out
}

func callPos(ins *Instr) Pos {
	if ins.Call != nil && ins.Call.At.IsValid() {
		return ins.Call.At
	}
	return ins.Pos
}

// handlerOf gives the frames from the root to fr, and which of them is the handler: the last that gets the message
// whole, or to which a dispatcher handed what it had decoded. What a remote client is called with is not handed on.
func (in *interp) handlerOf(fr *frame) ([]*frame, int) {
	var frames []*frame
	for f := fr; f != nil; f = f.up {
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
		if c := f.in.Call; c != nil && c.Kind == CallInvoke && know.RemoteName(shortName(c.Iface)) {
			break
		}
		if f.takes || msgParam(f.fn) || f.msgPos.IsValid() && !f.fn.Literal || f.dyn && f.event && in.prog.dispatched(frames, cand, i) {
			cand = i
		}
	}
	return frames, cand
}

// standsAt is where a call stands for the handler: itself when it is in the handler's package, else the call there
// that leads to it. depth is the frame in which that place is.
func standsAt(frames []*frame, cand int, ins *Instr) (pos Pos, depth int) {
	pkg := frames[cand].fn.Pkg
	n := len(frames) - 1
	if f := frames[n].fn; f.Pkg == pkg && !f.Gen {
		return callPos(ins), n
	}
	for i := n; i > cand; i-- {
		if up := frames[i-1].fn; up.Pkg == pkg && !up.Gen {
			return callPos(frames[i].in), i - 1
		}
	}
	return callPos(ins), n
}

func wayOf(frames []*frame, cand int) []Step {
	var way []Step
	for i := cand + 1; i < len(frames); i++ {
		if frames[i].in != nil {
			way = append(way, Step{Pos: callPos(frames[i].in), Name: frames[i].fn.Name})
		}
	}
	return way
}

// parts finds where the way of a later call leaves that of an earlier one: the depth of the function in which both
// are, and the later call's instruction there.
func parts(earlier *frame, later []*frame) (int, *Instr) {
	at := make(map[uint64]bool)
	for f := earlier; f != nil; f = f.up {
		at[f.hash] = true
	}
	for i, f := range later {
		if !at[f.hash] {
			if i == 0 {
				return 0, nil
			}
			return i - 1, f.in
		}
	}
	return len(later), nil
}

// sharedWith is where an earlier call stands in the function of the given depth.
func sharedWith(e *moneyEv, depth int) Pos {
	f := e.fr
	for n := frameDepth(f); f != nil && n > depth+1; n-- {
		f = f.up
	}
	if f != nil && f.in != nil && frameDepth(f) == depth+1 {
		return callPos(f.in)
	}
	return e.pos
}

func frameDepth(f *frame) int {
	n := -1
	for ; f != nil; f = f.up {
		n++
	}
	return n
}

func (m *moneyRun) record(pos Pos, c *MoneyCall, try moneyTry, again [2]bool) {
	s := m.sites[pos]
	if s == nil {
		s = &moneySite{call: c}
		m.sites[pos] = s
		m.order = append(m.order, pos)
	}
	s.again[0] = s.again[0] || again[0]
	s.again[1] = s.again[1] || again[1]
	try.call = c
	if len(s.tries) < 200 {
		s.tries = append(s.tries, try)
	}
}

// verdict puts together what the paths to a place have shown; nil when nothing is wrong with the key.
func (s *moneySite) verdict() *MoneyCall {
	c := *s.call
	for i := range s.tries {
		t := &s.tries[i]
		if t.fault == KeyFine && t.counter && s.again[0] {
			t.fault = KeyAttempt
		}
	}
	for i := range s.tries {
		t := &s.tries[i]
		if t.fault == KeyFine || (t.fault == KeyMissing || t.fault == KeyEmpty) && s.voided(t) {
			continue
		}
		if c.Fault != KeyFine && c.Fault <= t.fault {
			continue
		}
		c = *t.call
		c.Fault, c.Other, c.Outside = t.fault, t.other, t.outside
		if t.src != nil {
			c.Maker, c.MadeAt = t.src.What, t.src.Pos
		}
	}
	if c.Fault == KeyFine {
		return nil
	}
	for i := range s.tries {
		t := &s.tries[i]
		c.Partly = c.Partly || t.fault == KeyFine && t.call.Desc == c.Desc && slices.Equal(t.call.Way, c.Way)
	}
	return &c
}

// voided reports whether a path without a key is one on which what the key is made of is empty: that is no path of an
// event that has it.
func (s *moneySite) voided(t *moneyTry) bool {
	for _, v := range t.voids {
		for i := range s.tries {
			if o := &s.tries[i]; o.fault != KeyMissing && strings.Contains(o.sym, v) {
				return true
			}
		}
	}
	return false
}

// Money runs the roots of the given packages on a first delivery and returns the money calls whose key is not right.
func (p *Program) Money(pkgs map[string]bool) []*MoneyCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mayPay() {
		return nil
	}
	var out []*MoneyCall
	seen := make(map[Pos]bool)
	p.paying(pkgs, func(pos Pos, s *moneySite) {
		if c := s.verdict(); c != nil && !seen[pos] {
			seen[pos] = true
			out = append(out, c)
		}
	})
	sort.SliceStable(out, func(i, j int) bool { return less(out[i].Pos, out[j].Pos) })
	return out
}

// paying runs the roots of the given packages on a first delivery and visits the places where money is moved.
func (p *Program) paying(pkgs map[string]bool, visit func(Pos, *moneySite)) {
	entered, handed := make(map[string]bool), make(map[string]bool)
	for _, r := range p.Roots(pkgs) {
		if r.Kind == RootParam && entered[r.Fn.ID] {
			continue
		}
		in := p.payingRoot(r, visit)
		maps.Copy(entered, in.entered)
		maps.Copy(handed, in.handed)
	}
	done := make(map[string]bool)
	for more := p.workers(pkgs, handed); len(more) > 0; more = p.workers(pkgs, handed) {
		handed = make(map[string]bool)
		for _, r := range more {
			if !done[r.feed.slot] {
				done[r.feed.slot] = true
				maps.Copy(handed, p.payingRoot(r, visit).handed)
			}
		}
	}
}

// payingRoot does this for one root.
func (p *Program) payingRoot(r Root, visit func(Pos, *moneySite)) *interp {
	in := newInterp(p, World{})
	in.money = &moneyRun{sites: make(map[Pos]*moneySite), built: make(map[string][]builtVal)}
	in.execute(r)
	for _, pos := range in.money.order {
		visit(pos, in.money.sites[pos])
	}
	return in
}

// Money are the money calls of the package's handlers whose key is not right.
func (r *Result) Money() []*MoneyCall {
	if r.skipped {
		return nil
	}
	r.work.Lock()
	defer r.work.Unlock()
	out := r.Prog.Money(r.Prog.ownPkgs)
	if Opts.Index {
		return out
	}
	if deps := r.Prog.boundPackages(); len(deps) > 0 {
		for _, c := range r.Prog.Money(deps) {
			if c.Binding == nil {
				continue
			}
			if !r.Prog.ownPkgs[c.pkg] {
				c.Home, c.Pos = c.Pos, c.Binding.Pos
			}
			out = append(out, c)
		}
	}
	return out
}

// mayPay reports whether any function in sight makes a call that could move money.
func (p *Program) mayPay() bool {
	for _, f := range p.funcs {
		s := p.scopeIn(f.Pkg)
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				c := f.Blocks[bi].Instrs[ii].Call
				if c == nil {
					continue
				}
				if know.Payment(c.Pkg) || c.Kind == CallInvoke && s.RemoteMoney(shortName(c.Iface), c.Fn) || s.RemoteMoney(c.Recv, c.Name) {
					return true
				}
				if row := know.Lookup(know.Sym{Pkg: c.Pkg, Recv: c.Recv, Name: c.Name}); row != nil {
					switch row.Kind {
					case know.HTTPSend, know.HTTPPost, know.RestSend, know.GRPCInvoke:
						return true
					}
				}
			}
		}
	}
	return false
}
