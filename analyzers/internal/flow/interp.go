package flow

import (
	"strconv"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// The bounds of one run. A function that needs more is given up, and the run says so.
const (
	maxSteps  = 250_000 // instructions
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

// interp runs one root in one world.
type interp struct {
	prog   *Program
	world  World
	steps  int
	gaveUp bool
	nextID int
	objs   map[objKey]*Object
	txs    map[objKey]*Tx
	global map[string]*Object

	hits     []*Hit
	hitSeen  map[string]bool
	sites    map[string]*site
	sinks    []Sink
	sinkKey  map[string]bool
	open     map[string]bool // callees that could not be seen
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
	asked map[string]bool // checks of whose outcome more than the error is looked at
	onSQL func(ran)       // a statement is executed
	money *moneyRun       // set when money calls are looked for
}

type objKey struct {
	fr uint64
	in *Instr
	n  int
}

func newInterp(p *Program, w World) *interp {
	return &interp{prog: p, world: w, limit: maxSteps, objs: make(map[objKey]*Object), txs: make(map[objKey]*Tx), global: make(map[string]*Object),
		hitSeen: make(map[string]bool), sites: make(map[string]*site), sinkKey: make(map[string]bool), open: make(map[string]bool),
		handled: make(map[string]bool), asked: make(map[string]bool), either: make(map[string]bool), wrote: make(map[string]bool), sends: make(map[string]bool), entered: make(map[string]bool)}
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
	n := 0
	for f := fr; f != nil; f = f.up {
		if f.fn.ID == id {
			if n++; n > 0 {
				return true
			}
		}
	}
	return false
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
		for _, f := range w.forks {
			work = append(work, f)
		}
		for _, s := range w.next {
			if count[s.blk] >= most {
				continue
			}
			k := s.key(fn)
			if seen[k] {
				continue
			}
			seen[k] = true
			count[s.blk]++
			work = append(work, s)
		}
		if w.done {
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

func (it item) key(fn *Func) uint64 {
	k := it.st.key() ^ uint64(it.blk)*2654435761
	for _, v := range fn.Blocks[it.blk].live {
		k = mix(k*31 + it.env[v].scalar())
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
	ret   []*Value
	// handle is what the library call under way is a method of.
	handle *Value
	hcall  *Call
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

// branch takes the sides of a condition that can be taken.
func (w *walker) branch(ins *Instr) {
	b := &w.fn.Blocks[w.blk]
	cond := w.val(ins.A)
	if t, known := cond.truth(); known {
		if t {
			w.goTo(b.Succs[0], w.env, w.st)
		} else {
			w.goTo(b.Succs[1], w.env, w.st)
		}
		return
	}
	state := cond.T.has(FromRow) && w.asksState(ins.A, 0)
	for side := range 2 {
		st := w.st.fork()
		env := append([]*Value(nil), w.env...)
		if cond.T.has(FromUnseen) {
			st.cond = true
		}
		if state {
			st.state = true
		}
		sub := &walker{in: w.in, fr: w.fr, fn: w.fn, blk: w.blk, env: env, st: st}
		sub.assume(ins.A, side == 0, 0)
		sub.goTo(b.Succs[side], env, st)
		w.next = append(w.next, sub.next...)
	}
}

// asksState reports whether a condition asks for the state that a row of the database is in: a column or method so
// named is compared. A handler that leaves that state behind finds it left when the message comes again.
func (w *walker) asksState(n int32, depth int) bool {
	def := w.fn.def(n)
	if def == nil || depth > 4 {
		return false
	}
	switch def.Op {
	case OpNot, OpCopy, OpExtract, OpMakeIface:
		return w.asksState(def.A, depth+1)
	case OpBin:
		return (def.S == "==" || def.S == "!=") && (w.asksState(def.A, depth+1) || w.asksState(def.B, depth+1))
	case OpField, OpFieldAddr:
		return stateName(def.S)
	case OpAlloc:
		return stateName(def.S)
	case OpLoad:
		return w.asksState(def.A, depth+1)
	case OpPhi:
		for _, a := range def.Args {
			if w.asksState(a, depth+1) {
				return true
			}
		}
	case OpCall:
		_, name := splitType(def.Call.Fn)
		words := know.Words(name)
		return len(words) > 1 && (words[0] == "is" || words[0] == "can" || words[0] == "has") || stateName(name)
	}
	return false
}

// stateName reports whether a name means the state of something, or that and when it was done.
func stateName(s string) bool {
	words := know.Words(s)
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	switch last {
	case "status", "state", "phase", "stage", "step", "processed", "completed", "done", "finished", "paid", "settled", "sent", "version", "sequence", "seq", "applied", "handled", "shipped", "cancelled", "canceled", "confirmed", "refunded", "blocked", "closed":
		return true
	}
	if last == "at" && len(words) > 1 {
		return words[0] != "created" && words[0] != "updated"
	}
	return false
}

// assume refines what is known after a condition has turned out.
func (w *walker) assume(n int32, truth bool, depth int) {
	if n < 0 || depth > 6 {
		return
	}
	w.refine(n, boolVal(truth))
	def := w.fn.def(n)
	if def == nil {
		return
	}
	switch def.Op {
	case OpNot:
		w.assume(def.A, !truth, depth+1)
	case OpBin:
		if def.S != "==" && def.S != "!=" {
			return
		}
		eq := (def.S == "==") == truth
		if eq {
			w.compared(def, def.A, def.B)
		}
		x, y := def.A, def.B
		if y >= 0 && x < 0 {
			x, y = y, x
		}
		if x < 0 {
			return
		}
		c := w.val(y)
		old := w.val(x)
		switch c.K {
		case VNil:
			if eq {
				w.refine(x, nilVal)
			} else if old.K == VTop {
				kind := VNotNil
				if def.T != nil && def.T.Kind == KError {
					kind = VErr
				}
				nv := *old
				nv.K = kind
				w.refine(x, &nv)
			}
		case VBool, VInt, VStr:
			if eq && old.K == VTop {
				nv := *c
				nv.T = old.T
				w.refine(x, &nv)
				w.emptied(old, c)
			}
		case VErr:
			if eq && old.K == VTop {
				nv := *c
				w.refine(x, &nv)
			}
		}
	case OpCall:
		if n := def.Call.Name; truth && (n == "EqualFold" || n == "Equal") && len(def.Call.Args) == 2 {
			w.compared(def, def.Call.Args[0], def.Call.Args[1])
		}
		// errors.Is(err, X) tells what err is.
		if def.Call.Name == "Is" && truth && len(def.Call.Args) == 2 && know.Lookup(know.Sym{Pkg: def.Call.Pkg, Name: "Is"}) != nil {
			if old, c := w.val(def.Call.Args[0]), w.val(def.Call.Args[1]); (old.K == VTop || old.K == VErr && old.S == errAny) && c.K == VErr {
				w.refine(def.Call.Args[0], c)
			}
		}
	}
}

// refine replaces a value, and the variable it was just read from.
func (w *walker) refine(n int32, v *Value) {
	old := w.env[n]
	w.env[n] = v
	if def := w.fn.def(n); def != nil && def.Op == OpLoad {
		if a := w.val(def.A); a.K == VRef && a.O != nil {
			c := cell{a.O.id, a.Path}
			if w.st.get(c) == old && old != nil {
				w.st.set(c, v)
			}
		}
	}
}

func (w *walker) runDefers() bool {
	for i := len(w.st.defs) - 1; i >= 0; i-- {
		d := w.st.defs[i]
		if d.fr != w.fr {
			continue
		}
		w.st.defs = append(append([]deferred(nil), w.st.defs[:i]...), w.st.defs[i+1:]...)
		exits := w.dispatch(d.in, d.fun, d.args)
		w.in.broke = nil
		switch len(exits) {
		case 0:
			return false
		default:
			for _, e := range exits[1:] {
				w.forks = append(w.forks, item{blk: w.blk, idx: w.idx - 1, env: append([]*Value(nil), w.env...), st: e.st})
			}
			w.st = exits[0].st
		}
		// Another deferred call of this frame may be below the one just run.
		i = len(w.st.defs)
	}
	return true
}

// simple executes an instruction that has one outcome.
func (w *walker) simple(ins *Instr) {
	switch ins.Op {
	case OpAlloc:
		o := w.in.object(w.fr, ins, 0, ins.T)
		o.Local, o.Name = true, ins.S
		w.st.clear(o, "")
		w.set(ins.Dst, &Value{K: VRef, O: o})
	case OpMake:
		o := w.in.object(w.fr, ins, 0, ins.T)
		o.Local = true
		w.st.clear(o, "")
		w.set(ins.Dst, &Value{K: VRef, O: o, Batch: false})
	case OpLoad:
		a := w.val(ins.A)
		v := w.load(a, ins.A, ins)
		if w.in.traces && a.Batch && v.Msg && !v.Batch {
			v = w.taken(ins.Pos, v)
		}
		w.set(ins.Dst, v)
	case OpStore:
		w.store(w.val(ins.A), ins.A, w.val(ins.B), ins)
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
		w.set(ins.Dst, w.copied(w.val(ins.A), ins))
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
		w.send(w.val(ins.A), w.val(ins.B), ins)
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

func (w *walker) copied(v *Value, ins *Instr) *Value {
	if ins.T != nil && v.K == VTop && !v.Msg && ins.T.Msg && v.T.has(FromMessage) {
		c := *v
		c.Msg, c.Batch = true, ins.T.Batch
		return &c
	}
	return v
}

func (w *walker) extract(ins *Instr) {
	t := w.val(ins.A)
	if t.K == VTuple {
		if int(ins.N) < len(t.Elems) {
			w.set(ins.Dst, t.Elems[ins.N])
		}
		return
	}
	w.set(ins.Dst, w.fresh(ins.T, t.T, ""))
}

// fresh is an unknown value of a type.
func (w *walker) fresh(t *Type, taint Taint, slot string) *Value {
	v := &Value{K: VTop, T: taint, Slot: slot}
	if t != nil && t.Msg && taint.has(FromMessage) {
		v.Msg, v.Batch = true, t.Batch
	}
	return v
}

// maxPath bounds the length of a place in an object: deeper ones are one.
const maxPath = 160

func join(path, f string) string {
	if len(path) > maxPath {
		return path
	}
	if path == "" {
		return f
	}
	if f == "" {
		return path
	}
	return path + "." + f
}

func (w *walker) fieldAddr(base *Value, ins *Instr) *Value {
	if base.K == VTuple && base.Dyn == "redis.Cmd" {
		return base // a command's own embedded part
	}
	out := &Value{K: VRef, fa: ins, T: base.T}
	if base.K == VRef {
		out.O, out.Path = base.O, join(base.Path, ins.S)
		return out
	}
	out.O, out.Path = w.in.objOf(base, nil), ins.S
	return out
}

// load reads memory.
func (w *walker) load(addr *Value, at int32, ins *Instr) *Value {
	if addr.K != VRef || addr.O == nil {
		return w.fresh(ins.T, addr.T, addr.Slot)
	}
	o := addr.O
	if v := w.headerValue(addr, ins); v != nil {
		return v
	}
	if v := w.find(o, addr.Path, ins.T, 0); v != nil {
		if ins.T != nil && ins.T.Kind == KStruct && (v.K == VRef || v.K == VTop) && w.changed(o, addr.Path) {
			// A struct that was copied in whole and then changed: the copy is what counts.
			return &Value{K: VRef, O: o, Path: addr.Path, T: v.T, Msg: v.Msg, Batch: v.Batch}
		}
		return v
	}
	if o.Slot != "" && strings.HasPrefix(o.Slot, "G|") && addr.Path == "" {
		if v := w.in.globalValue(o.Name); v != nil {
			return v
		}
	}
	if ins.T != nil && ins.T.Kind == KStruct && !o.Local {
		v := &Value{K: VRef, O: o, Path: addr.Path, T: w.fieldTaint(o, addr, ins)}
		if ins.T.Msg && v.T.has(FromMessage) {
			v.Msg, v.Batch = true, ins.T.Batch
		}
		return v
	}
	if ins.T != nil && ins.T.Kind == KStruct {
		if b, p := w.base(o, addr.Path); b != nil && !w.changed(o, addr.Path) {
			t := w.fieldTaint(b, addr, ins)
			return &Value{K: VRef, O: b, Path: p, T: t, Msg: ins.T.Msg && t.has(FromMessage), Batch: ins.T.Batch}
		}
		return &Value{K: VRef, O: o, Path: addr.Path, T: w.deep(&Value{K: VRef, O: o, Path: addr.Path}), Msg: ins.T.Msg && o.Taint.has(FromMessage)}
	}
	if v := w.anyOf(addr); v != nil {
		return v
	}
	v := w.initial(o, addr, ins)
	w.symbol(v, o, addr)
	if o.Tx != nil && v.K == VTop {
		w.in.objOf(v, nil).Tx = o.Tx
	}
	if fa := addr.fa; fa != nil && v.K == VTop && v.T.has(FromPayload) {
		pkg, typ := splitType(fa.S2)
		v.raw = know.FieldRole(know.Normal(pkg), typ, fa.S) == know.RoleValue
	}
	w.st.setQuiet(cell{o.id, addr.Path}, v)
	return v
}

// changed reports whether anything was written below a place.
func (w *walker) changed(o *Object, path string) bool {
	for _, p := range w.st.paths(o, path) {
		if p != path && p != "?" {
			return true
		}
	}
	return false
}

// find looks a place up in memory, through structs that were copied in whole.
func (w *walker) find(o *Object, path string, t *Type, depth int) *Value {
	if v := w.st.get(cell{o.id, path}); v != nil {
		return v
	}
	if depth > 6 {
		return nil
	}
	for p := path; p != ""; {
		i := strings.LastIndexByte(p, '.')
		if i < 0 {
			i = 0
		}
		p = p[:i]
		v := w.st.get(cell{o.id, p})
		if v == nil {
			if i == 0 {
				break
			}
			continue
		}
		rest := strings.TrimPrefix(path[len(p):], ".")
		switch v.K {
		case VRef:
			return w.find(v.O, join(v.Path, rest), t, depth+1)
		case VTop:
			return w.find(w.in.objOf(v, nil), rest, t, depth+1)
		}
		return nil
	}
	return nil
}

// initial is what a place holds that was never written in sight.
func (w *walker) initial(o *Object, addr *Value, ins *Instr) *Value {
	if mark := w.st.get(cell{o.id, "?"}); mark != nil {
		t := mark.T
		if fa := addr.fa; fa != nil && t.has(FromPayload) && fa.N&(FieldEventID|FieldDedupKey) != 0 {
			t.Bits |= FromEventID
		}
		return w.fresh(ins.T, t, w.slotOf(addr))
	}
	for range maxChase {
		base, p := w.base(o, addr.Path)
		if base == nil || base == o && p == addr.Path {
			break
		}
		nb := *addr
		nb.O, nb.Path = base, p
		o, addr = base, &nb
		if mark := w.st.get(cell{o.id, "?"}); mark != nil {
			t := mark.T
			if fa := addr.fa; fa != nil && t.has(FromPayload) && fa.N&(FieldEventID|FieldDedupKey) != 0 {
				t.Bits |= FromEventID
			}
			return w.fresh(ins.T, t, w.slotOf(addr))
		}
	}
	if o.Local && !o.Taint.has(FromMessage|FromPayload) {
		return zero(ins.T)
	}
	return w.fresh(ins.T, w.fieldTaint(o, addr, ins), w.slotOf(addr))
}

// maxChase bounds how many copies of structs are followed.
const maxChase = 8

// base follows a struct that was copied in whole to where its unread fields are.
func (w *walker) base(o *Object, path string) (*Object, string) {
	for p := path; p != ""; {
		i := max(strings.LastIndexByte(p, '.'), 0)
		p = p[:i]
		if v := w.st.get(cell{o.id, p}); v != nil {
			rest := strings.TrimPrefix(path[len(p):], ".")
			switch v.K {
			case VRef:
				return v.O, join(v.Path, rest)
			case VTop:
				return w.in.objOf(v, nil), rest
			}
			return nil, ""
		}
	}
	return nil, ""
}

func zero(t *Type) *Value {
	if t == nil {
		return top
	}
	if t.Ptr {
		return nilVal
	}
	switch t.Kind {
	case KError, KInterface, KFunc, KMap, KChan, KPointer, KSlice:
		return nilVal
	case KBool:
		return vFalse
	case KInt:
		return &Value{K: VInt}
	case KString:
		return strVal("", Taint{})
	}
	return top
}

func (w *walker) slotOf(addr *Value) string {
	if addr.fa != nil {
		return "F|" + addr.fa.S2 + "|" + addr.fa.S
	}
	if addr.O != nil {
		return addr.O.Slot
	}
	return addr.Slot
}

// fieldTaint says where the content of a field comes from.
func (w *walker) fieldTaint(o *Object, addr *Value, ins *Instr) Taint {
	t := o.Taint
	fa := addr.fa
	if fa == nil {
		return t
	}
	if r := headerRole(fa.S2, fa.S); r != know.NoRole && t.has(FromHeader|FromMessage) {
		if r == know.RoleHeaderName {
			w.st.hdr = nil
		}
		return Taint{Bits: FromHeader}
	}
	if t.has(FromMessage) {
		pkg, typ := splitType(fa.S2)
		role := know.FieldRole(know.Normal(pkg), typ, fa.S)
		src := func(bit Bits, what string) Taint {
			return Taint{Bits: bit, Srcs: []*Src{{Bit: bit, Pos: fa.Pos, Enter: fa.Pos, Cross: fa.Pos, Pkg: w.fn.Pkg, Fn: w.fn.ID, What: what, depth: w.fr.depth}}}
		}
		switch role {
		case know.RoleOffset:
			return src(FromOffset, typ+"."+fa.S)
		case know.RoleValue:
			return Taint{Bits: FromPayload}
		case know.RoleKey:
			return Taint{Bits: FromKey | FromPayload}
		case know.RoleTopic, know.RolePartition:
			return Taint{Bits: FromPlace}
		case know.RoleHeaders:
			return Taint{Bits: FromHeader}
		case know.RoleUUID:
			return src(FromHeader, typ+"."+fa.S)
		case know.RoleTime:
			return Taint{}
		}
		if ins.T != nil && (ins.T.Msg || ins.T.Kind == KStruct) || fa.T != nil && fa.T.Msg {
			return Taint{Bits: FromMessage}
		}
		return Taint{Bits: FromPayload}
	}
	if t.has(FromPayload) && fa.N&(FieldEventID|FieldDedupKey) != 0 {
		t.Bits |= FromEventID
	}
	return t
}

func splitType(name string) (pkg, typ string) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}

func (w *walker) store(addr *Value, at int32, v *Value, ins *Instr) {
	if addr.fa != nil && addr.fa.N != 0 {
		w.in.sink(Sink{Kind: SinkField, Name: addr.fa.S, Owner: addr.fa.S2, Flags: addr.fa.N, Pos: ins.Pos}, v, w)
	}
	if addr.fa != nil && headerRole(addr.fa.S2, addr.fa.S) == know.RoleHeaderName {
		w.headerWritten(v, w.nameAt(ins, ins.B))
	}
	if addr.K != VRef || addr.O == nil {
		return
	}
	if addr.O.Local && addr.Path == "" && know.DedupKey(addr.O.Name) {
		w.in.sink(Sink{Kind: SinkVar, Name: addr.O.Name, Pos: ins.Pos}, v, w)
	}
	if v.K == VRef && v.O == addr.O && below(addr.Path, v.Path) {
		return // a struct copied onto itself, or into itself
	}
	if w.st.get(cell{addr.O.id, addr.Path}) != v {
		w.st.clear(addr.O, addr.Path)
		w.st.set(cell{addr.O.id, addr.Path}, v)
	}
}

func (w *walker) index(ins *Instr) {
	base, i := w.val(ins.A), w.val(ins.B)
	elem := "[*]"
	if i.K == VInt {
		elem = "[" + strconv.FormatInt(i.I, 10) + "]"
	}
	o := base.O
	path := base.Path
	if base.K != VRef {
		o, path = w.in.objOf(base, nil), ""
	}
	if base.K == VTop && i.K == VInt && base.Slot != "" {
		// A slice of functions that were collected elsewhere: the i-th of them.
		c := cell{o.id, join(path, elem)}
		if fs := w.in.prog.functions(base.Slot); int(i.I) < len(fs) && i.I >= 0 && w.st.get(c) == nil {
			w.st.setQuiet(c, fs[i.I].value())
		}
	}
	out := &Value{K: VRef, O: o, Path: join(path, elem), T: base.T}
	if base.Batch {
		out = &Value{K: VRef, O: o, Path: join(path, elem), T: base.T, Batch: true}
	}
	if ins.Op == OpIndexAddr {
		w.set(ins.Dst, out)
		return
	}
	w.set(ins.Dst, w.load(out, ins.Dst, ins))
}

func (w *walker) next1(ins *Instr) {
	base := w.val(ins.A)
	t := w.deep(base)
	elem := &Value{K: VTop, T: t, Slot: base.Slot}
	if base.O != nil && elem.Slot == "" {
		elem.Slot = base.O.Slot
	}
	if t.has(FromMessage) {
		elem.Msg, elem.Batch = true, base.K == VTop
	}
	if base.K == VRef && base.O != nil {
		if v := w.st.get(cell{base.O.id, join(base.Path, "[*]")}); v != nil {
			elem = v
		}
	}
	key := taintVal(t)
	if w.in.money != nil && base.O != nil && base.O.Local {
		key.from = base
	}
	w.set(ins.Dst, &Value{K: VTuple, Elems: []*Value{w.round(base), key, elem}})
}

// maxDeep bounds how many values are looked at to tell where one comes from.
const maxDeep = 200

// deep is everything that a value and what it refers to come from.
func (w *walker) deep(v *Value) Taint {
	if v.O == nil && len(v.Elems) == 0 {
		return v.T
	}
	budget := maxDeep
	return w.deepen(v, 0, &budget)
}

func (w *walker) deepen(v *Value, depth int, budget *int) Taint {
	t := v.T
	if *budget--; depth > 4 || *budget < 0 {
		return t
	}
	for _, e := range v.Elems {
		t = t.join(w.deepen(e, depth+1, budget))
	}
	if v.O == nil {
		return t
	}
	t = t.join(v.O.Taint)
	path := ""
	if v.K == VRef {
		path = v.Path
	}
	for _, p := range w.st.paths(v.O, path) {
		if x := w.st.get(cell{v.O.id, p}); x != v {
			t = t.join(w.deepen(x, depth+1, budget))
		}
	}
	return t
}

// cells visits what is stored at and below a place, in order.
func (w *walker) cells(o *Object, path string, visit func(*Value)) {
	for _, p := range w.st.paths(o, path) {
		visit(w.st.get(cell{o.id, p}))
	}
}

func (w *walker) makeIface(ins *Instr) {
	v := w.val(ins.A)
	c := *v
	c.Dyn = ins.S
	c.box = 0
	if ins.S == "" && ins.T != nil {
		c.box = ins.T.Kind + 1
	}
	if ins.T != nil && ins.T.Ptr && c.K == VTop {
		c.O = w.in.objOf(v, nil)
	}
	w.set(ins.Dst, &c)
}

func (w *walker) assert(ins *Instr) {
	v := w.val(ins.A)
	ok := top
	out := v
	if v.Dyn != "" && ins.T != nil && ins.T.Name != "" && ins.T.Kind != KInterface {
		ok = boolVal(v.Dyn == ins.T.Name)
	}
	if v.Dyn == "" && v.box > 1 && ins.T != nil && ins.T.Kind != KInterface {
		ok = boolVal(v.box == ins.T.Kind+1 && ins.T.Name == "")
	}
	if v.K == VTop && ins.T != nil && ins.T.Msg && v.T.has(FromMessage) {
		c := *v
		c.Msg, c.Batch = true, ins.T.Batch
		out = &c
	}
	if v.K == VNil {
		ok = vFalse
	}
	if v.O != nil && v.O.Tx != nil {
		ok = vTrue
	}
	if e, is, known := w.asserted(v, ins.T); known {
		out, ok = e, is
	}
	if ins.N == 1 {
		w.set(ins.Dst, &Value{K: VTuple, Elems: []*Value{out, ok}})
		return
	}
	w.set(ins.Dst, out)
}

func (w *walker) binary(ins *Instr) *Value {
	x, y := w.val(ins.A), w.val(ins.B)
	t := x.T.join(y.T)
	w.in.asks(x)
	w.in.asks(y)
	switch ins.S {
	case "==", "!=":
		eq, known := w.equal(x, y)
		if !known {
			out := taintVal(t)
			if x.K == VNil || y.K == VNil {
				// Asking whether an error is nil says nothing about duplicates.
				if ins.T != nil && ins.T.Kind == KError {
					out = taintVal(Taint{Bits: t.Bits &^ FromUnseen, Srcs: t.Srcs})
				}
			}
			return out
		}
		return boolVal(eq == (ins.S == "==")).with(t)
	case "<", "<=", ">", ">=":
		if x.K == VInt && y.K == VInt {
			var r bool
			switch ins.S {
			case "<":
				r = x.I < y.I
			case "<=":
				r = x.I <= y.I
			case ">":
				r = x.I > y.I
			case ">=":
				r = x.I >= y.I
			}
			return boolVal(r).with(t)
		}
		return taintVal(t)
	case "-":
		if w.fr.exact && x.K == VInt && y.K == VInt {
			return w.counted(x.I-y.I, t)
		}
	case "+":
		if w.fr.exact && x.K == VInt && y.K == VInt {
			return w.counted(x.I+y.I, t)
		}
		if x.K == VStr || y.K == VStr {
			return w.concat(x, y, t)
		}
		if ins.T != nil && ins.T.Kind == KString {
			return w.concat(x, y, t)
		}
		t = w.counts(ins, t)
	}
	return taintVal(t)
}

// maxCount bounds how far a loop over something of a known length is counted.
const maxCount = 16

func (w *walker) counted(n int64, t Taint) *Value {
	if n < -1 || n > maxCount {
		return taintVal(t)
	}
	return &Value{K: VInt, I: n, T: t}
}

func (w *walker) equal(x, y *Value) (eq, known bool) {
	if x.K == VNil || y.K == VNil {
		o := x
		if x.K == VNil {
			o = y
		}
		return o.isNil()
	}
	switch {
	case x.K == VErr && y.K == VErr:
		return w.in.sameError(x, y, w)
	case x.K == VInt && y.K == VInt, x.K == VBool && y.K == VBool:
		if x.I == y.I {
			w.violation(x, y)
		}
		return x.I == y.I, true
	case x.K == VStr && y.K == VStr:
		if !hasHole(x.S) && !hasHole(y.S) {
			if x.Site != nil && x.S == y.S {
				w.in.handled[x.Site.Key] = true
			}
			if y.Site != nil && x.S == y.S {
				w.in.handled[y.Site.Key] = true
			}
			return x.S == y.S, true
		}
	}
	return w.violation(x, y), w.violation(x, y)
}

func (in *interp) globalValue(name string) *Value {
	if v := in.prog.globalValue(name); v != nil {
		return v
	}
	return nil
}
