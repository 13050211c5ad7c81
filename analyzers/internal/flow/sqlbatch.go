package flow

import (
	"slices"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

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
		item.Ref = placeOf(ins)
		// What a loop queues is queued once: the batch of one message is like that of several.
		if len(n.Elems) < 16 && !slices.ContainsFunc(n.Elems, func(x *Value) bool { return x.Ref == item.Ref && x.Elems[0].S == item.Elems[0].S }) {
			n.Elems = append(n.Elems, item)
		}
		w.st.set(c, n)
	}
	return w.quiet(ins)
}

// outcomes is the place in a batch's results where the outcomes of its statements are.
const outcomes = "{outcomes}"

func (w *walker) sendBatch(ins *Instr, recv, batch *Value) []exit {
	res := &Value{K: VRef, O: w.in.newObject(nil)}
	all := &Value{K: VTuple}
	if batch.O != nil {
		if list := w.st.get(cell{batch.O.id, "{queue}"}); list != nil {
			for _, it := range list.Elems {
				exec := *ins
				call := *ins.Call
				call.Res = []*Type{{}, {Kind: KError}}
				exec.Call = &call
				if out := w.runSQL(&exec, know.SQLExec, recv, it.Elems[0], it.Elems[1:], nil); len(out) > 0 {
					w.st = out[0].st
					all.Elems = append(all.Elems, tuple(&call, out[0].vals))
				}
			}
		}
	}
	if len(all.Elems) == 0 {
		return w.quiet(ins)
	}
	w.st.set(cell{res.O.id, outcomes}, all)
	return []exit{{fit(ins.Call, res, nilVal), w.st}}
}

// outcome is what the next statement of a batch has come to; the last one's where they are asked in a loop.
func (w *walker) batchOutcome(ins *Instr, res *Value) []exit {
	c := ins.Call
	if res == nil || res.O == nil {
		return w.quiet(ins)
	}
	all := w.st.get(cell{res.O.id, outcomes})
	if all == nil {
		return w.quiet(ins)
	}
	n := 0
	if at := w.st.get(cell{res.O.id, "{at}"}); at != nil {
		n = int(at.I)
	}
	if c.Name == "Close" {
		for _, o := range all.Elems[min(n, len(all.Elems)):] {
			if o.Elems[1].K == VErr {
				return []exit{{fit(c, top, o.Elems[1]), w.st}}
			}
		}
		return w.quiet(ins)
	}
	o := all.Elems[min(n, len(all.Elems)-1)]
	if n < len(all.Elems)-1 {
		w.st.set(cell{res.O.id, "{at}"}, &Value{K: VInt, I: int64(n + 1)})
	}
	if c.Name == "Exec" {
		return []exit{{fit(c, o.Elems[0], o.Elems[1]), w.st}}
	}
	row := &rowVal{state: rowUnknown, site: o.Elems[0].Site}
	switch e := o.Elems[1]; {
	case e.K == VErr && e.S == errUnique:
		row.state, row.site = rowTaken, e.Site
	case e.K == VErr:
		row.state, row.site = rowFail, e.Site
	case o.Elems[0].K == VResult && o.Elems[0].I == 0:
		row.state = rowAbsent
	case o.Elems[0].K == VResult && o.Elems[0].I > 0:
		row.state = rowFound
	}
	v := &Value{K: VRow, Row: row, Site: row.site, O: w.in.newObject(nil)}
	return []exit{{fit(c, v, nilVal), w.st}}
}
