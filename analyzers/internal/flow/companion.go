package flow

import (
	"math"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// companion adds the functions that the companion runtime calls: it marks the event in the transaction that it hands them.
func (inv *inventory) companion(pkgs map[string]bool, pays bool) {
	for _, id := range inv.p.sortedIDs() {
		f := inv.p.funcs[id]
		if !pkgs[f.Pkg] || f.Test || f.Gen {
			continue
		}
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				for _, b := range inv.p.calledByCompanion(f, f.Blocks[bi].Instrs[ii].Call) {
					g := inv.p.fn(b.Func)
					if g == nil || inv.at[g.Pos] != nil {
						continue
					}
					r := Root{Fn: g, Kind: RootRegistered, Edge: b.Edge, Pkg: f.Pkg, Client: know.Runtime}
					inv.onCompanion(r)
					if pays {
						inv.p.payingRoot(r, inv.pays)
					}
				}
			}
		}
	}
}

// calledByCompanion are the functions that a call hands to the companion runtime as handlers.
func (p *Program) calledByCompanion(f *Func, c *Call) []binding {
	if c == nil || c.Pkg != know.Runtime || c.Recv != "" || len(c.Args) < 3 {
		return nil
	}
	switch c.Name {
	case "Handle", "HandleBatch":
		return p.handed(f, c.Args[2])
	case "HandleCall": // a struct of functions
		f.prepare()
		d := f.def(c.Args[2])
		if d == nil || d.Op != OpLoad {
			return nil
		}
		var out []binding
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				in := &f.Blocks[bi].Instrs[ii]
				if in.Op != OpStore || in.A < 0 {
					continue
				}
				if a := f.def(in.A); a != nil && a.Op == OpFieldAddr && a.A == d.A {
					out = append(out, p.handed(f, in.B)...)
				}
			}
		}
		return out
	}
	return nil
}

func (inv *inventory) onCompanion(r Root) {
	s := inv.p.survey(&Verdict{Root: r, Active: true})
	h := inv.handler(&Verdict{Root: r}, &frame{fn: r.Fn, takes: true})
	h.GaveUp, h.Returns = s.gaveUp, true
	for _, m := range s.effects {
		m.InTx = m.InTx || m.Kind == EffDB && !m.Pool // on the transaction that it is handed
		h.Effects = append(h.Effects, *m)
		h.seen[m.Pos] = true
	}
	mark := Moment{Pos: r.Fn.Pos, Desc: "the mark of the companion runtime", InTx: true, Rank: -1}
	h.Guards = []Guard{{Moment: mark, State: GuardDecides, Store: "sql", Table: "processed_event"}}
	for _, q := range r.Fn.Params {
		if q.T != nil && strings.HasSuffix(q.T.Name, "pgx/v5.Tx") {
			h.Commits = []Moment{{Desc: "by the runtime, together with the mark", Rank: math.MaxInt}}
		}
	}
}
