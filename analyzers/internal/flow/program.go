package flow

import (
	mathbits "math/bits"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// A Program is every function in sight.
type Program struct {
	Strict  bool            // naturally idempotent writes count
	Whole   bool            // every package of the module is in sight
	Tables  []string        // further dedup tables, from the configuration
	Entered map[string]bool // functions that a judged root hands its message to

	funcs   map[string]*Func
	methods map[string]map[string]*Method
	edges   map[string][]*Edge
	globals map[string]*Global
	ifaces  map[string]map[string]bool // interface methods marked as guards
	units   []*Unit
	own     map[*Edge]bool
	ownPkgs map[string]bool
	sql     map[string][]sqltext.Statement
	bcache  map[string][]binding
	callers map[string]bool
	lits    map[string][]string
	tnames  map[string]string
	uses    map[string][]reach
	impls   map[string][]binding
	mws     map[string][]binding
	inSight map[string]bool     // packages of which functions are known
	yields  map[string]bool     // functions that poll and hand back what a message carries
	groups  map[string]tristate // readers by where they are made: do they belong to a group
	orders  map[string]*Order
	bare    map[string]bool // struct types without an event's id
	mu      sync.Mutex      // held while something runs: rules ask at the same time
	refs    map[string][]string
}

// NewProgram joins units. own are the packages under analysis; an edge of theirs is where a finding can stand.
func NewProgram(units []*Unit, own map[string]bool) *Program {
	p := &Program{funcs: make(map[string]*Func), methods: make(map[string]map[string]*Method), edges: make(map[string][]*Edge),
		globals: make(map[string]*Global), own: make(map[*Edge]bool), ownPkgs: own, sql: make(map[string][]sqltext.Statement),
		bcache: make(map[string][]binding), callers: make(map[string]bool), lits: make(map[string][]string), yields: make(map[string]bool), tnames: make(map[string]string)}
	seen := make(map[string]*Unit)
	for _, u := range units {
		old := seen[u.Path]
		if old != nil && (own[u.Path] || len(u.Funcs) <= len(old.Funcs)) {
			p.merge(u)
			continue
		}
		seen[u.Path] = u
		p.units = append(p.units, u)
		p.add(u)
	}
	sort.Slice(p.units, func(i, j int) bool { return p.units[i].Path < p.units[j].Path })
	return p
}

// merge adds the functions of a further, partial copy of a unit.
func (p *Program) merge(u *Unit) {
	for _, f := range u.Funcs {
		if p.funcs[f.ID] == nil {
			p.addFunc(f)
		}
	}
}

func (p *Program) addFunc(f *Func) {
	if p.inSight == nil {
		p.inSight = make(map[string]bool)
	}
	p.inSight[f.Pkg] = true
	p.funcs[f.ID] = f
	if f.Parent != "" {
		p.lits[f.Parent] = append(p.lits[f.Parent], f.ID)
	}
	for i := range f.Blocks {
		for j := range f.Blocks[i].Instrs {
			if c := f.Blocks[i].Instrs[j].Call; c != nil && c.Kind == CallStatic {
				p.callers[c.Fn] = true
			}
		}
	}
}

func (p *Program) add(u *Unit) {
	for _, f := range u.Funcs {
		if p.funcs[f.ID] == nil {
			p.addFunc(f)
		}
	}
	for i := range u.Types {
		t := &u.Types[i]
		m := p.methods[t.Name]
		if m == nil {
			m = make(map[string]*Method)
			p.methods[t.Name] = m
		}
		for j := range t.Methods {
			if m[t.Methods[j].Name] == nil {
				m[t.Methods[j].Name] = &t.Methods[j]
			}
		}
	}
	for i := range u.Edges {
		e := &u.Edges[i]
		p.edges[e.Dst] = append(p.edges[e.Dst], e)
		if p.ownPkgs[u.Path] {
			p.own[e] = true
		}
		switch e.Src[0] {
		case 'f', 'm':
			p.callers[e.Src[2:]] = true
		}
	}
	for _, t := range u.Bare {
		if p.bare == nil {
			p.bare = make(map[string]bool)
		}
		p.bare[t] = true
	}
	for i := range u.Globals {
		g := &u.Globals[i]
		if p.globals[g.Name] == nil {
			p.globals[g.Name] = g
		}
	}
}

func (p *Program) fn(id string) *Func { return p.funcs[id] }

func (p *Program) method(typ, name string) *Method { return p.methods[typ][name] }

func (p *Program) parse(text string) []sqltext.Statement {
	if s, ok := p.sql[text]; ok {
		return s
	}
	s := sqltext.Parse(text)
	p.sql[text] = s
	return s
}

func (p *Program) dedupTable(name string) bool {
	return name != "" && sqltext.IsDedupName(name, p.Tables...)
}

// std reports whether a function is the standard library's.
func (p *Program) std(id, pkg string) bool {
	if pkg == "" {
		return false
	}
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".") && p.funcs[id] == nil && first != "command-line-arguments" && stdRoot(first)
}

