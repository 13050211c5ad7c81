package flow

import "github.com/idemlint/idemlint/analyzers/internal/sqltext"

// The bounds of one run. A function that needs more is given up, and the run says so.
const (
	maxSteps  = 400_000 // instructions
	maxDepth  = 28      // calls within calls
	maxStates = 40      // states of one block in one call
	maxExits  = 14      // ways out of one call

	largeBlocks = 60 // from so many blocks on a function gets fewer states a block
)

// A World says how checks answer.
type World struct {
	Dup    bool            // "already there"
	Memory bool            // sets that live in the process answer, too
	Blind  bool            // a check that only looks finds nothing: another consumer is as far as this one
	Fail   string          // the key of the check that fails
	Dupe   map[string]bool // for a guard of which only the name is seen: does true mean duplicate
	Only   string          // only the check with this key answers "already there"
	Broken string          // the place of the effect that fails
}

// anyCheck stands for all checks that ask a store, in World.Fail.
const anyCheck = "*"

// interp runs one root in one world.
type interp struct {
	prog   *Program
	world  World
	steps  int
	gaveUp bool
	nextID int
	objs   map[objKey]*Object
	made   map[uint64][]int // objects by the hash of the frame that makes them
	txs    map[objKey]*Tx
	global map[string]*Object

	hits     []*Hit
	hitSeen  map[string]bool
	sites    map[string]*site
	sinks    []Sink
	sinkKey  map[string]bool
	open     map[Open]bool   // calls that nothing in sight answers
	handled  map[string]bool // statements whose unique violation is looked at
	either   map[string]bool // guards by name whose polarity is not known
	wrote    map[string]bool // tables and keys that the first delivery leaves behind
	memory   bool            // a set in memory was looked at
	sends    map[string]bool // channel element types something was sent to
	traces   bool            // keep the order of events
	onEnd    func(st *state, vals []*Value)
	limit    int
	kind     RootKind
	producer bool // the root sends the messages it is given
	root     *Func
	active   bool            // a message was seen
	entered  map[string]bool // functions that got a message whole
	watching
	asked   map[string]bool // checks of whose outcome more than the error is looked at
	onSQL   func(ran)       // a statement is executed
	onEnter func(*frame)    // a function gets the message, or an event
	money   *moneyRun       // set when money calls are looked for
	wires   *wires          // set when the program is put together

	leaves map[string][]remains // what is in the rows afterwards
	rows   *relayRun            // set when relays of stored rows are looked for
	ids    bool                 // random ids are looked for: where their makers are handed over counts
	feed   *feed                // the receive whose way is followed
	handed map[string]bool      // where to something of a message was sent, see sendSlot

	sources bool // a header or an offset was read
	sinking bool // it is asked what becomes an id
}

type objKey struct {
	fr uint64
	in *Instr
	n  int
}

func newInterp(p *Program, w World) *interp {
	return &interp{prog: p, world: w, limit: maxSteps, objs: make(map[objKey]*Object), made: make(map[uint64][]int), txs: make(map[objKey]*Tx), global: make(map[string]*Object),
		hitSeen: make(map[string]bool), sites: make(map[string]*site), sinkKey: make(map[string]bool), open: make(map[Open]bool),
		handled: make(map[string]bool), asked: make(map[string]bool), either: make(map[string]bool), wrote: make(map[string]bool), sends: make(map[string]bool), entered: make(map[string]bool), handed: make(map[string]bool)}
}

// frame is one call under way.
type frame struct {
	fn     *Func
	up     *frame
	in     *Instr // the call in up
	via    *Edge  // how a dynamic callee was found
	hash   uint64
	depth  int
	dyn    bool // called through a function value or interface
	takes  bool // gets the message whole, as a parameter
	event  bool // gets what was decoded from it, through dyn
	msgPos Pos  // where this function takes a message out of something
	refPos Pos  // where the function value was handed over
	free   []*Value
	goes   bool // runs in another goroutine
	exact  bool // it asked for a length that is known: its counting is followed
}

