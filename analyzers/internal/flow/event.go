package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// An EventKind is a kind of event on a path.
type EventKind uint8

// The kinds of events.
const (
	EvCheck EventKind = iota + 1
	EvEffect
	EvBegin
	EvCommit
	EvRollback
	EvAck
	EvNack
	EvWait   // goroutines are waited for
	EvPoll   // messages are taken out of a client
	EvTake   // one message is taken out of several
	EvFail   // the effect that fails in this world has failed
	EvDead   // a message goes to a dead-letter or retry topic
	EvUnseen // a callee that cannot be seen gets something of the message
	EvHand   // something of the message is sent to a goroutine that does something to the world for it
)

// An Event is something that happened on a path, in order.
type Event struct {
	Prev    *Event
	Kind    EventKind
	Hit     *Hit
	Site    *site
	Tx      *Tx
	Pos     Pos
	Desc    string
	Outcome outcome
	Depth   int  // how many goroutines deep
	Auto    bool // of a poll: it commits what it returns
	Case    int  // of a poll: which of the channels of a select yields
	All     bool // of an acknowledgement: of everything that was polled or marked
	Acks    bool // of a handover: who gets the message acknowledges
	Fr      *frame
	hash    uint64 // of the trace that ends here
}

// notes are what a path keeps for the questions about order and headers. They tell no two paths apart.
type notes struct {
	tick  int          // how deep in goroutines a ticker was waited for: what follows is done time and again
	gen   int          // number of the message that was last taken out of several
	eats  *Func        // the function that keeps the failure in this world to itself
	ctxTx bool         // a transaction was looked for in a context of which not all is seen
	hdr   *Src         // the name that a header was last found to have, see header.go
	heads []headerNote // event-id headers written for the next message
}

// watching is what a run keeps for them.
type watching struct {
	watch   func(w *walker, e *Event)
	flat    bool                // tell the watcher, and keep no trace
	broke   *Hit                // the effect that fails was just reached
	counts  map[string]string   // keys of Redis counters by where they are incremented
	expire  map[string]bool     // keys that are told to expire
	piped   *Hit                // the same, when it was queued on a pipeline
	readers map[string]tristate // readers made in this run: do they belong to a group
	bareIDs []BareID
	named   bool // an event-id header was written
	unsure  bool // of a message whose payload is not seen
}

// event appends to the path's trace when somebody wants it. The trace holds what happened since the message was taken:
// with the next poll a new one begins, and with the next message of a batch the path is back where the first was taken.
func (w *walker) event(e *Event) {
	if !w.in.traces {
		return
	}
	e.Fr, e.Depth = w.fr, w.st.async
	if w.in.flat || !w.matters(e) {
		if w.in.watch != nil {
			w.in.watch(w, e)
		}
		return
	}
	for p := w.st.trace; p != nil; p = p.Prev {
		if p.Kind == e.Kind && p.Pos == e.Pos && p.Depth == e.Depth && p.Outcome == e.Outcome && p.Case == e.Case && p.Fr.hash == e.Fr.hash {
			if e.Kind == EvPoll || e.Kind == EvTake {
				w.st.trace, w.st.thash = p, p.hash
			}
			return
		}
	}
	if e.Kind == EvPoll {
		w.st.trace, w.st.thash = nil, 0
	}
	if w.in.watch != nil {
		w.in.watch(w, e)
	}
	e.Prev = w.st.trace
	h := uint64(e.Kind)<<32 + uint64(e.Pos.Line)<<8 + uint64(e.Pos.Col) + hashString(e.Pos.File) + uint64(e.Depth)<<40 + uint64(e.Outcome)<<50 + uint64(e.Case)<<56
	e.hash = mix(w.st.thash*31 + h)
	w.st.trace, w.st.thash = e, e.hash
}

