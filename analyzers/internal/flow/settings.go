package flow

import (
	"slices"
	"sort"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// A Source is where a handler's messages come from, as far as it can be read.
type Source struct {
	Client string   // the library's name, "" when it cannot be told
	Topics []string // constants, sorted; nil when they cannot be told
	Group  string   // a constant, "" when it cannot be told
}

// A setting is a place where a client is told a topic or group.
type setting struct {
	fn     *Func
	client string
	sets   know.Setting
	values []string
	whole  bool // all values are constants
	call   *Call
}

// settings are those of a program.
type settings struct {
	p   *Program
	all []setting
	of1 map[string][]setting // by function
}

func (p *Program) settings() *settings {
	s := &settings{p: p, of1: make(map[string][]setting)}
	for _, id := range p.sortedIDs() {
		f := p.funcs[id]
		if f.Test {
			continue
		}
		f.prepare()
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				s.read(f, &f.Blocks[bi].Instrs[ii])
			}
		}
	}
	return s
}

func (s *settings) add(f *Func, client string, sets know.Setting, call *Call, ops []int32) {
	x := setting{fn: f, client: client, sets: sets, whole: len(ops) > 0, call: call}
	for _, v := range ops {
		values, ok := s.texts(f, v, 0)
		x.values, x.whole = append(x.values, values...), x.whole && ok
	}
	if len(x.values) == 1 && x.values[0] == "" {
		return // none
	}
	s.all = append(s.all, x)
	s.of1[f.ID] = append(s.of1[f.ID], x)
}

// read looks for a setting in an instruction.
func (s *settings) read(f *Func, in *Instr) {
	switch {
	case in.Call != nil:
		c := in.Call
		off := 0
		if c.Method {
			off = 1
		}
		for _, row := range know.Settings {
			if row.Name != c.Name || row.Recv != c.Recv || row.Pkg != c.Pkg || row.Arg+off >= len(c.Args) {
				continue
			}
			ops := c.Args[row.Arg+off : row.Arg+off+1]
			if row.Rest {
				ops = c.Args[row.Arg+off:]
			}
			s.add(f, know.Client(row.Pkg), row.Sets, c, ops)
		}
	case in.Op == OpStore && in.A >= 0:
		a := f.def(in.A)
		if a == nil || a.Op != OpFieldAddr {
			return
		}
		pkg, typ := splitType(a.S2)
		for _, row := range know.SettingFields {
			if row.Field == a.S && row.Type == typ && row.Pkg == know.Normal(pkg) {
				s.add(f, know.Client(row.Pkg), row.Sets, nil, []int32{in.B})
			}
		}
	case in.Op == OpMapUpdate:
		key, ok := f.constText(in.B)
		if !ok || !strings.Contains(key, ".") {
			return
		}
		for _, row := range know.SettingFields {
			if row.Field == key {
				s.add(f, know.Client(row.Pkg), row.Sets, nil, in.Args[:1])
			}
		}
	}
}

const textsDepth = 4

// texts are the constant texts that an operand holds, one or a list of them. ok is false when it may hold others.
func (s *settings) texts(f *Func, v int32, depth int) (values []string, ok bool) {
	if t, is := f.constText(v); is {
		return []string{t}, true
	}
	if depth > textsDepth {
		return nil, false
	}
	if v >= 0 {
		if d := f.def(v); d != nil {
			switch d.Op {
			case OpSlice, OpCopy, OpMakeIface:
				return s.texts(f, d.A, depth)
			case OpAlloc, OpMake:
				return s.elements(f, v, depth)
			case OpPhi:
				return nil, false
			}
		}
	}
	slot := s.p.slotAt(f, v)
	if slot == "" {
		return nil, false
	}
	if slot[0] == 'P' {
		return s.arguments(f, int(v), depth)
	}
	s.p.textIn(slot)
	if t := s.p.texts[slot]; t != nil && !t.more {
		return []string{t.text}, true
	}
	if g, is := strings.CutPrefix(slot, "G|"); is {
		if x := s.p.globals[g]; x != nil && x.C.Kind == CString {
			return []string{x.C.S}, true
		}
	}
	return nil, false
}

