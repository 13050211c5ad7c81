package flow

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// Open is a call that gets what a message carries, and that nothing in sight answers: a method of an interface that
// no type in sight is bound to, or a function value of which it is not known what it holds.
type Open struct {
	Pos  Pos
	Name string
}

// assumed remembers that a call was taken to do nothing because nothing in sight answers it.
func (w *walker) assumed(ins *Instr, name string) {
	pkg, _ := splitType(ins.Call.Iface)
	if !w.st.msg || w.know().Library(know.Normal(pkg)) || pkg == "" && ins.Call.Iface != "" || stdPath(pkg) && pkg != "" {
		return
	}
	w.in.open[Open{ins.Pos, name}] = true
}

func (in *interp) openCalls() []Open {
	out := make([]Open, 0, len(in.open))
	for o := range in.open {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b Open) int {
		return cmp.Or(strings.Compare(a.Pos.String(), b.Pos.String()), strings.Compare(a.Name, b.Name))
	})
	return out
}

// Note says what is no finding, yet bounds what the findings are worth: the functions given up on, with the reason, and
// the calls of which nothing in sight says what they do. A line each, in a stable order.
func Note(out io.Writer, vs []*Verdict) {
	var lines []string
	for _, v := range vs {
		if v.GaveUp {
			why := "too large"
			if v.Internal != "" {
				why = "internal error: " + v.Internal
			}
			lines = append(lines, fmt.Sprintf("idemlint: %s: gave up on %s: %s\n", v.Root.Fn.Pos, v.Root.Fn.Name, why))
		}
		for _, o := range v.Open {
			lines = append(lines, fmt.Sprintf("idemlint: %s: nothing in sight implements %s: taken to do nothing\n", o.Pos, o.Name))
		}
	}
	slices.Sort(lines)
	for _, l := range slices.Compact(lines) {
		// What cannot be said on standard error cannot be said at all.
		_, _ = io.WriteString(out, l)
	}
}
