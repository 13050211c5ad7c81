package flow

import "github.com/idemlint/idemlint/analyzers/internal/know"

func (w *walker) newTx(ins *Instr, up *Tx) *Value {
	o := w.in.object(w.fr, ins, 2, nil)
	k := objKey{w.fr.hash, ins, 3}
	tx := w.in.txs[k]
	if tx == nil {
		tx = &Tx{id: len(w.in.txs) + 1, Pos: ins.Call.At, Up: up}
		w.in.txs[k] = tx
	}
	o.Tx = tx
	o.Local = false
	w.event(&Event{Kind: EvBegin, Pos: ins.Call.At, Tx: tx})
	return &Value{K: VRef, O: o}
}

func (w *walker) begin(ins *Instr, recv *Value) []exit {
	v := w.newTx(ins, w.txOf(recv))
	return []exit{{fit(ins.Call, v, nilVal), w.st}}
}

// onTx is a handle bound to a transaction.
func (w *walker) onTx(v *Value, tx *Tx) *Value {
	o := w.in.newObject(nil)
	o.Tx = tx
	if v.O != nil && v.O.Chain != nil {
		ch := *v.O.Chain
		ch.tx = tx
		o.Chain = &ch
	}
	return &Value{K: VRef, O: o}
}

// txFunc runs a closure in a transaction.
func (w *walker) txFunc(ins *Instr, recv *Value, args []*Value, row *know.Row) []exit {
	handle := recv
	if row.Arg2 >= 0 {
		handle = at(args, row.Arg2)
	}
	return w.inTx(ins, at(args, row.Arg), handle, ins.Call)
}

// inTx runs a function in a new transaction; it commits where the function returns no error.
func (w *walker) inTx(ins *Instr, fun, handle *Value, c *Call) []exit {
	txv := w.newTx(ins, w.txOf(handle))
	var params []*Value
	var fn *Func
	if fun.K == VFunc {
		fn = w.in.prog.fn(fun.S)
	}
	ctx := &Value{K: VTop}
	if fn != nil {
		off := 0
		if fun.Bound {
			off = 1
		}
		for i := off; i < len(fn.Params); i++ {
			t := fn.Params[i].T
			switch {
			case t != nil && t.Name == "context.Context":
				ctx.O = w.in.newObject(nil)
				ctx.O.Tx = txv.O.Tx
				params = append(params, ctx)
			case t != nil && (t.Kind == KInterface || t.Ptr || t.Kind == KStruct):
				params = append(params, txv)
			default:
				params = append(params, nil)
			}
		}
	}
	outs := w.callback(ins, fun, params)
	if len(outs) == 0 {
		return w.quiet(ins)
	}
	res := make([]exit, 0, len(outs))
	for _, e := range outs {
		sub := *w
		sub.st = e.st
		errv := nilVal
		if n := len(e.vals); n > 0 {
			errv = e.vals[n-1]
		}
		isNil, known := errv.isNil()
		if known && !isNil {
			sub.event(&Event{Kind: EvRollback, Pos: c.At, Tx: txv.O.Tx})
			sub.rollback(txv.O.Tx)
			res = append(res, exit{fitErr(c, e.vals, errv), sub.st})
			continue
		}
		if !known {
			bad := sub.st.fork()
			sb := *w
			sb.st = bad
			sb.rollback(txv.O.Tx)
			res = append(res, exit{fitErr(c, e.vals, &Value{K: VErr, T: errv.T}), bad})
		}
		sub.event(&Event{Kind: EvCommit, Pos: c.At, Tx: txv.O.Tx})
		sub.commit(txv.O.Tx)
		res = append(res, exit{fitErr(c, e.vals, nilVal), sub.st})
	}
	return res
}
