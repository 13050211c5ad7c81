package flow

import (
	"sort"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

// KeyName reports whether a name means a dedup, idempotency or event id.
func (p *Program) KeyName(s Sink) bool { return p.scopeOf(s.chain).DedupKey(s.Name) }

// EventIDName reports whether a name means an event's or message's id.
func (p *Program) EventIDName(s Sink) bool { return p.scopeOf(s.chain).EventID(s.Name) }

// Closed are the findings that this package decides by itself, and those that stand at its bindings.
func (r *Result) Closed(find func(*Program, []*Verdict) []rule.Finding) []rule.Finding {
	return find(r.Prog, closed(r.Prog, r.Verdicts()))
}

// closed leaves out what depends on callees that another package may show.
func closed(p *Program, vs []*Verdict) []*Verdict {
	out := make([]*Verdict, 0, len(vs))
	for _, v := range vs {
		c := *v
		c.Unguarded = nil
		for _, u := range v.Unguarded {
			if !u.Cond {
				c.Unguarded = append(c.Unguarded, u)
			}
		}
		out = append(out, &c)
	}
	return out
}

// Random finds where random UUIDs made or handed over in the package end.
func (r *Result) Random() []Sink {
	r.work.Lock()
	defer r.work.Unlock()
	return r.Prog.Random(r.Prog.ownPkgs)
}

// Random runs the functions of the packages that make random UUIDs, and those that call functions which return one.
func (p *Program) Random(pkgs map[string]bool) []Sink {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []string
	makers := p.v4Makers()
	for id, f := range p.funcs {
		if !f.Test && !f.Gen && (pkgs[f.Pkg] || p.givenMaker(f, makers)) {
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	var out []Sink
	for _, id := range ids {
		f := p.funcs[id]
		if !p.callsAny(f, makers) || f.Literal && p.insideRun(f, makers) {
			continue
		}
		in := newInterp(p, World{})
		in.limit, in.ids, in.sinking = 60_000, true, true
		in.try(Root{Fn: f, Kind: RootParam})
		out = append(out, in.sinks...)
	}
	sort.SliceStable(out, func(i, j int) bool { return less(out[i].Pos, out[j].Pos) })
	return out
}

// try runs a root and gives it up when the engine cannot run it.
func (in *interp) try(r Root) {
	defer func() {
		if recover() != nil {
			in.gaveUp = true
		}
	}()
	in.execute(r)
}

// storesTo reports whether a function writes through an address.
func (f *Func) storesTo(addr int32) bool {
	for bi := range f.Blocks {
		for ii := range f.Blocks[bi].Instrs {
			if in := &f.Blocks[bi].Instrs[ii]; in.Op == OpStore && in.A == addr {
				return true
			}
		}
	}
	return false
}

// insideRun reports whether running the function around a literal runs the literal, too.
func (p *Program) insideRun(f *Func, makers map[string]bool) bool { return false }

// v4Makers are the functions that return a random UUID, directly or through others.
func (p *Program) v4Makers() map[string]bool {
	makers := make(map[string]bool)
	var ids []string
	for id := range p.funcs {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	tried := make(map[string]bool)
	for range 4 {
		grew := false
		for _, id := range ids {
			f := p.funcs[id]
			if makers[id] || tried[id] || f.Test || !p.callsAny(f, makers) {
				continue
			}
			tried[id] = true
			in := newInterp(p, World{})
			in.limit = 20_000
			in.onEnd = func(st *state, vals []*Value) {
				for _, v := range vals {
					if v != nil && v.T.has(FromV4) {
						makers[id] = true
					}
				}
			}
			in.try(Root{Fn: f, Kind: RootParam})
			if makers[id] {
				grew = true
			}
		}
		if !grew {
			break
		}
		for id := range tried {
			if !makers[id] {
				delete(tried, id)
			}
		}
	}
	return makers
}

// callsAny reports whether a function makes a random UUID, mentions a maker, or calls through a value that holds one.
func (p *Program) callsAny(f *Func, makers map[string]bool) bool {
	for _, c := range f.Consts {
		if c.Kind == CFunc && (makers[c.S] || p.isV4(c.S)) {
			return true
		}
	}
	for bi := range f.Blocks {
		for ii := range f.Blocks[bi].Instrs {
			in := &f.Blocks[bi].Instrs[ii]
			c := in.Call
			if c == nil {
				continue
			}
			switch c.Kind {
			case CallStatic:
				if makers[c.Fn] || p.isV4Call(c) {
					return true
				}
			case CallDynamic:
				if p.holdsMaker(f, c.Fun, makers) {
					return true
				}
			case CallInvoke:
				for _, b := range p.sources("N|" + c.Iface) {
					if m := p.method(b.Type, c.Fn); m != nil && makers[m.Fn] {
						return true
					}
				}
			}
		}
	}
	return false
}

func (p *Program) isV4Call(c *Call) bool {
	row := know.Lookup(know.Sym{Pkg: c.Pkg, Recv: c.Recv, Name: c.Name})
	return row != nil && row.Kind == know.V4
}

func (p *Program) isV4(id string) bool {
	if p.funcs[id] != nil {
		return false
	}
	pkg, recv, name := p.symOf(id)
	row := know.Lookup(know.Sym{Pkg: pkg, Recv: recv, Name: name})
	return row != nil && row.Kind == know.V4
}

// holdsMaker reports whether the value called may hold a maker: a package variable, a field, a parameter.
func (p *Program) holdsMaker(f *Func, v int32, makers map[string]bool) bool {
	slot := p.slotAt(f, v)
	if slot == "" {
		return false
	}
	for _, b := range p.sources(slot) {
		if b.Func != "" && (makers[b.Func] || p.isV4(b.Func)) {
			return true
		}
	}
	return false
}

// FixV7 is the change of a maker's call to the same library's version 7, where the library has one.
func (s *Src) FixV7() (rule.Fix, bool) {
	if s.call == nil || !s.End.IsValid() || s.Ref.IsValid() {
		return rule.Fix{}, false
	}
	return v7Fix(s)
}

// slotAt is the slot that a value of a function was read from, "" when it is none.
func (p *Program) slotAt(f *Func, v int32) string {
	f.prepare()
	slot := ""
	if v < 0 {
		if i := int(^v); i < len(f.Consts) && f.Consts[i].Kind == CGlobal {
			slot = "G|" + f.Consts[i].S
		}
	} else if d := f.def(v); d != nil {
		switch d.Op {
		case OpLoad:
			if d.A < 0 {
				if i := int(^d.A); i < len(f.Consts) {
					slot = "G|" + f.Consts[i].S
				}
			} else if a := f.def(d.A); a != nil && a.Op == OpFieldAddr {
				slot = "F|" + a.S2 + "|" + a.S
			}
		case OpField:
			slot = "F|" + d.S2 + "|" + d.S
		}
	} else if int(v) < len(f.Params) {
		slot = slotN("P", f.ID, int(v))
	}
	return slot
}

// named are the origins of an id that was derived from what has these: by name, or a digest. It is as random as what it
// was derived from, though no random UUID.
func (t Taint) named() Taint { return t.marked(func(s *Src) { s.Named = true }) }

// parts are the origins of a text that was put together from what has these.
func (t Taint) parts() Taint { return t.marked(func(s *Src) { s.Part = true }) }

func (t Taint) marked(mark func(*Src)) Taint {
	out := Taint{Bits: t.Bits, Reads: t.Reads}
	for _, s := range t.Srcs {
		if s.Bit == FromV4 {
			n := *s
			mark(&n)
			s = &n
		}
		out.Srcs = append(out.Srcs, s)
	}
	return out
}

// Elsewhere reports whether a random id that is part of an event's id is also the id of something else: then the event's
// id is a name made from that.
func Elsewhere(sinks []Sink, s *Src) bool {
	if !s.Part {
		return false
	}
	for _, o := range sinks {
		if o.Kind != SinkField || o.Flags&FieldRowID == 0 {
			continue
		}
		for _, x := range o.Value.Srcs {
			if x.Bit == FromV4 && x.Pos == s.Pos && x.Enter == s.Enter && !x.Part && !x.Named {
				return true
			}
		}
	}
	return false
}

// asked are the origins of an answer to what was asked with values of these origins: what was made up for the question
// does not come back with it.
func (t Taint) asked() Taint {
	out := Taint{Bits: t.Bits &^ (FromV4 | FromFresh), Reads: t.Reads}
	for _, s := range t.Srcs {
		if s.Bit != FromV4 && s.Bit != FromFresh {
			out.Srcs = append(out.Srcs, s)
		}
	}
	return out
}

// readsStore reports whether a library's call asks a store or a service for what it holds.
func readsStore(c *Call) bool {
	if !c.Method && c.Kind != CallInvoke {
		return false
	}
	if first, _, _ := strings.Cut(c.Pkg, "/"); !strings.Contains(first, ".") && !strings.HasPrefix(c.Pkg, "net/http") {
		return false
	}
	words := know.Words(c.Name)
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "find", "get", "query", "search", "list", "fetch", "aggregate", "distinct", "scan", "lookup", "hget", "hgetall", "mget", "smembers", "lrange":
		return true
	}
	return false
}