func stdRoot(s string) bool {
	switch s {
	case "archive", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database", "debug", "embed", "encoding",
		"errors", "expvar", "flag", "fmt", "go", "hash", "html", "image", "index", "io", "iter", "log", "maps", "math", "mime", "net", "os",
		"path", "plugin", "reflect", "regexp", "runtime", "slices", "sort", "strconv", "strings", "structs", "sync", "syscall", "testing",
		"text", "time", "unicode", "unique", "unsafe", "weak", "internal":
		return true
	}
	return false
}

// globalValue is what a package variable holds.
func (p *Program) globalValue(name string) *Value {
	pkg, v := splitType(name)
	sym := know.Sym{Pkg: know.Normal(pkg), Name: v}
	switch {
	case know.NoRows[sym]:
		return errVal(errNoRows, Taint{})
	case know.UniqueViolation[sym]:
		return errVal(errUnique, Taint{})
	}
	g := p.globals[name]
	if g == nil {
		return nil
	}
	switch {
	case g.Err:
		return errVal("G|"+name, Taint{})
	case g.C.Kind == CString:
		return strVal(g.C.S, Taint{})
	case g.C.Kind == CInt:
		return &Value{K: VInt, I: g.C.I}
	case g.C.Kind == CFunc:
		return &Value{K: VFunc, S: g.C.S}
	}
	return nil
}

// symOf splits a function's id for look-ups in know.
func (p *Program) symOf(id string) (pkg, recv, name string) {
	slash := strings.LastIndexByte(id, '/')
	parts := strings.Split(id[slash+1:], ".")
	head := id[:slash+1]
	// The last element of an import path may hold dots: go.uuid, yaml.v3.
	switch {
	case len(parts) < 2:
		return "", "", id
	case len(parts) == 2:
		return know.Normal(head + parts[0]), "", parts[1]
	}
	last := parts[len(parts)-1]
	r := parts[len(parts)-2]
	if r != "" && r[0] >= 'A' && r[0] <= 'Z' {
		return know.Normal(head + strings.Join(parts[:len(parts)-2], ".")), r, last
	}
	return know.Normal(head + strings.Join(parts[:len(parts)-1], ".")), "", last
}

// rowOfFunc is what is known of a function that is used as a value.
func (p *Program) rowOfFunc(id string) *know.Row {
	if p.funcs[id] != nil {
		return nil
	}
	pkg, recv, name := p.symOf(id)
	return know.Lookup(know.Sym{Pkg: pkg, Recv: recv, Name: name})
}

// A binding is something that a slot may hold.
type binding struct {
	Func   string // a function
	Method bool   // with a receiver
	Type   string // a concrete type
	Reader string // a reader of a client: the function that makes it and where
	Edge   *Edge  // where it was handed over
}