// elements are the texts stored in a list that a function makes.
func (s *settings) elements(f *Func, list int32, depth int) (values []string, ok bool) {
	ok = true
	for bi := range f.Blocks {
		for ii := range f.Blocks[bi].Instrs {
			in := &f.Blocks[bi].Instrs[ii]
			if in.Op != OpStore || in.A < 0 {
				continue
			}
			if a := f.def(in.A); a != nil && a.Op == OpIndexAddr && a.A == list {
				more, whole := s.texts(f, in.B, depth+1)
				values, ok = append(values, more...), ok && whole
			}
		}
	}
	return values, ok && len(values) > 0
}

// arguments are the texts that a function's callers hand over for a parameter. Callers that differ tell nothing.
func (s *settings) arguments(f *Func, param, depth int) (values []string, ok bool) {
	first := true
	for _, id := range s.p.callersOf(f.ID) {
		g := s.p.fn(id)
		g.prepare()
		for bi := range g.Blocks {
			for ii := range g.Blocks[bi].Instrs {
				c := g.Blocks[bi].Instrs[ii].Call
				if c == nil || c.Kind != CallStatic || c.Fn != f.ID || param >= len(c.Args) {
					continue
				}
				got, whole := s.texts(g, c.Args[param], depth+1)
				if !whole || !first && !slices.Equal(got, values) {
					return nil, false
				}
				values, first = got, false
			}
		}
	}
	return values, !first
}

// of finds the client, topics and group of a handler: from where it is registered, or from what makes its client. What
// is set elsewhere in the program may be for other clients.
func (s *settings) of(h *Handler) Source {
	src := Source{Client: s.client(h)}
	if src.Client == "" {
		return src
	}
	near := s.near(h)
	pick := func(sets know.Setting) []string {
		for _, level := range near {
			var found []setting
			for _, id := range level {
				for _, x := range s.of1[id] {
					if x.client == src.Client && x.sets == sets {
						found = append(found, x)
					}
				}
			}
			if len(found) > 0 {
				return only(found, sets)
			}
		}
		return nil
	}
	if g := pick(know.GroupSetting); len(g) == 1 {
		src.Group = g[0]
	}
	if src.Topics = s.registered(h); src.Topics == nil {
		if src.Topics = s.p.switched(h); src.Topics == nil {
			src.Topics = pick(know.TopicSetting)
		}
	}
	return src
}

// only is what settings agree on: topics of one place, and one group.
func only(found []setting, sets know.Setting) []string {
	var out []string
	for _, x := range found {
		if !x.whole || sets == know.TopicSetting && x.fn != found[0].fn {
			return nil
		}
		out = append(out, x.values...)
	}
	sort.Strings(out)
	return slices.Compact(out)
}

// client is the library whose messages a handler gets.
func (s *settings) client(h *Handler) string {
	if c := know.Client(know.Normal(h.Root.Client)); c != "" {
		return c
	}
	of := func(t *Type) string {
		if t == nil || !t.Msg {
			return ""
		}
		for _, name := range [...]string{t.Name, t.Elem} {
			pkg, _ := splitType(name)
			if c := know.Client(know.Normal(pkg)); c != "" {
				return c
			}
		}
		return ""
	}
	fns := []*Func{h.Fn, h.Root.Fn}
	for f := h.Poll.chain; f != nil; f = f.up {
		fns = append(fns, f.fn) // a wrapper of the client may do the polling
	}
	n := len(fns)
	for id := range h.path {
		fns = append(fns, s.p.fn(id))
	}
	sort.SliceStable(fns[n:], func(i, j int) bool { return fns[n+i].ID < fns[n+j].ID })
	for _, f := range fns {
		for _, q := range f.Params {
			if c := of(q.T); c != "" {
				return c
			}
		}
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				in := &f.Blocks[bi].Instrs[ii]
				if c := of(in.T); c != "" {
					return c
				}
				if in.Call == nil {
					continue
				}
				for _, r := range in.Call.Res {
					if c := of(r); c != "" {
						return c
					}
				}
			}
		}
	}
	return ""
}

