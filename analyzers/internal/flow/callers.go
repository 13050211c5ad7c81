package flow

import (
	"sort"
)

// Who calls a function, or refers to it.

// above are a function and those from which it is reached within n calls, without those that are reached from others
// of them: running these shows what its arguments can be.
func (p *Program) above(f *Func, n int) []*Func {
	if f.Parent != "" {
		for g := p.fn(f.Parent); g != nil; g = p.fn(g.Parent) {
			f = g
		}
	}
	level := []*Func{f}
	seen := map[string]bool{f.ID: true}
	out := []*Func{f}
	for range n {
		var next []*Func
		for _, g := range level {
			for _, id := range p.callersOf(g.ID) {
				c := p.fn(id)
				for c != nil && c.Parent != "" {
					c = p.fn(c.Parent)
				}
				if c == nil || seen[c.ID] || c.Test || len(out) > 8 {
					continue
				}
				seen[c.ID] = true
				next = append(next, c)
				out = append(out, c)
			}
		}
		level = next
	}
	return out
}

// callersOf are the functions that call or mention a function, those of tests apart.
func (p *Program) callersOf(id string) []string {
	if p.refs == nil {
		p.findRefs()
	}
	return p.refs[id]
}

// findRefs indexes which function mentions which.
func (p *Program) findRefs() {
	p.refs = make(map[string][]string)
	add := func(to string, f *Func) {
		if list := p.refs[to]; to != "" && (len(list) == 0 || list[len(list)-1] != f.ID) {
			p.refs[to] = append(list, f.ID)
		}
	}
	var ids []string
	for id, f := range p.funcs {
		if !f.Test {
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	for _, id := range ids {
		f := p.funcs[id]
		for _, c := range f.Consts {
			if c.Kind == CFunc {
				add(c.S, f)
			}
		}
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				in := &f.Blocks[bi].Instrs[ii]
				switch {
				case in.Op == OpMethodVal && in.N == 0, in.Op == OpClosure:
					add(in.S, f)
				case in.Op == OpMethodVal:
					add(in.S2+"#"+in.S, f)
				case in.Call != nil && in.Call.Kind == CallStatic:
					add(in.Call.Fn, f)
				case in.Call != nil && in.Call.Kind == CallInvoke:
					for _, b := range p.sources("N|" + in.Call.Iface) {
						if m := p.method(b.Type, in.Call.Fn); m != nil {
							add(m.Fn, f)
						}
					}
					add(in.Call.Iface+"#"+in.Call.Fn, f)
				}
			}
		}
	}
}
