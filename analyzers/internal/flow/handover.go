package flow

import (
	"go/types"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A message may be handed over to a goroutine by a channel: whole, in a struct of the module's own, decoded, or in a
// function that was made for it. Who sends does not see what becomes of it. So the functions that receive from the
// channel are run from where they receive, for the question what they do to the world.

// workChan reports whether a type is a channel on which work may be handed over: anything but errors, signals, ticks
// and numbers.
func workChan(t types.Type) bool {
	ch, ok := t.Underlying().(*types.Chan)
	if !ok {
		return false
	}
	if messageChan(t) {
		return true
	}
	e := types.Unalias(ch.Elem())
	switch typeName(e) {
	case "time.Time", "os.Signal":
		return false
	}
	switch u := e.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.String
	case *types.Struct:
		return u.NumFields() > 0
	}
	return !isError(e)
}

// idle reports whether a channel that a select receives from only says that time has passed or that a context ended.
func idle(ch ssa.Value) bool {
	if c, ok := ch.Type().Underlying().(*types.Chan); ok {
		switch typeName(c.Elem()) {
		case "time.Time", "os.Signal":
			return true
		}
	}
	if phi, ok := ch.(*ssa.Phi); ok && len(phi.Edges) > 0 {
		ch = phi.Edges[0]
	}
	c, ok := ch.(*ssa.Call)
	if !ok {
		return false
	}
	if c.Call.IsInvoke() {
		return c.Call.Method.Name() == "Done"
	}
	return c.Call.StaticCallee() != nil && c.Call.StaticCallee().Name() == "Done"
}

// ticks reports whether a channel is a ticker's: it yields again and again, whatever message is in hand.
func ticks(ch ssa.Value) bool {
	switch ch := ch.(type) {
	case *ssa.UnOp:
		f, ok := ch.X.(*ssa.FieldAddr)
		return ok && typeName(f.X.Type()) == "time.Ticker"
	case *ssa.Call:
		f := ch.Call.StaticCallee()
		return f != nil && f.Pkg != nil && f.Pkg.Pkg.Path() == "time" && f.Name() == "Tick"
	}
	return false
}

// workEdge records which channels a send is on.
func (f *funcLowerer) workEdge(dst string, ch ssa.Value) {
	if !workChan(ch.Type()) {
		return
	}
	for _, s := range f.slots(ch) {
		f.edges[Edge{Dst: dst, Src: s}] = true
	}
}

// sendSlot stands for the channel of a send.
func sendSlot(fn string, pos Pos) string { return "Y|" + fn + "|" + siteKey(pos) }

// feed is a receive that yields work which was handed over.
type feed struct {
	fn   string
	slot string // see [recvSlot]
	pos  Pos
	n    int // the place of its value among those of its instruction
}

// handover is what becomes of what is sent on a channel.
type handover struct {
	hit  *Hit // an effect that a receiver reaches
	acks bool // a receiver acknowledges
}

const (
	workSteps  = 60_000 // of one receiver
	workLevels = 3      // of functions that call the one that receives
)

// receives tells for each place a channel may come from who receives from it.
func (p *Program) receives() map[string][]feed {
	if p.feeds != nil {
		return p.feeds
	}
	p.feeds = make(map[string][]feed)
	for _, id := range p.sortedIDs() {
		f := p.funcs[id]
		if f.Test {
			continue
		}
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				in := &f.Blocks[bi].Instrs[ii]
				switch in.Op {
				case OpRecv:
					p.receive(feed{id, recvSlot(id, in.Dst, 0), in.Pos, placeRecv})
				case OpSelect:
					for i := range len(in.S) {
						if in.S[i] == selMessage || in.S[i] == selOther {
							p.receive(feed{id, recvSlot(id, in.Dst, i), in.Pos, placeRecv + i})
						}
					}
				}
			}
		}
	}
	return p.feeds
}

func (p *Program) receive(r feed) {
	if len(p.edges[r.slot]) == 0 {
		return
	}
	for _, s := range p.ends(r.slot) {
		p.feeds[s] = append(p.feeds[s], r)
	}
}

// ends are the places that what is in a slot comes from, as far back as can be seen.
func (p *Program) ends(slot string) []string {
	var out []string
	for _, s := range slices.Sorted(maps.Keys(p.behind(slot))) {
		if s != slot && len(p.into(s)) == 0 && len(p.calls(s)) == 0 {
			out = append(out, s)
		}
	}
	return out
}

// handsTo finds out what becomes of what is sent on the channel that a slot stands for, nil when nobody in sight does
// anything to the world for it.
func (p *Program) handsTo(slot string) *handover {
	if h, ok := p.hands[slot]; ok {
		return h
	}
	if p.hands == nil {
		p.hands = make(map[string]*handover)
	}
	p.hands[slot] = nil // what is handed on in a circle does nothing by that
	if len(p.edges[slot]) == 0 {
		return nil
	}
	out := &handover{}
	seen := make(map[string]bool)
	for _, s := range p.ends(slot) {
		for _, r := range p.receives()[s] {
			if !seen[r.slot] {
				seen[r.slot] = true
				p.worked(r, out)
			}
		}
	}
	if out.hit == nil {
		return nil
	}
	p.hands[slot] = out
	return out
}