func (fr *frame) calls(id string) bool {
	for f := fr; f != nil; f = f.up {
		if f.fn.ID == id {
			return true
		}
	}
	return false
}

// nested reports whether a value may be called within a call of the same function: a decorator in another, of which it is
// known what each was made of.
func (w *walker) nested(v *Value, id string) bool {
	n := 0
	for f := w.fr; f != nil; f = f.up {
		if f.fn.ID == id {
			n++
		}
	}
	return (v.wired || w.in.wires != nil && !v.Bound && len(v.Elems) > 0) && n < wireDepth
}

// exit is one way out of a call.
type exit struct {
	vals []*Value
	st   *state
}

// item is a path that still has to be walked.
type item struct {
	blk int32
	idx int
	env []*Value
	st  *state
}

// object returns the object of an instruction in a frame, the same one each time.
func (in *interp) object(fr *frame, ins *Instr, n int, t *Type) *Object {
	k := objKey{fr.hash, ins, n}
	if o := in.objs[k]; o != nil {
		return o
	}
	in.nextID++
	o := &Object{id: in.nextID, T: t}
	in.objs[k] = o
	in.made[fr.hash] = append(in.made[fr.hash], o.id)
	return o
}

func (in *interp) newObject(t *Type) *Object {
	in.nextID++
	return &Object{id: in.nextID, T: t}
}

// objOf gives an unknown value something to have fields in.
func (in *interp) objOf(v *Value, t *Type) *Object {
	if v.O == nil {
		v.O = in.newObject(t)
		v.O.Taint, v.O.Slot = v.T, v.Slot
	}
	return v.O
}

// run executes a function and returns the ways out of it.
func (in *interp) run(fn *Func, args []*Value, st *state, fr *frame) []exit {
	fn.prepare()
	from := in.nextID
	env := make([]*Value, fn.Values)
	copy(env, args)
	for i, v := range fr.free {
		if len(fn.Params)+i < len(env) {
			env[len(fn.Params)+i] = v
		}
	}
	var exits []exit
	exitSeen := make(map[uint64]bool)
	seen := make(map[uint64]bool)
	count := make([]int, len(fn.Blocks))
	most := maxStates
	if n := len(fn.Blocks); n > largeBlocks {
		// A large function has as many values as blocks, and each state holds them all.
		most = max(2, maxStates*largeBlocks/n)
	}
	work := []item{{env: env, st: st}}
	for len(work) > 0 && !in.gaveUp {
		it := work[len(work)-1]
		work = work[:len(work)-1]
		w := &walker{in: in, fr: fr, fn: fn, blk: it.blk, idx: it.idx, env: it.env, st: it.st}
		w.walk()
		work = append(work, w.forks...)
		for _, s := range w.next {
			if count[s.blk] >= most {
				continue
			}
			k := in.key(s, fn)
			if seen[k] {
				continue
			}
			seen[k] = true
			count[s.blk]++
			work = append(work, s)
		}
		if w.done {
			if fr.up != nil {
				in.forget(fr, w.st, w.ret, w.env, from)
			}
			k := w.st.key()
			for _, v := range w.ret {
				k = mix(k*31 + v.scalar())
			}
			if !exitSeen[k] && len(exits) < maxExits {
				exitSeen[k] = true
				exits = append(exits, exit{w.ret, w.st})
			}
		}
	}
	return exits
}

func (in *interp) key(it item, fn *Func) uint64 {
	k := it.st.key() ^ uint64(it.blk)*2654435761
	for _, v := range fn.Blocks[it.blk].live {
		x := it.env[v]
		k = mix(k*31 + x.scalar())
		if in.sinking && x != nil && len(x.T.Srcs) > 0 {
			// A value that is an id is another than the nothing that stands for it on another path.
			k ^= uint64(x.T.Bits&asIDs) << 32
		}
	}
	return k
}

// walker walks one path through one function until it forks or ends.
type walker struct {
	in    *interp
	fr    *frame
	fn    *Func
	blk   int32
	idx   int
	env   []*Value
	st    *state
	forks []item // the same block, other outcomes
	next  []item // successors
	done  bool
	over  bool // the path has nothing more to show
	ret   []*Value
	// handle is what the library call under way is a method of.
	handle *Value
	hcall  *Call
	query  *sqltext.Statement // that was last run
	// asksRow is the key of the look that has just asked for the row that the INSERT under way adds.
	asksRow string
	reading *rowRead // the row that the query under way reads
}