// matters reports whether later events can be judged differently for this one. What does not is left out of the trace,
// since paths with different traces are walked separately.
func (w *walker) matters(e *Event) bool {
	switch e.Kind {
	case EvBegin, EvRollback:
		return false
	case EvUnseen, EvDead, EvNack:
		return w.in.world.Fail != "" || w.in.world.Broken != ""
	case EvCheck:
		return !e.Site.Look || e.Outcome == outFail
	case EvWait:
		for p := w.st.trace; p != nil; p = p.Prev {
			if p.Depth > e.Depth || p.Kind == EvHand && p.Depth == e.Depth {
				return true
			}
		}
		return false
	}
	return true
}

// placeOf is the place of a library call: the method's name, or the statement that defers it.
func placeOf(ins *Instr) Pos {
	if ins.Call != nil && ins.Call.At.IsValid() {
		return ins.Call.At
	}
	return ins.Pos
}

// taken gives a message that was taken out of several a number of its own.
func (w *walker) taken(pos Pos, v *Value) *Value {
	if !w.in.traces || !v.Msg || v.Batch {
		return v
	}
	w.event(&Event{Kind: EvTake, Pos: pos})
	w.st.gen++
	c := *v
	c.gen = w.st.gen
	return &c
}

// takenOut is [walker.taken] for a call that takes a message out of an iterator.
func (w *walker) takenOut(ins *Instr, vals, args []*Value) {
	if !w.in.traces {
		return
	}
	batch := false
	for _, a := range args {
		if a.Msg && !a.Batch {
			return
		}
		batch = batch || a.Msg
	}
	for i, v := range vals {
		if batch && v != nil && v.Msg && !v.Batch {
			vals[i] = w.taken(ins.Pos, v)
			w.set(ins.Dst, tuple(ins.Call, vals))
		}
	}
}

// acked records an acknowledgement of the message in hand.
func (w *walker) acked(ins *Instr, row *know.Row, recv *Value, args []*Value) {
	if !w.in.traces {
		return
	}
	var vals []*Value
	switch {
	case row.Arg == -2:
		vals = []*Value{recv}
	case row.Arg >= 0:
		vals = append(w.variadic(args, row.Arg), at(args, row.Arg))
	}
	if vals != nil {
		given, old := false, false
		for _, v := range vals {
			if v == nil || v.K == VNil || !v.Msg && !w.deep(v).has(FromMessage) {
				continue
			}
			given = true
			old = old || v.gen != 0 && v.gen != w.st.gen
		}
		if !given || old {
			return // of other messages
		}
	}
	if row.Arg2 >= 0 && w.ofOffsets(at(args, row.Arg2)) {
		return
	}
	desc := ins.Call.Name
	if ins.Call.Recv != "" && ins.Call.Recv != "*" {
		desc = ins.Call.Recv + "." + desc
	}
	w.event(&Event{Kind: EvAck, Pos: placeOf(ins), Desc: desc, All: vals == nil})
}

// named records that a function is entered whose name says that it takes care of a message that failed.
func (w *walker) named(ins *Instr, fn *Func) {
	if !w.in.traces {
		return
	}
	if _, name := splitType(fn.Name); !fn.Literal && (deadLetterName(name) || deadLetterType(fn.Recv)) {
		w.event(&Event{Kind: EvDead, Pos: ins.Pos})
	}
}

// unseenEvent records a call into the dark that may take care of the message.
func (w *walker) unseenEvent(ins *Instr, typ, name string, args []*Value) {
	if !w.in.traces || logName(shortName(typ)) || logName(name) {
		return
	}
	kind := EvUnseen
	if deadLetterName(name) || deadLetterName(shortName(typ)) {
		kind = EvDead
	} else if !w.carriesMessage(args) {
		return
	}
	w.event(&Event{Kind: kind, Pos: ins.Pos})
}

func (w *walker) carriesMessage(args []*Value) bool {
	for _, a := range args {
		if w.deep(a).has(FromMessage | FromPayload) {
			return true
		}
	}
	return false
}

// logName reports whether a name says that nothing but telemetry is meant.
func logName(s string) bool {
	for _, x := range know.Words(s) {
		switch x {
		case "log", "logger", "logging", "metric", "metrics", "tracer", "tracing", "trace", "span", "telemetry", "stats", "counter",
			"error", "errorf", "errorw", "warn", "warnf", "warnw", "info", "infof", "infow", "debug", "debugf", "debugw", "print", "printf", "println":
			return true
		}
	}
	return false
}

