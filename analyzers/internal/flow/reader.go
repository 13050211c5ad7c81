package flow

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// tristate is a fact that may not be known.
type tristate int8

const (
	unknown tristate = iota
	likely           // unless a caller says otherwise
	no
	yes
)

// isReader reports whether a type is a client's reader, whose configuration says what reading does.
func isReader(t types.Type) bool {
	i := strings.LastIndexByte(typeName(t), '.')
	return i > 0 && typeName(t)[i:] == ".Reader" && know.Normal(typeName(t)[:i]) == "github.com/segmentio/kafka-go"
}

// makesReader reports whether a call is of the client's own function that makes a reader.
func makesReader(c *ssa.Call, fn *ssa.Function) bool {
	return isReader(c.Type()) && fn.Name() == "NewReader" && fn.Pkg != nil && know.Library(know.Normal(fn.Pkg.Pkg.Path()))
}

const groupField = "{group}"

// newReader makes a reader and remembers whether its configuration names a group.
func (w *walker) newReader(ins *Instr, cfg *Value) []exit {
	o := w.in.object(w.fr, ins, 9, nil)
	g := w.groupOf(cfg)
	w.st.set(cell{o.id, groupField}, &Value{K: VInt, I: int64(g)})
	if w.in.readers == nil {
		w.in.readers = make(map[string]tristate)
	}
	key := siteKey(ins.Pos)
	w.in.readers[key] = max(w.in.readers[key], g)
	return []exit{{[]*Value{{K: VRef, O: o}}, w.st}}
}

// groupOf tells whether a reader's configuration names a group. One that is set from elsewhere names one.
func (w *walker) groupOf(cfg *Value) tristate {
	if cfg.O == nil {
		return unknown
	}
	v := w.find(cfg.O, join(w.pathAt(cfg), "GroupID"), nil, 0)
	switch {
	case v == nil && cfg.O.Local:
		if base, p := w.base(cfg.O, join(w.pathAt(cfg), "GroupID")); base != nil && (base != cfg.O || p == "") {
			return unknown
		}
		return no
	case v == nil:
		return unknown
	case v.K == VStr && v.S == "":
		return no
	case v.K == VTop && strings.HasPrefix(v.Slot, "P|"):
		return likely
	}
	return yes
}

// autoCommits reports whether reading from the reader commits what it returns, as far as that can be seen.
func (w *walker) autoCommits(recv *Value) bool {
	if recv == nil {
		return false
	}
	if recv.O != nil {
		if g := w.st.get(cell{recv.O.id, groupField}); g != nil {
			return tristate(g.I) == yes || tristate(g.I) == likely
		}
	}
	for _, slot := range [...]string{recv.Slot, w.in.slotHint(recv)} {
		if slot == "" {
			continue
		}
		for _, b := range w.in.prog.sources(slot) {
			if b.Reader != "" && w.in.prog.grouped(b.Reader) == yes {
				return true
			}
		}
	}
	return false
}

// grouped runs the function that makes a reader, and where that does not tell, those that call it.
func (p *Program) grouped(reader string) tristate {
	if g, ok := p.groups[reader]; ok {
		return g
	}
	if p.groups == nil {
		p.groups = make(map[string]tristate)
	}
	p.groups[reader] = unknown
	fn, at, _ := strings.Cut(reader, "|")
	level := []string{fn}
	out := unknown
	for range 3 {
		var up []string
		for _, id := range level {
			f := p.fn(id)
			if f == nil {
				continue
			}
			in := newInterp(p, World{})
			in.limit = 40_000
			in.execute(Root{Fn: f, Kind: RootParam})
			out = max(out, in.readers[at])
			up = append(up, p.callersOf(id)...)
		}
		if out > likely {
			break
		}
		if level = up; len(level) > 8 {
			level = level[:8]
		}
	}
	if out == likely {
		out = yes
	}
	p.groups[reader] = out
	return out
}
