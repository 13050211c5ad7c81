package flow

import "github.com/idemlint/idemlint/analyzers/internal/know"

// queue collects a statement of a pgx batch.
func (w *walker) queue(ins *Instr, recv *Value, args []*Value, row *know.Row) []exit {
	if recv != nil && recv.O != nil {
		c := cell{recv.O.id, "{queue}"}
		list := w.st.get(c)
		item := &Value{K: VTuple, Elems: append([]*Value{at(args, row.Arg)}, w.variadic(args, row.Arg2)...)}
		n := &Value{K: VTuple}
		if list != nil {
			n.Elems = append(n.Elems, list.Elems...)
		}
		if len(n.Elems) < 16 {
			n.Elems = append(n.Elems, item)
		}
		w.st.set(c, n)
	}
	return w.quiet(ins)
}

func (w *walker) sendBatch(ins *Instr, recv, batch *Value) []exit {
	if batch.O != nil {
		if list := w.st.get(cell{batch.O.id, "{queue}"}); list != nil {
			for _, it := range list.Elems {
				exec := *ins
				call := *ins.Call
				call.Res = []*Type{{}, {Kind: KError}}
				exec.Call = &call
				w.runSQL(&exec, know.SQLExec, recv, it.Elems[0], it.Elems[1:], nil)
			}
		}
	}
	return w.quiet(ins)
}