// near are the functions in which a handler's client may be made, the nearest first: those on the way to it, those that
// make the value whose method polls, and, step by step, those that call them.
func (s *settings) near(h *Handler) [][]string {
	seen := make(map[string]bool)
	var levels [][]string
	add := func(ids []string) {
		var level []string
		for _, id := range ids {
			if f := s.p.fn(id); f != nil && !seen[id] {
				seen[id] = true
				level = append(level, id)
			}
		}
		if len(level) > 0 {
			sort.Strings(level)
			levels = append(levels, level)
		}
	}
	root := h.Root.Fn
	way := append([]string{root.ID}, s.registering(h)...)
	add(way)
	if root.Recv != "" {
		var makers []string
		for _, id := range s.p.sortedIDs() {
			f := s.p.funcs[id]
			if f.Pkg == root.Pkg && f.Recv == "" && slices.ContainsFunc(f.Results, func(t *Type) bool { return t != nil && t.Name == root.Pkg+"."+root.Recv }) {
				makers = append(makers, id)
			}
		}
		add(makers)
		add(s.callees(makers, 2))
	}
	up := way
	for range 6 {
		var next []string
		for _, id := range up {
			next = append(next, s.p.callersOf(id)...)
			if f := s.p.fn(id); f != nil && f.Parent != "" {
				next = append(next, f.Parent)
			}
		}
		add(next)
		add(s.callees(next, 2))
		up = next
		if len(up) == 0 || len(up) > 50 {
			break
		}
	}
	return levels
}

// callees are the functions that others call, n calls deep.
func (s *settings) callees(ids []string, n int) []string {
	var out []string
	seen := make(map[string]bool)
	for range n {
		var next []string
		for _, id := range ids {
			f := s.p.fn(id)
			if f == nil {
				continue
			}
			for bi := range f.Blocks {
				for ii := range f.Blocks[bi].Instrs {
					if c := f.Blocks[bi].Instrs[ii].Call; c != nil && c.Kind == CallStatic && s.p.fn(c.Fn) != nil && !seen[c.Fn] {
						seen[c.Fn] = true
						next = append(next, c.Fn)
					}
				}
			}
		}
		out, ids = append(out, next...), next
	}
	return out
}

// registering are the functions that register a handler. The call that names its topic is its own; one that takes what
// such calls make may have taken another's.
func (s *settings) registering(h *Handler) []string {
	var own, all []string
	for _, x := range s.all {
		if x.call == nil || !s.registers(x, h) {
			continue
		}
		all = append(all, x.fn.ID)
		if x.sets == know.TopicSetting {
			own = append(own, x.fn.ID)
		}
	}
	if len(own) > 0 {
		return own
	}
	return all
}

// registers reports whether a call with a setting is the one that registers a handler's root.
func (s *settings) registers(x setting, h *Handler) bool {
	for _, b := range s.p.calledByCompanion(x.fn, x.call) {
		if b.Func == h.Root.Fn.ID {
			return true
		}
	}
	_, name := splitType(h.Root.Fn.Name)
	implements := func(typ string) bool {
		m := s.p.method(typ, name)
		return m != nil && m.Fn == h.Root.Fn.ID
	}
	for _, a := range x.call.Args {
		if d := x.fn.def(a); a >= 0 && d != nil && d.Op == OpMakeIface && implements(d.S) {
			return true
		}
		for _, b := range s.p.handed(x.fn, a) {
			if b.Func == h.Root.Fn.ID || b.Type != "" && implements(b.Type) {
				return true
			}
		}
	}
	return false
}

// registered are the topics for which a handler's root is registered.
func (s *settings) registered(h *Handler) []string {
	var found []setting
	for _, x := range s.all {
		if x.sets == know.TopicSetting && x.call != nil && s.registers(x, h) {
			found = append(found, x)
		}
	}
	var out []string
	for _, x := range found {
		if !x.whole {
			return nil
		}
		out = append(out, x.values...)
	}
	sort.Strings(out)
	return slices.Compact(out)
}
