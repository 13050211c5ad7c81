package flow

import (
	"go/types"
	"reflect"
	"sort"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// Headers of a message. In most clients they are a slice of pairs: which of them a value belongs to is told by the
// comparison that was true before it was read.

// headerNote is an event-id header that was written.
type headerNote struct {
	name string
	pos  Pos
}

// A BareID is an event-id header of a produced message whose payload has no event id.
type BareID struct {
	Pos     Pos // where the header is named
	Header  string
	Payload string // the payload's type
}

// headerRole tells what a field of a header's type means, [know.NoRole] for any other field.
func headerRole(owner, name string) know.Role {
	pkg, typ := splitType(owner)
	switch r := know.FieldRole(know.Normal(pkg), typ, name); r {
	case know.RoleHeaderName, know.RoleHeaderValue:
		return r
	}
	return know.NoRole
}

func slotRole(slot string) know.Role {
	if !strings.HasPrefix(slot, "F|") {
		return know.NoRole
	}
	i := strings.LastIndexByte(slot, '|')
	if i < 2 {
		return know.NoRole
	}
	return headerRole(slot[2:i], slot[i+1:])
}

// headerSrc is the origin of a value that was read from the header so named.
func (w *walker) headerSrc(name string, at Pos) *Src {
	w.in.sources = true
	return &Src{Bit: FromHeader, Pos: at, Enter: at, Cross: at, Pkg: w.fn.Pkg, Fn: w.fn.ID, What: name, depth: w.fr.depth}
}

func (w *walker) headerTaint(name *Value, at Pos) Taint {
	s := ""
	if name.K == VStr && !hasHole(name.S) {
		s = name.S
	}
	return Taint{Bits: FromHeader, Srcs: []*Src{w.headerSrc(s, at)}}
}

// compared notes the name of the header in hand: one side is a header's name and the other a known text.
func (w *walker) compared(def *Instr, a, b int32) {
	x, y := w.val(a), w.val(b)
	if slotRole(x.Slot) != know.RoleHeaderName {
		x, y, b = y, x, a
	}
	if slotRole(x.Slot) != know.RoleHeaderName || y.K != VStr || hasHole(y.S) {
		return
	}
	src := w.headerSrc(y.S, w.nameAt(def, b))
	w.st.hdr = src
	for i, v := range w.env {
		// The value may have been read before the name was compared.
		if v != nil && slotRole(v.Slot) == know.RoleHeaderValue && len(v.T.Srcs) == 0 {
			w.env[i] = v.with(Taint{Bits: FromHeader, Srcs: []*Src{src}})
		}
	}
}

// headerValue is what a header's value field holds, when it is seen which header it is.
func (w *walker) headerValue(addr *Value, ins *Instr) *Value {
	fa := addr.fa
	if fa == nil || w.st.hdr == nil || addr.O == nil || headerRole(fa.S2, fa.S) != know.RoleHeaderValue {
		return nil
	}
	if v := w.find(addr.O, addr.Path, ins.T, 0); v != nil && !v.T.has(FromHeader) {
		return nil
	}
	owner := &Value{K: VRef, O: addr.O, Path: strings.TrimSuffix(strings.TrimSuffix(addr.Path, fa.S), ".")}
	if !w.deep(owner).has(FromHeader | FromMessage) {
		return nil // of a message in the making
	}
	src := *w.st.hdr
	src.depth = w.fr.depth
	return w.fresh(ins.T, Taint{Bits: FromHeader, Srcs: []*Src{&src}}, w.slotOf(addr))
}

// headerEntry is an element of a map of headers.
func (w *walker) headerEntry(ins *Instr, v, k *Value) *Value {
	if v == nil || k.K != VStr || hasHole(k.S) || !v.T.has(FromHeader) || v.T.has(FromPayload|FromMessage) || len(v.T.Srcs) > 0 {
		return v
	}
	return v.with(Taint{Bits: FromHeader, Srcs: []*Src{w.headerSrc(k.S, w.nameAt(ins, ins.B))}})
}

// operand is the argument of a call after its receiver.
func operand(c *Call, i int) int32 {
	if c.Kind != CallInvoke && c.Method {
		i++
	}
	if i < 0 || i >= len(c.Args) {
		return ^int32(1 << 30)
	}
	return c.Args[i]
}

// nameAt is where a header is named: here, or at the call through which the name came as an argument.
func (w *walker) nameAt(ins *Instr, v int32) Pos {
	pos, fr, fn := ins.Pos, w.fr, w.fn
	for range maxDepth {
		for v >= 0 {
			fn.prepare()
			d := fn.def(v)
			if d == nil || d.Op != OpCopy && d.Op != OpMakeIface {
				break
			}
			v = d.A
		}
		if v < 0 || int(v) >= len(fn.Params) || fr == nil || fr.in == nil || fr.in.Call == nil || fr.up == nil {
			return pos
		}
		i := int(v) - (len(fn.Params) - len(fr.in.Call.Args))
		if i < 0 || i >= len(fr.in.Call.Args) {
			return pos
		}
		v, pos = fr.in.Call.Args[i], fr.in.Pos
		fr = fr.up
		fn = fr.fn
	}
	return pos
}

// metadata reports whether a map holds a message's headers.
func metadata(m *Value) bool {
	if m.O != nil && m.O.T != nil && strings.HasSuffix(m.O.T.Name, "watermill/message.Metadata") {
		return true
	}
	return strings.HasSuffix(slotName(m), "watermill/message.Message|Metadata")
}

// headerWritten notes a header that carries an event's id.
func (w *walker) headerWritten(name *Value, at Pos) {
	if name.K != VStr || hasHole(name.S) || !w.know().EventID(name.S) {
		return
	}
	w.in.named = true
	for _, n := range w.st.heads {
		if n.pos == at {
			return
		}
	}
	w.st.heads = append(w.st.heads[:len(w.st.heads):len(w.st.heads)], headerNote{name.S, at})
}

// headerField is what a store into a field of a header writes. Where the header carries an event's id, the value of the
// pair is one, whichever of the two is written first.
func (w *walker) headerField(addr, v *Value, ins *Instr) *Value {
	role := headerRole(addr.fa.S2, addr.fa.S)
	if role == know.NoRole || addr.O == nil {
		return v
	}
	base := strings.TrimSuffix(strings.TrimSuffix(addr.Path, addr.fa.S), ".")
	if role == know.RoleHeaderName {
		w.headerWritten(v, w.nameAt(ins, ins.B))
		c := cell{addr.O.id, join(base, "Value")}
		if x := w.st.get(c); x != nil && v.K == VStr && w.know().EventID(v.S) {
			w.in.sink(Sink{Kind: SinkHeader, Name: v.S, Pos: ins.Pos, Known: v.S}, x, w)
			w.st.set(c, w.asEventID(x))
		}
		return v
	}
	name := w.st.get(cell{addr.O.id, join(base, "Key")})
	if name == nil || name.K != VStr || !w.know().EventID(name.S) {
		return v
	}
	w.in.sink(Sink{Kind: SinkHeader, Name: name.S, Pos: ins.Pos, Known: name.S}, v, w)
	return w.asEventID(v)
}

// sent looks at a message that is produced: does its payload have the id that its headers have?
func (w *walker) sent(args []*Value, arg int) {
	notes := w.st.heads
	w.st.heads = nil
	if len(notes) == 0 || arg < 0 {
		return
	}
	for _, v := range append(w.variadic(args, arg), at(args, arg)) {
		if v == nil || v.O == nil {
			continue
		}
		for _, f := range [...]string{"Value", "Payload"} {
			x := w.find(v.O, join(w.pathAt(v), f), nil, 0)
			if x == nil || x.enc == "" || !w.in.prog.bare[x.enc] {
				continue
			}
			for _, n := range notes {
				w.in.bareIDs = append(w.in.bareIDs, BareID{Pos: n.pos, Header: n.name, Payload: x.enc})
			}
			return
		}
	}
	w.in.unsure = true
}

// encode turns a value into bytes.
func (w *walker) encode(ins *Instr, full []*Value, v *Value) []exit {
	typ := v.Dyn
	out := w.library(ins, full)
	for i := range out {
		if len(out[i].vals) > 0 {
			c := *out[i].vals[0]
			c.T.Reads = nil
			for _, r := range w.backInto(v) {
				c.T.Reads = joinReads(c.T.Reads, []*read{r.row.col("*", true)})
			}
			c.enc = typ
			c.from = v
			out[i].vals[0] = &c
		}
	}
	w.wholeRow(typ, out)
	return out
}

// BareIDs finds the produced messages of the package whose event id is in a header only.
func (r *Result) BareIDs() []BareID { return r.Prog.BareIDs(r.Prog.ownPkgs) }

// BareIDs runs the functions of the packages that name an event-id header, and where that does not show the payload,
// those that call them.
func (p *Program) BareIDs(pkgs map[string]bool) []BareID {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []string
	for id, f := range p.funcs {
		if !f.Test && !f.Gen && p.namesEventID(f) {
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	var out []BareID
	seen := make(map[string]bool)
	done := make(map[Pos]bool)
	for range 3 {
		var up []string
		for _, id := range ids {
			f := p.fn(id)
			if f == nil || seen[id] || f.Test {
				continue
			}
			seen[id] = true
			in := newInterp(p, World{})
			in.limit = 40_000
			in.execute(Root{Fn: f, Kind: RootParam})
			for _, b := range in.bareIDs {
				if !done[b.Pos] {
					done[b.Pos] = true
					out = append(out, b)
				}
			}
			if in.named && (in.unsure || len(in.bareIDs) == 0) {
				up = append(up, p.callersOf(id)...)
			}
		}
		ids = up
	}
	sort.Slice(out, func(i, j int) bool { return less(out[i].Pos, out[j].Pos) })
	return out
}

func (p *Program) namesEventID(f *Func) bool {
	for _, c := range f.Consts {
		if c.Kind == CString && len(c.S) < 40 && p.scopeIn(f.Pkg).EventID(c.S) {
			return true
		}
	}
	return false
}

// bareStruct notes a struct type that has no field which may be an event's id.
func (l *lowerer) bareStruct(t types.Type) {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	name := typeName(t)
	st, ok := t.Underlying().(*types.Struct)
	if !ok || name == "" {
		return
	}
	if l.bare == nil {
		l.bare = make(map[string]bool)
	}
	if _, ok := l.bare[name]; !ok {
		l.bare[name] = l.withoutID(st, name, true, 0)
	}
}

func (l *lowerer) bareStructs() {
	for name, is := range l.bare {
		if is {
			l.unit.Bare = append(l.unit.Bare, name)
		}
	}
	sort.Strings(l.unit.Bare)
}

// withoutID reports whether a struct surely has no event id: none by name, none under the plain name of an id, and nothing
// that may hold anything.
func (l *lowerer) withoutID(st *types.Struct, owner string, top bool, depth int) bool {
	if depth > 4 {
		return false
	}
	for i := range st.NumFields() {
		f := st.Field(i)
		json, _, _ := strings.Cut(reflect.StructTag(st.Tag(i)).Get("json"), ",")
		if l.know.DedupKey(f.Name()) || l.know.DedupKey(json) {
			return false
		}
		if (isIDName(f.Name()) || isIDName(json)) && (top || know.EventType(owner[strings.LastIndexByte(owner, '.')+1:])) {
			return false
		}
		t := types.Unalias(f.Type())
		if p, ok := t.(*types.Pointer); ok {
			t = types.Unalias(p.Elem())
		}
		if s, ok := t.Underlying().(*types.Slice); ok {
			if b, ok := s.Elem().Underlying().(*types.Basic); ok && b.Kind() == types.Byte {
				return false // raw JSON, or any other bytes
			}
			t = types.Unalias(s.Elem())
		}
		switch u := t.Underlying().(type) {
		case *types.Interface, *types.Map, *types.TypeParam:
			return false
		case *types.Struct:
			name := typeName(t)
			if strings.HasPrefix(name, "time.") {
				continue
			}
			if !l.withoutID(u, name, f.Embedded() || carriesMeta(f.Name()), depth+1) {
				return false
			}
		}
	}
	return true
}

func carriesMeta(name string) bool {
	for _, w := range know.Words(name) {
		switch w {
		case "meta", "metadata", "header", "headers", "envelope", "event", "context":
			return true
		}
	}
	return false
}