// breaks reports whether an effect is the one that fails in this world. It has not happened then.
func (w *walker) breaks(h *Hit) bool {
	if w.in.world.Broken == "" || w.in.world.Broken != siteKey(h.Pos) {
		return false
	}
	w.in.broke = h
	w.st.broke++
	return true
}

// broken gives the call in which the effect failed an outcome that says so. Where none can, the failure is not seen by
// anybody and nothing follows from it.
func (w *walker) broken(ins *Instr, exits []exit) []exit {
	h := w.in.broke
	if h == nil {
		return exits
	}
	w.in.broke = nil
	queued := onPipeline(ins.Call)
	for i := range exits {
		said := false
		e := &exits[i]
		vals := append([]*Value(nil), e.vals...)
		for j, r := range ins.Call.Res {
			if r != nil && r.Kind == KError && j < len(vals) {
				vals[j], said = &Value{K: VErr, S: errFail}, true
			}
		}
		sub := *w
		sub.st = e.st
		for j, v := range vals {
			if v == nil || said {
				continue
			}
			switch {
			case v.K == VTuple && v.Dyn == "redis.Cmd" && len(v.Elems) == 2:
				c := *v
				c.Elems = []*Value{v.Elems[0], {K: VErr, S: errFail}}
				vals[j], said = &c, true
			case v.K == VRow && v.Row != nil:
				c, r := *v, *v.Row
				r.state = rowFail
				c.Row = &r
				vals[j], said = &c, true
			case v.Prod:
				c := *v
				c.bad = true
				vals[j], said = &c, true
			case v.O != nil && v.O.Chain != nil:
				if e.st.get(cell{v.O.id, "Error"}) != nil {
					e.st.set(cell{v.O.id, "Error"}, &Value{K: VErr, S: errFail})
					said = true
				}
			}
		}
		e.vals = vals
		if queued {
			e.st.set(w.pipeFails(), &Value{K: VErr, S: errFail})
			w.in.piped = h
		} else if said {
			sub.event(&Event{Kind: EvFail, Pos: h.Pos, Hit: h})
		}
		e.st = sub.st
	}
	return exits
}

// swallows remembers the function in which the failure in this world is kept from who called it.
func (w *walker) swallows(fr *frame, exits []exit) {
	if w.in.world.Broken == "" {
		return
	}
	for _, e := range exits {
		if e.st.eats != nil {
			continue
		}
		if n := len(fr.fn.Results); n > 0 && n == len(e.vals) && fr.fn.Results[n-1].Kind == KError && e.vals[n-1].K != VNil {
			continue
		}
		for t := e.st.trace; t != nil; t = t.Prev {
			if t.Kind == EvFail && t.Fr.within(fr) {
				e.st.eats = fr.fn
				break
			}
		}
	}
}

// within reports whether a call was made by another one, at any distance.
func (fr *frame) within(up *frame) bool {
	for f := fr; f != nil; f = f.up {
		if f == up {
			return true
		}
	}
	return false
}

// onPool reports whether the statement under way surely runs in no transaction: on a pool, or on a handle that was
// there before the message came.
func (w *walker) onPool() bool {
	v, c := w.handle, w.hcall
	if v == nil || c == nil || w.st.ctxTx || strings.Contains(c.Pkg, "clickhouse") {
		return false
	}
	for range 4 {
		if v.O == nil || v.O.Chain == nil || v.O.Chain.root == nil || v.O.Chain.root == v {
			break
		}
		v = v.O.Chain.root
	}
	if w.txOf(v) != nil || v.T.has(FromUnseen) {
		return false
	}
	if poolType(v.Dyn) {
		return true
	}
	if v.Dyn != "" && !strings.HasSuffix(v.Dyn, "gorm.DB") {
		return false
	}
	if c.Kind == CallStatic {
		switch c.Recv {
		case "Pool":
			return true
		case "DB":
			if !strings.HasPrefix(c.Pkg, "gorm.io") {
				return true
			}
		case "Tx", "Conn", "Stmt":
			return false
		}
	}
	if v.O != nil && v.O.T != nil && txTypeName(v.O.T.Name) {
		return false
	}
	slot := slotName(v)
	if slot == "" || slot[0] != 'F' && slot[0] != 'G' && slot[0] != 'V' {
		return false
	}
	if slot[0] == 'V' && !strings.HasPrefix(slot, "V|"+w.in.root.ID+"|") {
		return false
	}
	return !txTypeName(lastPart(slot))
}

