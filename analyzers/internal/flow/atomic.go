package flow

import "github.com/idemlint/idemlint/analyzers/internal/know"

// Atomic variables are how parallel workers say that one of them has failed: failed.Store(true), failures.Add(1). What is
// stored once something has failed is known when it is loaded on the same path; of all else it is not known which
// goroutine came first.

// atomic stores in, adds to or loads an atomic variable.
func (w *walker) atomic(ins *Instr, row *know.Row, recv *Value, args []*Value) []exit {
	at, given := recv, args
	if ins.Call.Recv == "" && len(args) > 0 { // atomic.AddInt64(&n, 1)
		at, given = args[0], args[1:]
	}
	if at == nil || at.K != VRef || at.O == nil {
		return w.quiet(ins)
	}
	c := cell{at.O.id, join(at.Path, "{atomic}")}
	if row.Kind == know.AtomicLoad {
		if v := w.st.get(c); v != nil {
			return []exit{{[]*Value{v}, w.st}}
		}
		return w.quiet(ins)
	}
	var v *Value
	if w.st.failed && len(given) > 0 {
		v = given[len(given)-1]
		if row.Kind == know.AtomicAdd && v.K == VInt && v.I > 0 {
			v = &Value{K: VTop, size: sizeSome}
		}
	}
	if v == nil && w.st.get(c) == nil {
		return w.quiet(ins)
	}
	if v == nil {
		v = top
	}
	w.st.set(c, v)
	return w.quiet(ins)
}