// worked runs the function that receives, and while that shows nothing those that call it.
func (p *Program) worked(r feed, out *handover) {
	level := []string{r.fn}
	seen := make(map[string]bool)
	for range workLevels {
		var up []string
		for _, id := range level {
			f := p.fn(id)
			if f == nil || seen[id] {
				continue
			}
			seen[id] = true
			p.work(f, r, out)
			up = append(up, p.callersOf(id)...)
		}
		if out.hit != nil {
			return
		}
		if level = up; len(level) > 8 {
			level = level[:8]
		}
	}
}

// work runs one function for what it does with what a receive yields.
func (p *Program) work(f *Func, r feed, out *handover) {
	in := newInterp(p, World{})
	in.limit, in.traces, in.feed = workSteps, true, &r
	var last *Hit
	in.watch = func(w *walker, e *Event) {
		if !r.yielded(w.st.trace) {
			return
		}
		switch {
		case e.Kind == EvAck:
			out.acks = true
		case e.Kind == EvEffect && !e.Hit.cache, e.Kind == EvHand:
			if last == nil || less(e.Hit.Pos, last.Pos) {
				last = e.Hit
			}
		}
	}
	in.execute(Root{Fn: f, Kind: RootSource})
	if out.hit == nil {
		out.hit = last
	}
}

// yielded reports whether what was last taken on a path came by this receive.
func (r *feed) yielded(trace *Event) bool {
	for e := trace; e != nil; e = e.Prev {
		if e.Kind == EvPoll {
			return e.Case == r.n && (e.Pos == r.pos || r.n == placeField)
		}
	}
	return false
}

// feeds reports whether a receive yields the work whose way is followed in this run.
func (w *walker) feeds(ins *Instr, i int) bool {
	return w.in.feed != nil && w.in.feed.slot == recvSlot(w.fn.ID, ins.Dst, i)
}

// work is what a receive yields that is no message by its type.
func (w *walker) work(ins *Instr, ch *Value, place int) *Value {
	v := &Value{K: VTop, T: Taint{Bits: FromPayload}, Slot: ch.Slot}
	v.O = w.in.object(w.fr, ins, place, nil)
	v.O.Taint = v.T
	w.over = w.over || ins.Op == OpRecv && w.again(ins)
	w.took()
	if !w.fr.msgPos.IsValid() {
		w.fr.msgPos = ins.Pos
	}
	w.event(&Event{Kind: EvPoll, Pos: ins.Pos, Case: place})
	return v
}

// workers are the functions that receive what was made of a message and sent to them.
func (p *Program) workers(pkgs, handed map[string]bool) []Root {
	var out []Root
	for _, slot := range slices.Sorted(maps.Keys(handed)) {
		if len(p.edges[slot]) == 0 {
			continue
		}
		for _, s := range p.ends(slot) {
			for _, r := range p.receives()[s] {
				if f := p.fn(r.fn); f != nil && pkgs[f.Pkg] && !f.Gen && !p.hasSource(f) {
					out = append(out, Root{Fn: f, Kind: RootSource, feed: &r})
				}
			}
		}
	}
	return out
}

// hands records that something of the message in hand is sent to who does something to the world for it.
func (w *walker) hands(ins *Instr, v *Value, slot string) {
	if !w.in.traces || !w.st.msg || w.failing() || v.K == VErr || !v.Msg && !w.deep(v).has(FromMessage|FromPayload) {
		return
	}
	if h := w.in.prog.handsTo(slot); h != nil {
		w.event(&Event{Kind: EvHand, Pos: ins.Pos, Hit: h.hit, Acks: h.acks})
	}
}

func (w *walker) failing() bool { return w.in.world.Fail != "" || w.in.world.Broken != "" }

// sends executes a send. A function that was made for a message and is sent runs in the goroutine that receives it. It
// returns false when no path goes on.
func (w *walker) sends(ins *Instr) {
	v := w.val(ins.B)
	w.send(w.val(ins.A), v, ins, sendSlot(w.fn.ID, ins.Pos))
	outs := w.runSent(ins, v)
	for i, e := range outs {
		if i == 0 {
			w.st = e.st
			continue
		}
		w.forks = append(w.forks, item{blk: w.blk, idx: w.idx, env: append([]*Value(nil), w.env...), st: e.st})
	}
}

// runSent runs a function that is sent, nil when it has nothing of a message.
func (w *walker) runSent(ins *Instr, v *Value) []exit {
	if v.K != VFunc || v.Iface != "" || !w.st.msg || w.in.wires != nil || !w.deep(v).has(FromMessage|FromPayload) {
		return nil
	}
	sub := *w
	sub.st = w.st.fork()
	sub.st.async++
	call := &Instr{Op: OpGo, Dst: -1, Pos: ins.Pos, Call: &Call{Kind: CallDynamic}}
	outs := sub.callback(call, v, nil)
	for i := range outs {
		outs[i].st.leaveGoroutine()
	}
	return outs
}

// runChosen is [walker.runSent] for a send that a select chose: the way out on which most happens.
func (w *walker) runChosen(ins *Instr, v *Value) {
	most := -1
	for _, e := range w.runSent(ins, v) {
		n := 0
		for t := e.st.trace; t != nil; t = t.Prev {
			n++
		}
		if n > most {
			most, w.st = n, e.st
		}
	}
}