func (w *walker) walk() {
	b := &w.fn.Blocks[w.blk]
	for w.idx < len(b.Instrs) {
		ins := &b.Instrs[w.idx]
		w.idx++
		if w.in.money != nil && !w.in.money.watched(w, ins) {
			return
		}
		if w.in.steps++; w.in.steps > w.in.limit {
			w.in.gaveUp = true
			return
		}
		switch ins.Op {
		case OpPhi, OpNone:
			continue
		case OpIf:
			w.branch(ins)
			return
		case OpJump:
			w.goTo(b.Succs[0], w.env, w.st)
			return
		case OpReturn:
			w.ret = make([]*Value, len(ins.Args))
			for i, a := range ins.Args {
				w.ret[i] = w.val(a)
				w.leave(slotN("R", w.fn.ID, i), w.ret[i])
			}
			w.returned(ins)
			w.done = true
			return
		case OpPanic:
			return
		case OpCall, OpGo:
			if !w.call(ins) {
				return
			}
		case OpDefer:
			d := deferred{in: ins, fr: w.fr}
			if ins.Call.Kind != CallStatic && ins.Call.Kind != CallBuiltin {
				d.fun = w.val(ins.Call.Fun)
			}
			for _, a := range ins.Call.Args {
				d.args = append(d.args, w.val(a))
			}
			w.st.defs = append(w.st.defs[:len(w.st.defs):len(w.st.defs)], d)
		case OpRunDefers:
			if !w.runDefers() {
				return
			}
		default:
			w.simple(ins)
			if w.over {
				return
			}
		}
	}
}

// goTo takes an edge: the phis of the target get their values.
func (w *walker) goTo(to int32, env []*Value, st *state) {
	tb := &w.fn.Blocks[to]
	pred := -1
	for i, p := range tb.Preds {
		if p == w.blk {
			pred = i
			break
		}
	}
	var vals []*Value
	n := 0
	for i := range tb.Instrs {
		if tb.Instrs[i].Op == OpName {
			continue
		}
		if tb.Instrs[i].Op != OpPhi {
			break
		}
		n = i + 1
	}
	if n > 0 {
		for i := range n {
			ph := &tb.Instrs[i]
			if ph.Op == OpPhi && pred >= 0 && pred < len(ph.Args) {
				vals = append(vals, w.valIn(env, ph.Args[pred]))
			} else {
				vals = append(vals, nil)
			}
		}
		env = append([]*Value(nil), env...)
		for i, v := range vals {
			if v != nil {
				env[tb.Instrs[i].Dst] = v
			}
		}
	}
	w.next = append(w.next, item{blk: to, env: env, st: st})
}

func (w *walker) val(n int32) *Value { return w.valIn(w.env, n) }

func (w *walker) valIn(env []*Value, n int32) *Value {
	if n >= 0 {
		if int(n) < len(env) && env[n] != nil {
			return env[n]
		}
		return top
	}
	i := int(^n)
	if i >= len(w.fn.Consts) {
		return top
	}
	c := &w.fn.Consts[i]
	switch c.Kind {
	case CNil:
		return nilVal
	case CBool:
		return boolVal(c.I != 0)
	case CInt:
		return &Value{K: VInt, I: c.I}
	case CString:
		return strVal(c.S, Taint{})
	case CFunc:
		return &Value{K: VFunc, S: c.S}
	case CGlobal:
		return &Value{K: VRef, O: w.in.globalObj(c.S, c.T)}
	}
	return top
}

func (in *interp) globalObj(name string, t *Type) *Object {
	o := in.global[name]
	if o == nil {
		o = in.newObject(t)
		o.Name, o.Slot = name, "G|"+name
		in.global[name] = o
	}
	return o
}

func (w *walker) set(n int32, v *Value) {
	if n >= 0 {
		w.env[n] = v
	}
}

