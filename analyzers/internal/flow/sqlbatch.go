package flow

import (
	"slices"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// What is queued in a pgx batch runs when the batch is sent, in order; what came of it is asked of the batch's results
// one after the other, or by functions that closing them calls.

// The places in a batch, in what was queued, and in the results.
const (
	batchQueue = "{queue}"  // of a batch: what is queued
	queuedFn   = "{call}"   // of a queued statement: the function that is told its outcome
	batchRows  = "{rows}"   // of results: the outcomes, in order
	batchNext  = "{next}"   // which of them is the next
	batchFails = "{failed}" // the first error among them
)

// queue collects a statement of a pgx batch.
func (w *walker) queue(ins *Instr, recv *Value, args []*Value, row *know.Row) []exit {
	o := w.in.object(w.fr, ins, 1, nil)
	o.Local = true
	w.st.clear(o, "")
	item := &Value{K: VRef, O: o, Elems: append([]*Value{at(args, row.Arg)}, w.variadic(args, row.Arg2)...)}
	if recv != nil && recv.O != nil {
		c := cell{recv.O.id, batchQueue}
		n := &Value{K: VTuple}
		if list := w.st.get(c); list != nil {
			n.Elems = append(n.Elems, list.Elems...)
		}
		item.Ref = placeOf(ins)
		// What a loop queues is queued once: the batch of one message is like that of several.
		if len(n.Elems) < 16 && !slices.ContainsFunc(n.Elems, func(x *Value) bool { return x.Ref == item.Ref && x.Elems[0].S == item.Elems[0].S }) {
			n.Elems = append(n.Elems, item)
		}
		w.st.set(c, n)
	}
	if len(ins.Call.Res) == 0 {
		return []exit{{nil, w.st}}
	}
	return []exit{{[]*Value{item}, w.st}}
}

// queued attaches the function that is told what came of a queued statement.
func (w *walker) queued(ins *Instr, recv, fn *Value) []exit {
	if recv != nil && recv.O != nil {
		w.st.set(cell{recv.O.id, queuedFn}, &Value{K: VTuple, Elems: []*Value{fn}, S: ins.Call.Name})
	}
	return w.quiet(ins)
}

// sendBatch runs what is queued.
func (w *walker) sendBatch(ins *Instr, recv, batch *Value) []exit {
	o := w.in.object(w.fr, ins, 1, nil)
	o.Local = true
	w.st.clear(o, "")
	rows := &Value{K: VTuple}
	if batch.O != nil {
		if list := w.st.get(cell{batch.O.id, batchQueue}); list != nil {
			for _, it := range list.Elems {
				r := w.runQueued(ins, recv, it)
				rows.Elems = append(rows.Elems, r)
				if e := w.rowErr(r.Row.state, r.Row.site, know.SQLExec); e.K == VErr && r.Row.state != rowAbsent && w.st.get(cell{o.id, batchFails}) == nil {
					w.st.set(cell{o.id, batchFails}, e)
				}
			}
			for i, it := range list.Elems {
				if fn := w.st.get(cell{it.O.id, queuedFn}); fn != nil {
					rows.Elems[i].Elems = []*Value{fn}
				}
			}
			w.st.set(cell{batch.O.id, batchQueue}, &Value{K: VTuple})
		}
	}
	w.st.set(cell{o.id, batchRows}, rows)
	return []exit{{[]*Value{{K: VRef, O: o}}, w.st}}
}

// runQueued runs a queued statement and gives the row that it found.
func (w *walker) runQueued(ins *Instr, recv, item *Value) *Value {
	one := *ins
	call := *ins.Call
	call.Res = []*Type{{}}
	one.Call = &call
	unknown := &Value{K: VRow, Row: &rowVal{}, O: w.in.newObject(nil)}
	if len(item.Elems) == 0 {
		return unknown
	}
	out := w.runSQL(&one, know.SQLQueryRow, recv, item.Elems[0], item.Elems[1:], nil)
	if len(out) == 0 || len(out[0].vals) == 0 || out[0].vals[0].K != VRow {
		return unknown
	}
	w.st = out[0].st
	r := *out[0].vals[0]
	if h := w.in.broke; h != nil {
		w.in.broke = nil
		row := *r.Row
		row.state = rowFail
		r.Row = &row
		w.event(&Event{Kind: EvFail, Pos: h.Pos, Hit: h})
	}
	return &r
}

// batchResult is the next outcome of a batch. The batch of a path may stand for one that goes on in the same way.
func (w *walker) batchResult(ins *Instr, recv *Value) []exit {
	c := ins.Call
	var rows *Value
	if recv != nil && recv.O != nil {
		rows = w.st.get(cell{recv.O.id, batchRows})
	}
	if rows == nil {
		return w.library(ins, []*Value{recv})
	}
	if len(rows.Elems) == 0 {
		// Nothing was queued on this path: asking is an error.
		if c.Name == "QueryRow" {
			return []exit{{[]*Value{{K: VRow, Row: &rowVal{state: rowFail}, O: w.in.newObject(nil)}}, w.st}}
		}
		return []exit{{failing(c, errVal(errAny, Taint{})), w.st}}
	}
	next, n := cell{recv.O.id, batchNext}, 0
	if v := w.st.get(next); v != nil {
		n = int(v.I)
	}
	w.st.set(next, &Value{K: VInt, I: int64((n + 1) % len(rows.Elems))})
	r := *rows.Elems[n%len(rows.Elems)]
	r.Elems, r.O = nil, w.in.newObject(nil)
	switch c.Name {
	case "QueryRow":
		return []exit{{[]*Value{&r}, w.st}}
	case "Query":
		errv := w.rowErr(r.Row.state, r.Row.site, know.SQLQuery)
		if r.Row.state == rowAbsent {
			errv = nilVal
		}
		return []exit{{fit(c, &r, errv), w.st}}
	}
	tag, errv := w.tagOf(&r)
	return []exit{{fit(c, tag, errv), w.st}}
}

// tagOf is what a statement whose row is known gives when it is executed: a number of rows, or an error.
func (w *walker) tagOf(r *Value) (tag, errv *Value) {
	tag = &Value{K: VResult, I: -1, Site: r.Row.site}
	switch r.Row.state {
	case rowFound:
		tag.I = 1
	case rowAbsent:
		tag.I = 0
	case rowTaken, rowFail:
		tag.I = 0
		return tag, w.rowErr(r.Row.state, r.Row.site, know.SQLExec)
	}
	return tag, nilVal
}

// closeBatch calls the functions that are told what came of the statements, and gives the first error.
func (w *walker) closeBatch(ins *Instr, recv *Value) []exit {
	if recv == nil || recv.O == nil || w.st.get(cell{recv.O.id, batchRows}) == nil {
		return w.quiet(ins)
	}
	if ins.Op == OpDefer && w.st.get(cell{recv.O.id, batchFails}) != nil && w.st.get(cell{recv.O.id, batchNext}) == nil {
		return nil // nobody asked what came of a statement that was queued: a way that a loop over them does not take
	}
	open := []*walker{w}
	var out []exit
	for _, r := range w.st.get(cell{recv.O.id, batchRows}).Elems {
		if len(r.Elems) == 0 {
			continue
		}
		fn := r.Elems[0]
		row := *r
		row.Elems, row.O = nil, w.in.newObject(nil)
		arg := &row
		var still []*walker
		for _, x := range open {
			if fn.S == "Exec" {
				tag, errv := x.tagOf(&row)
				if errv.K == VErr {
					out = append(out, exit{fit(ins.Call, top, errv), x.st})
					continue
				}
				arg = tag
			}
			for _, e := range x.callback(ins, fn.Elems[0], []*Value{arg}) {
				sub := *x
				sub.st = e.st
				if n := len(e.vals); n > 0 && e.vals[n-1].K == VErr {
					out = append(out, exit{fit(ins.Call, top, e.vals[n-1]), sub.st})
					continue
				}
				if len(still) < maxExits {
					still = append(still, &sub)
				}
			}
		}
		open = still
	}
	for _, x := range open {
		errv := nilVal
		if e := x.st.get(cell{recv.O.id, batchFails}); e != nil {
			errv = e
		}
		out = append(out, exit{fit(ins.Call, top, errv), x.st})
	}
	return out
}
