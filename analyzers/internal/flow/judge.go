package flow

import (
	"maps"
	"sort"
)

// JudgeAll runs every root of the given packages. A function that another root hands its message to is no root.
func (p *Program) JudgeAll(pkgs map[string]bool) []*Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*Verdict
	judged := make(map[string]bool)
	judge := func(roots []Root) {
		for _, root := range roots {
			if root.Kind == RootParam && p.Entered[root.Fn.ID] || root.Kind == RootSource && judged[root.Fn.ID] {
				continue
			}
			judged[root.Fn.ID] = judged[root.Fn.ID] || root.Kind == RootSource
			out = append(out, p.Judge(root))
		}
	}
	roots := p.Roots(pkgs)
	var sources, others []Root
	for _, r := range roots {
		if r.Kind == RootSource {
			sources = append(sources, r)
		} else {
			others = append(others, r)
		}
	}
	judge(sources)
	p.learnYields(pkgs)
	for range 3 {
		more := p.receivers(pkgs, judged)
		if len(more) == 0 {
			break
		}
		judge(more)
	}
	judge(others)
	// What a handler that checks nothing sends to workers is one cause with what it does itself.
	for n := 0; n < len(out); {
		handed := make(map[string]bool)
		for ; n < len(out); n++ {
			if len(out[n].Unguarded) == 0 {
				maps.Copy(handed, out[n].handed)
			}
		}
		judge(p.workers(pkgs, handed))
	}
	return out
}

// learnYields finds out which functions of other packages, of those that these call, poll and hand back what a message
// carries.
func (p *Program) learnYields(pkgs map[string]bool) {
	seen := make(map[string]bool)
	for _, id := range p.sortedIDs() {
		f := p.funcs[id]
		if !pkgs[f.Pkg] || f.Test || f.Gen {
			continue
		}
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				c := f.Blocks[bi].Instrs[ii].Call
				if c == nil || c.Kind != CallStatic || seen[c.Fn] {
					continue
				}
				seen[c.Fn] = true
				if g := p.fn(c.Fn); g != nil && !pkgs[g.Pkg] && len(g.Results) > 0 && p.hasSource(g) {
					p.firstRun(Root{Fn: g, Kind: RootSource})
				}
			}
		}
	}
}

// receivers are the functions that call one which polls and hands back what a message carries.
func (p *Program) receivers(pkgs, judged map[string]bool) []Root {
	if len(p.yields) == 0 {
		return nil
	}
	var out []Root
	for id, f := range p.funcs {
		if !pkgs[f.Pkg] || f.Test || f.Gen || judged[id] || p.yields[id] {
			continue
		}
		if p.callsYield(f) {
			out = append(out, Root{Fn: f, Kind: RootSource})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Fn.ID < out[j].Fn.ID })
	return out
}

func (p *Program) callsYield(f *Func) bool {
	for bi := range f.Blocks {
		for ii := range f.Blocks[bi].Instrs {
			c := f.Blocks[bi].Instrs[ii].Call
			switch {
			case c == nil:
			case c.Kind == CallStatic && p.yields[c.Fn]:
				return true
			case c.Kind == CallInvoke:
				for _, b := range p.bound("", c.Iface, "") {
					if m := p.method(b.Type, c.Fn); m != nil && p.yields[m.Fn] {
						return true
					}
				}
			}
		}
	}
	return false
}