// poolType reports whether a type is a pool of connections, on which no transaction is open.
func poolType(t string) bool {
	pkg, name := splitType(t)
	switch know.Normal(pkg) {
	case "github.com/jackc/pgx/pgxpool":
		return name == "Pool"
	case "database/sql", "github.com/jmoiron/sqlx", "github.com/uptrace/bun":
		return name == "DB"
	}
	return false
}

// txTypeName reports whether a name says transaction.
func txTypeName(s string) bool {
	_, s = splitType(s)
	for _, x := range know.Words(s) {
		switch x {
		case "tx", "txn", "transaction", "uow":
			return true
		}
	}
	return false
}

const groupErr = "{error}"

// groupFails remembers that a function run in a group of goroutines returned an error.
func (w *walker) groupFails(group *Value, vals []*Value) {
	if group == nil || len(vals) == 0 || group.K != VTop && group.K != VRef && group.K != VNotNil {
		return
	}
	w.in.objOf(group, nil)
	if e := vals[len(vals)-1]; e != nil && e.K == VErr {
		w.st.set(cell{group.O.id, groupErr}, e)
	}
}

// groupError is what waiting for a group returns: the error of one of its functions.
func (w *walker) groupError(group *Value, exits []exit, c *Call) []exit {
	if group == nil || group.O == nil {
		return exits
	}
	e := w.st.get(cell{group.O.id, groupErr})
	if e == nil {
		return exits
	}
	for i := range exits {
		for j, r := range c.Res {
			if r != nil && r.Kind == KError {
				exits[i].vals[j] = e
			}
		}
	}
	return exits
}

// onlyReturned reports whether a value is returned and not looked at: an error that is made so is one.
func (f *Func) onlyReturned(v int32) bool {
	if v < 0 {
		return false
	}
	used := false
	for bi := range f.Blocks {
		for ii := range f.Blocks[bi].Instrs {
			in := &f.Blocks[bi].Instrs[ii]
			for _, o := range operands(in) {
				if o != v {
					continue
				}
				if in.Op != OpReturn && !f.storesResult(in) {
					return false
				}
				used = true
			}
		}
	}
	return used
}

// storesResult reports whether an instruction stores into a result: where functions are deferred, a return statement does.
func (f *Func) storesResult(in *Instr) bool {
	if in.Op != OpStore {
		return false
	}
	d := f.def(in.A)
	return d != nil && d.Op == OpAlloc && d.S == "" // a variable without a name is a result
}

// ends reports whether a call never returns: it ends the process or the goroutine.
func ends(c *Call) bool {
	switch {
	case c.Pkg == "os" && c.Name == "Exit", c.Pkg == "runtime" && c.Name == "Goexit":
		return true
	case strings.HasPrefix(c.Name, "Fatal"), strings.HasPrefix(c.Name, "Panic"):
		return strings.Contains(c.Pkg, "log") || strings.Contains(c.Pkg, "zap")
	}
	return false
}

// txKey reports whether a context's key says that a transaction is kept under it.
func txKey(key *Value) bool {
	name := ""
	if key.O != nil {
		name = key.O.Name
	}
	return txTypeName(key.Dyn) || txTypeName(name) || key.K == VStr && txTypeName(key.S)
}

// mayHoldTx notes that a transaction was looked for in a context that comes from outside the root: whoever calls it may
// have put one there.
func (w *walker) mayHoldTx(key *Value) {
	if w.in.kind == RootParam && txKey(key) {
		w.st.ctxTx = true
	}
}
