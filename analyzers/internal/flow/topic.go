package flow

import (
	"slices"
	"sort"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// switched are the topics for which the functions on the way to a handler call it: by a switch over a message's topic, or
// out of a map by topic. It is nil when the way is the same for every topic.
func (p *Program) switched(h *Handler) []string {
	for f := h.chain; f != nil && f.up != nil; f = f.up {
		if f.in == nil {
			continue
		}
		caller := f.up.fn
		caller.prepare()
		for bi := range caller.Blocks {
			for ii := range caller.Blocks[bi].Instrs {
				if &caller.Blocks[bi].Instrs[ii] != f.in {
					continue
				}
				if topics := caller.caseOf(int32(bi), 0); len(topics) > 0 {
					sort.Strings(topics)
					return slices.Compact(topics)
				}
			}
		}
		if topics := p.mapped(f.fn.ID); len(topics) > 0 && f.dyn {
			return topics
		}
	}
	return nil
}

// caseOf are the topics with which a block is entered, nil when it is entered with others, too.
func (f *Func) caseOf(block int32, depth int) []string {
	preds := f.Blocks[block].Preds
	if depth > 12 || len(preds) == 0 {
		return nil
	}
	var out []string
	for _, pr := range preds {
		b := &f.Blocks[pr]
		if t, ok := f.topicTest(b); ok && len(b.Succs) == 2 && b.Succs[0] == block && b.Succs[1] != block {
			out = append(out, t)
			continue
		}
		if len(preds) > 1 {
			return nil
		}
		return f.caseOf(pr, depth+1)
	}
	return out
}

// topicTest is the text that a block's branch compares a message's topic with.
func (f *Func) topicTest(b *Block) (string, bool) {
	n := len(b.Instrs)
	if n == 0 || b.Instrs[n-1].Op != OpIf || b.Instrs[n-1].A < 0 {
		return "", false
	}
	d := f.def(b.Instrs[n-1].A)
	if d == nil || d.Op != OpBin || d.S != "==" {
		return "", false
	}
	for _, ops := range [][2]int32{{d.A, d.B}, {d.B, d.A}} {
		if t, ok := f.constText(ops[1]); ok && f.isTopic(ops[0]) {
			return t, true
		}
	}
	return "", false
}

// isTopic reports whether a value is read from a message's topic.
func (f *Func) isTopic(v int32) bool {
	for range 6 {
		if v < 0 {
			return false
		}
		d := f.def(v)
		if d == nil {
			return false
		}
		switch d.Op {
		case OpLoad, OpCopy:
			v = d.A
			continue
		case OpFieldAddr, OpField:
			pkg, typ := splitType(d.S2)
			return know.FieldRole(know.Normal(pkg), typ, d.S) == know.RoleTopic
		}
		return false
	}
	return false
}

// mapped are the texts under which a function is kept in a map.
func (p *Program) mapped(id string) []string {
	var out []string
	for _, caller := range p.callersOf(id) {
		f := p.fn(caller)
		f.prepare()
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				in := &f.Blocks[bi].Instrs[ii]
				if in.Op != OpMapUpdate {
					continue
				}
				if t, ok := f.constText(in.B); ok && slices.ContainsFunc(p.handed(f, in.Args[0]), func(b binding) bool { return b.Func == id }) {
					out = append(out, t)
				}
			}
		}
	}
	sort.Strings(out)
	return slices.Compact(out)
}
