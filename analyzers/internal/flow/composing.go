package flow

import "strings"

// Which functions put handlers together, see wiring.go.

// composing are the functions that take or give functions and keep them, and those that call such.
func (p *Program) composing() map[string]bool {
	rel := make(map[string]bool)
	after := make(map[string][]string)
	for dst, es := range p.edges {
		for _, e := range es {
			after[e.Src] = append(after[e.Src], dst)
		}
	}
	var work []string
	for _, id := range p.sortedIDs() {
		if f := p.funcs[id]; !f.Test && p.composer(f, after) {
			rel[id] = true
			work = append(work, id)
		}
	}
	calls := make(map[string][]string)
	for _, id := range p.sortedIDs() {
		f := p.funcs[id]
		if f.Test || !p.wirable(f) {
			continue
		}
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				switch in := &f.Blocks[bi].Instrs[ii]; {
				case in.Call != nil && in.Call.Kind == CallStatic:
					calls[in.Call.Fn] = append(calls[in.Call.Fn], id)
				case in.Op == OpClosure:
					calls[in.S] = append(calls[in.S], id) // what a literal does, whoever calls it, is done for the function it stands in
				}
			}
		}
	}
	for len(work) > 0 {
		id := work[0]
		work = work[1:]
		for _, c := range calls[id] {
			if !rel[c] {
				rel[c] = true
				work = append(work, c)
			}
		}
	}
	return rel
}

// wirable reports whether a function may put something together: one that handles messages does not.
func (p *Program) wirable(f *Func) bool { return !msgParam(f) && !p.hasSource(f) }

func (p *Program) composer(f *Func, after map[string][]string) bool {
	for _, r := range f.Results {
		if r != nil && len(f.Params) > 0 && (r.Kind == KFunc || r.Kind == KInterface && r.Name != "error") && p.takesPart(f, after) {
			return true
		}
	}
	return p.keepsPart(f, after)
}

// takesPart reports whether a function takes something that its result may be made of, or gives back a function.
func (p *Program) takesPart(f *Func, after map[string][]string) bool {
	for _, r := range f.Results {
		if r != nil && r.Kind == KFunc {
			return true
		}
	}
	for i, q := range f.Params {
		if q.T != nil && (q.T.Kind == KFunc || q.T.Kind == KInterface) && len(after[slotN("P", f.ID, i)]) > 0 {
			return true
		}
	}
	return false
}

// keepsPart reports whether a function keeps a function or an implementation that it is given.
func (p *Program) keepsPart(f *Func, after map[string][]string) bool {
	for i, q := range f.Params {
		if q.T == nil || q.T.Kind != KFunc && q.T.Kind != KInterface {
			continue
		}
		for _, dst := range after[slotN("P", f.ID, i)] {
			switch dst[0] {
			case 'F', 'G', 'L', 'V', 'R':
				return true
			case 'P':
				if j := strings.LastIndexByte(dst, '|'); q.T.Kind == KFunc && p.funcs[dst[2:j]] != nil {
					return true
				}
			}
		}
	}
	return false
}