// simple executes an instruction that has one outcome.
func (w *walker) simple(ins *Instr) {
	switch ins.Op {
	case OpAlloc:
		o := w.in.object(w.fr, ins, 0, ins.T)
		if held := w.st.get(cell{o.id, ""}); w.in.wires != nil && held != nil && composed(held) {
			o = w.in.newObject(ins.T) // a closure of the round before has captured that one
		}
		o.Local, o.Name = true, ins.S
		w.st.clear(o, "")
		w.set(ins.Dst, &Value{K: VRef, O: o})
	case OpMake:
		o := w.in.object(w.fr, ins, 0, ins.T)
		o.Local = true
		w.st.clear(o, "")
		if ins.S == "empty" {
			w.set(ins.Dst, &Value{K: VNotNil, size: sizeNone})
			return
		}
		v := &Value{K: VRef, O: o}
		if ins.S == "sized" {
			n := w.val(ins.A)
			if v.size = n.size; n.K == VInt && n.I > 0 {
				v.size = sizeSome
			}
		}
		w.set(ins.Dst, v)
	case OpLoad:
		a := w.val(ins.A)
		v := w.fed(ins, a)
		if v == nil {
			w.lookedAt(ins, a)
			v = w.load(a, ins.A, ins)
		}
		if w.in.traces && a.Batch && v.Msg && !v.Batch {
			v = w.taken(ins.Pos, v)
		}
		w.set(ins.Dst, v)
	case OpStore:
		w.leaveAt(ins, w.val(ins.B))
		w.gathers(ins)
		w.store(w.val(ins.A), ins.A, w.handStored(ins), ins)
	case OpFieldAddr:
		w.set(ins.Dst, w.fieldAddr(w.val(ins.A), ins))
	case OpField:
		w.set(ins.Dst, w.load(w.fieldAddr(w.val(ins.A), ins), ins.Dst, ins))
	case OpIndexAddr, OpIndex:
		w.index(ins)
	case OpLookup:
		w.lookup(ins)
	case OpMapUpdate:
		w.mapUpdate(ins)
	case OpBin:
		w.set(ins.Dst, w.binary(ins))
	case OpNot:
		v := w.val(ins.A)
		if t, known := v.truth(); known {
			w.set(ins.Dst, boolVal(!t).with(v.T))
		} else {
			w.set(ins.Dst, taintVal(v.T))
		}
	case OpNeg:
		w.set(ins.Dst, taintVal(w.val(ins.A).T))
	case OpRecv:
		w.recv(ins)
	case OpCopy, OpSlice:
		w.set(ins.Dst, w.sliced(w.copied(w.val(ins.A), ins), ins))
	case OpMakeIface:
		w.makeIface(ins)
	case OpAssert:
		w.assert(ins)
	case OpClosure:
		v := &Value{K: VFunc, S: ins.S}
		for _, a := range ins.Args {
			v.Elems = append(v.Elems, w.val(a))
		}
		w.set(ins.Dst, v)
	case OpMethodVal:
		recv := w.val(ins.A)
		v := &Value{K: VFunc, S: ins.S, Bound: true, Elems: []*Value{recv}}
		if ins.N == 1 {
			v.Iface = ins.S2 + "|" + ins.S
			if recv.Dyn != "" {
				if m := w.in.prog.method(recv.Dyn, ins.S); m != nil && m.Fn != "" {
					v.S, v.Iface = m.Fn, ""
				}
			}
		}
		w.set(ins.Dst, v)
	case OpSend:
		w.sends(ins)
	case OpWait:
		w.event(&Event{Kind: EvWait, Pos: ins.Pos})
	case OpSelect:
		w.selects(ins)
	case OpRange:
		v := w.val(ins.A)
		w.rewind(v)
		w.set(ins.Dst, v)
	case OpNext:
		w.next1(ins)
	case OpExtract:
		w.extract(ins)
	case OpName:
		w.in.sink(Sink{Kind: SinkVar, Name: ins.S, Pos: ins.Pos}, w.val(ins.A), w)
	}
}