// bound finds what may be in a slot: functions for a function value, concrete types for an interface value. Where the
// slot tells nothing, every type that is converted to the interface in sight may be in it.
func (p *Program) bound(slot, iface, hint string) []binding {
	for _, s := range [...]string{slot, hint} {
		if s == "" {
			continue
		}
		var out []binding
		for _, b := range p.sources(s) {
			if iface != "" && b.Type != "" || iface == "" && b.Func != "" {
				out = append(out, b)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	if iface == "" {
		return nil
	}
	var out []binding
	for _, b := range p.sources("N|" + iface) {
		if b.Type != "" {
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		return p.implementers(iface)
	}
	return out
}

// sources follows the edges into a slot to their leaves.
func (p *Program) sources(slot string) []binding {
	if out, ok := p.bcache[slot]; ok {
		return out
	}
	var out []binding
	have := make(map[string]bool)
	seen := map[string]bool{slot: true}
	work := []string{slot}
	for len(work) > 0 && len(seen) < 400 {
		s := work[0]
		work = work[1:]
		for _, e := range p.into(s) {
			p.leaf(e.Src, e, have, &out)
			for _, n := range p.through(e.Src) {
				if !seen[n] {
					seen[n] = true
					work = append(work, n)
				}
			}
		}
		for _, n := range p.calls(s) {
			if !seen[n] {
				seen[n] = true
				work = append(work, n)
			}
		}
	}
	p.bcache[slot] = out
	return out
}

// into are the edges into a slot. Where what is in it was wrapped, what is in it is the wrapper; "U|slot" asks for what
// was there before, too.
func (p *Program) into(s string) []*Edge {
	if bare, ok := strings.CutPrefix(s, "U|"); ok {
		return p.edges[bare]
	}
	if w := p.edges["W|"+s]; len(w) > 0 {
		return w
	}
	return p.edges[s]
}

func (p *Program) leaf(src string, e *Edge, have map[string]bool, out *[]binding) {
	if have[src] {
		return
	}
	switch src[0] {
	case 'f':
		have[src] = true
		*out = append(*out, binding{Func: src[2:], Edge: e})
	case 'm':
		have[src] = true
		*out = append(*out, binding{Func: src[2:], Method: true, Edge: e})
	case 't':
		have[src] = true
		*out = append(*out, binding{Type: src[2:], Edge: e})
	case 'k':
		have[src] = true
		*out = append(*out, binding{Reader: src[2:], Edge: e})
	}
}

// through resolves a source that is not a plain slot: the result of a function that a slot holds, the method of an
// interface value, a result of a function that cannot be seen.
func (p *Program) through(src string) []string {
	switch src[0] {
	case 'f', 'm', 't', 'k':
		return nil
	case 'C': // C|slot|i: the result of calling what the slot holds
		body := src[2:]
		i := strings.LastIndexByte(body, '|')
		var out []string
		for _, b := range p.direct(body[:i]) {
			if b.Func != "" {
				out = append(out, "R|"+b.Func+body[i:])
			}
		}
		return out
	case 'I': // I|slot|method|i
		body := src[2:]
		i := strings.LastIndexByte(body, '|')
		j := strings.LastIndexByte(body[:i], '|')
		var out []string
		for _, b := range p.direct(body[:j]) {
			if m := p.method(b.Type, body[j+1:i]); b.Type != "" && m != nil && m.Fn != "" {
				out = append(out, "R|"+m.Fn+body[i:])
			}
		}
		return out
	case 'R':
		// A function that cannot be seen may give back what it is given.
		body := src[2:]
		i := strings.LastIndexByte(body, '|')
		if p.funcs[body[:i]] == nil {
			var out []string
			for n := range 8 {
				if s := slotN("P", body[:i], n); len(p.edges[s]) > 0 {
					out = append(out, s)
				}
			}
			return out
		}
	}
	return []string{src}
}

// direct is what a slot or leaf holds, one step deep for leaves.
func (p *Program) direct(s string) []binding {
	switch s[0] {
	case 'f':
		return []binding{{Func: s[2:]}}
	case 'm':
		return []binding{{Func: s[2:], Method: true}}
	case 't':
		return []binding{{Type: s[2:]}}
	}
	if len(p.bcache) > 1<<16 {
		return nil
	}
	if out, ok := p.bcache[s]; ok {
		return out
	}
	p.bcache[s] = nil // a cycle finds nothing more
	delete(p.bcache, s)
	return p.shallow(s, 0)
}

func (p *Program) shallow(s string, depth int) []binding {
	if depth > 6 {
		return nil
	}
	var out []binding
	have := make(map[string]bool)
	for _, e := range p.edges[s] {
		p.leaf(e.Src, e, have, &out)
		switch e.Src[0] {
		case 'f', 'm', 't', 'k', 'C', 'I':
		default:
			out = append(out, p.shallow(e.Src, depth+1)...)
		}
	}
	return out
}

// calls are the further slots that feed a parameter: what is handed over where the function is called through an
// interface or a function value.
func (p *Program) calls(slot string) []string {
	if slot == "" || slot[0] != 'P' {
		return nil
	}
	p.indexUses()
	i := strings.LastIndexByte(slot, '|')
	fn, n := slot[2:i], slot[i+1:]
	var out []string
	for _, u := range p.uses[fn] {
		k := n
		if u.method {
			// The receiver is the first parameter of the method, and no argument of the call.
			v, err := strconv.Atoi(n)
			if err != nil || v == 0 {
				continue
			}
			k = strconv.Itoa(v - 1)
		}
		if s := u.slot + "|" + k; len(p.edges[s]) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// reach is a way by which a function is called that its callers do not name.
type reach struct {
	slot   string
	method bool
}

// indexUses finds for each function the interfaces and slots through which it may be called.
func (p *Program) indexUses() {
	if p.uses != nil {
		return
	}
	p.uses = make(map[string][]reach)
	var dsts []string
	for dst := range p.edges {
		dsts = append(dsts, dst)
	}
	sort.Strings(dsts)
	after := make(map[string][]string)
	for _, dst := range dsts {
		for _, e := range p.edges[dst] {
			after[e.Src] = append(after[e.Src], dst)
		}
	}
	for _, dst := range dsts {
		for _, e := range p.edges[dst] {
			switch e.Src[0] {
			case 't':
				if dst[0] != 'N' {
					continue
				}
				var names []string
				for name := range p.methods[e.Src[2:]] {
					names = append(names, name)
				}
				sort.Strings(names)
				for _, name := range names {
					if m := p.methods[e.Src[2:]][name]; m.Fn != "" {
						p.uses[m.Fn] = append(p.uses[m.Fn], reach{"Q|" + dst[2:] + "|" + name, true})
					}
				}
			case 'f', 'm':
				for _, to := range p.onward(dst, after) {
					p.uses[e.Src[2:]] = append(p.uses[e.Src[2:]], reach{"A|" + to, e.Src[0] == 'm'})
				}
			}
		}
	}
}

// functions are what a slot holds when it holds nothing but functions, up to the number of times a loop is counted.
func (p *Program) functions(slot string) []binding {
	all := p.bound(slot, "", "")
	if len(all) > maxCount {
		return nil
	}
	return all
}

// value is a bound function as a value.
func (b binding) value() *Value {
	v := &Value{K: VFunc, S: b.Func, Bound: b.Method}
	if b.Edge != nil {
		v.Ref = b.Edge.Pos
	}
	if b.Method {
		v.Elems = []*Value{{K: VTop}}
	}
	return v
}

// onward are a slot and those that what is in it goes on to.
func (p *Program) onward(slot string, after map[string][]string) []string {
	out := []string{slot}
	seen := map[string]bool{slot: true}
	for i := 0; i < len(out) && len(out) < 64; i++ {
		for _, n := range after[out[i]] {
			if !seen[n] && n[0] != 'A' && n[0] != 'Q' && n[0] != 'W' {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}

// implementers are the types of the module that have an interface's methods, where nothing in sight binds one: what a
// container binds by reflection. It answers only where the whole module is seen, and only when there is one.
func (p *Program) implementers(iface string) []binding {
	if !p.Whole {
		return nil
	}
	want := p.methods[iface]
	if len(want) == 0 {
		return nil
	}
	if out, ok := p.impls[iface]; ok {
		return out
	}
	var out []binding
	var names []string
	for t := range p.methods {
		names = append(names, t)
	}
	sort.Strings(names)
	for _, t := range names {
		if t == iface || mockName(t) {
			continue
		}
		ok := true
		for name, m := range want {
			if have := p.methods[t][name]; have == nil || have.Sig != m.Sig || p.fn(have.Fn) == nil {
				ok = false
				break
			}
		}
		if ok {
			out = append(out, binding{Type: t, Edge: &Edge{}})
		}
	}
	if len(out) != 1 {
		out = nil
	}
	if p.impls == nil {
		p.impls = make(map[string][]binding)
	}
	p.impls[iface] = out
	return out
}

func mockName(typ string) bool {
	for _, w := range know.Words(typ[strings.LastIndexByte(typ, '/')+1:]) {
		switch w {
		case "mock", "mocks", "fake", "fakes", "stub", "noop", "dummy", "test", "testing", "inmemory", "memory", "mem":
			return true
		}
	}
	return false
}

// tableOf is the table of an ORM's model type.
func (p *Program) tableOf(typ string) string {
	if t, ok := p.tnames[typ]; ok {
		return t
	}
	t := ""
	if m := p.method(typ, "TableName"); m != nil {
		if f := p.fn(m.Fn); f != nil {
			for _, b := range f.Blocks {
				for _, in := range b.Instrs {
					if in.Op == OpReturn && len(in.Args) == 1 && in.Args[0] < 0 {
						if c := f.Consts[^in.Args[0]]; c.Kind == CString {
							t = c.S
						}
					}
				}
			}
		}
	}
	if t == "" {
		_, name := splitType(typ)
		t = plural(snake(name))
	}
	p.tnames[typ] = t
	return t
}

func plural(s string) string {
	switch {
	case s == "":
		return ""
	case strings.HasSuffix(s, "y") && len(s) > 1 && !strings.ContainsRune("aeiou", rune(s[len(s)-2])):
		return s[:len(s)-1] + "ies"
	case strings.HasSuffix(s, "s"), strings.HasSuffix(s, "x"), strings.HasSuffix(s, "ch"):
		return s + "es"
	}
	return s + "s"
}

// bits is a set of values.
type bits []uint64

func (b bits) has(v int32) bool { return b[v>>6]&(1<<(v&63)) != 0 }
func (b bits) add(v int32)      { b[v>>6] |= 1 << (v & 63) }

// prepare computes what running a function needs: live values and definitions.
func (f *Func) prepare() {
	if f.prepared {
		return
	}
	f.prepared = true
	n, words := len(f.Blocks), int(f.Values)/64+1
	make1 := func() []bits {
		all := make(bits, n*words)
		out := make([]bits, n)
		for i := range out {
			out[i] = all[i*words : (i+1)*words]
		}
		return out
	}
	live, def := make1(), make1()
	f.defs = make(map[int32]*Instr)
	for i := range f.Blocks {
		for j := range f.Blocks[i].Instrs {
			ins := &f.Blocks[i].Instrs[j]
			if ins.Op != OpPhi {
				for _, v := range operands(ins) {
					if v >= 0 && v < f.Values && !def[i].has(v) {
						live[i].add(v)
					}
				}
			}
			if ins.Dst >= 0 && writes(ins.Op) {
				def[i].add(ins.Dst)
				f.defs[ins.Dst] = ins
			}
		}
	}
	f.spread(live, def)
	for i := range f.Blocks {
		b := &f.Blocks[i]
		for w, x := range live[i] {
			for ; x != 0; x &= x - 1 {
				b.live = append(b.live, int32(w*64+mathbits.TrailingZeros64(x)))
			}
		}
		for j := range b.Instrs {
			if ph := &b.Instrs[j]; ph.Op == OpPhi {
				b.live = append(b.live, ph.Dst)
			}
		}
		sortInts(b.live)
	}
}

// spread carries what is live at a block's start back to where it comes from, until nothing changes.
func (f *Func) spread(live, def []bits) {
	work := make([]int32, 0, len(f.Blocks))
	queued := make([]bool, len(f.Blocks))
	for i := range f.Blocks {
		work, queued[i] = append(work, int32(i)), true
	}
	for len(work) > 0 {
		i := work[len(work)-1]
		work, queued[i] = work[:len(work)-1], false
		for pi, p := range f.Blocks[i].Preds {
			changed := false
			put := func(v int32) {
				if v >= 0 && v < f.Values && !def[p].has(v) && !live[p].has(v) {
					live[p].add(v)
					changed = true
				}
			}
			for w, x := range live[i] {
				if more := x &^ def[p][w] &^ live[p][w]; more != 0 {
					live[p][w] |= more
					changed = true
				}
			}
			for j := range f.Blocks[i].Instrs {
				ph := &f.Blocks[i].Instrs[j]
				if ph.Op == OpPhi && pi < len(ph.Args) {
					put(ph.Args[pi])
				} else if ph.Op != OpName {
					break
				}
			}
			if changed && !queued[p] {
				work, queued[p] = append(work, p), true
			}
		}
	}
}

func sortInts(s []int32) { sort.Slice(s, func(i, j int) bool { return s[i] < s[j] }) }

func writes(op Op) bool {
	switch op {
	case OpStore, OpMapUpdate, OpGo, OpDefer, OpSend, OpName, OpIf, OpJump, OpReturn, OpPanic, OpRunDefers, OpNone:
		return false
	}
	return true
}

func operands(in *Instr) []int32 {
	var out []int32
	switch in.Op {
	case OpAlloc, OpMake, OpJump, OpRunDefers, OpNone:
		return nil
	case OpCall, OpGo, OpDefer:
		out = append(out, in.Call.Args...)
		if in.Call.Kind == CallDynamic || in.Call.Kind == CallInvoke {
			out = append(out, in.Call.Fun)
		}
		return out
	case OpStore, OpIndexAddr, OpIndex, OpLookup, OpBin, OpSend:
		return []int32{in.A, in.B}
	case OpMapUpdate:
		return []int32{in.A, in.B, in.Args[0]}
	case OpPhi, OpClosure, OpSelect, OpReturn:
		return in.Args
	}
	return []int32{in.A}
}

func (f *Func) def(v int32) *Instr { return f.defs[v] }
