package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// args of a call to a known function: without the receiver.
func plain(c *Call, args []*Value) (recv *Value, rest []*Value) {
	if c.Kind == CallInvoke || c.Method {
		if len(args) > 0 {
			return args[0], args[1:]
		}
	}
	return nil, args
}

func at(args []*Value, i int) *Value {
	if i >= 0 && i < len(args) {
		return args[i]
	}
	return top
}

// modelRef is the call of a known function through a value that was handed over at ref.
func (w *walker) modelRef(ins *Instr, row *know.Row, args []*Value, ref Pos) []exit {
	out := w.model(ins, row, args)
	for i := range out {
		for j, v := range out[i].vals {
			if len(v.T.Srcs) == 0 {
				continue
			}
			c := *v
			c.T.Srcs = nil
			for _, s := range v.T.Srcs {
				n := *s
				n.Ref, n.Enter, n.End, n.call = ref, ref, Pos{}, nil
				c.T.Srcs = append(c.T.Srcs, &n)
			}
			out[i].vals[j] = &c
		}
	}
	return out
}

// model does what a known function does.
func (w *walker) model(ins *Instr, row *know.Row, full []*Value) []exit {
	c := ins.Call
	recv, args := plain(c, full)
	w.handle, w.hcall = recv, c
	one := func(vs ...*Value) []exit { return []exit{{vs, w.st}} }
	switch row.Kind {
	case know.Ack:
		w.acked(ins, row, recv, args)
		return w.quiet(ins)
	case know.Nack:
		w.event(&Event{Kind: EvNack, Pos: placeOf(ins)})
		return w.quiet(ins)
	case know.NewReader:
		return w.newReader(ins, at(args, row.Arg))
	case know.AutoRead, know.Consumed:
		return w.yields(ins, recv)
	case know.Each:
		return w.each(ins, at(args, row.Arg))
	case know.Register, know.Middleware:
		return w.quiet(ins)
	case know.Produce:
		return w.produce(ins, args, row)
	case know.Delivered:
		out := w.library(ins, full)
		for i := range out {
			for j, v := range out[i].vals {
				p := *v
				p.Prod, p.Msg, p.T.Bits = true, false, p.T.Bits&^FromMessage
				if r := c.Res; recv != nil && recv.bad && j < len(r) && r[j] != nil && r[j].Kind == KError {
					p = Value{K: VErr, S: errFail}
				}
				out[i].vals[j] = &p
			}
		}
		return out
	case know.TxnEnd:
		return w.quiet(ins)

	case know.SQLExec, know.SQLQuery, know.SQLQueryRow, know.SQLGet, know.SQLNamed:
		if recv == nil {
			recv = handleAmong(args, row.Arg)
		}
		return w.sqlText(ins, row, recv, args)
	case know.SQLPrepare:
		st := &Value{K: VRef, O: w.in.object(w.fr, ins, 1, nil)}
		st.O.Chain = &chain{text: at(args, row.Arg), tx: w.txOf(recv)}
		return one(fit(c, st, nilVal)...)
	case know.StmtExec, know.StmtQuery, know.StmtQueryRow:
		if recv != nil && recv.O != nil && recv.O.Chain != nil && recv.O.Chain.text != nil {
			return w.runSQL(ins, row.Kind, recv, recv.O.Chain.text, w.variadic(args, row.Arg), nil)
		}
		return w.sqlUnknown(ins, row.Kind, args)
	case know.BatchQueue:
		return w.queue(ins, recv, args, row)
	case know.BatchSend:
		return w.sendBatch(ins, recv, at(args, row.Arg))
	case know.CopyFrom:
		w.effect(ins, EffDB, "COPY FROM", w.txOf(recv))
		return w.quiet(ins)
	case know.Begin:
		return w.begin(ins, recv)
	case know.TxFunc:
		return w.txFunc(ins, recv, args, row)
	case know.Commit:
		tx := w.txOf(recv)
		h := &Hit{Kind: EffDB, Desc: "the commit of the transaction", Pos: placeOf(ins), Pkg: w.fn.Pkg, chain: w.fr, call: ins, tx: tx}
		if w.breaks(h) {
			w.rollback(tx)
			return w.quiet(ins)
		}
		w.event(&Event{Kind: EvCommit, Pos: placeOf(ins), Tx: tx, Hit: h})
		w.commit(tx)
		return w.quiet(ins)
	case know.Rollback:
		tx := w.txOf(recv)
		w.event(&Event{Kind: EvRollback, Pos: c.At, Tx: tx})
		w.rollback(tx)
		return w.quiet(ins)
	case know.Scan:
		return w.scan(ins, recv, w.variadic(args, row.Arg))
	case know.CollectRows, know.CollectOne, know.EachRow:
		return w.collect(ins, row, args)
	case know.RowNext:
		return one(w.nextRow(recv))
	case know.Affected:
		return w.affected(ins, recv)
	case know.UseTx:
		out := *recv
		if recv.O != nil && recv.O.Chain != nil {
			recv.O.Chain.root = at(args, row.Arg)
		}
		if a := at(args, row.Arg); w.txOf(a) != nil {
			return one(fit(c, w.onTx(recv, w.txOf(a)), nilVal)...)
		}
		return one(fit(c, &out, nilVal)...)
	case know.SameTx:
		v := recv
		if v == nil {
			v = at(args, 0)
		}
		return one(fit(c, v, nilVal)...)
	}
	return w.model2(ins, row, full, recv, args)
}

// sqlText is a call that runs a text of SQL.
func (w *walker) sqlText(ins *Instr, row *know.Row, recv *Value, args []*Value) []exit {
	switch row.Kind {
	case know.SQLGet:
		out := w.runSQL(ins, know.SQLGet, recv, at(args, row.Arg), w.variadic(args, row.Arg2), nil)
		if strings.HasPrefix(ins.Call.Name, "Select") {
			return w.selected(out, at(args, row.Arg-1))
		}
		return w.got(out, at(args, row.Arg-1))
	case know.SQLNamed:
		return w.runSQL(ins, row.Kind, recv, at(args, row.Arg), nil, at(args, row.Arg2))
	}
	return w.runSQL(ins, row.Kind, recv, at(args, row.Arg), w.variadic(args, row.Arg2), nil)
}

// handleAmong is the database handle that a function of a library is given before its text.
func handleAmong(args []*Value, text int) *Value {
	for i := range min(text, len(args)) {
		if a := args[i]; a.O != nil && a.O.Tx != nil {
			return a
		}
	}
	for i := range min(text, len(args)) {
		if a := args[i]; a.O != nil && a.O.Ctx == nil {
			return a
		}
	}
	return nil
}

// quiet is a call whose only outcome is success.
func (w *walker) quiet(ins *Instr) []exit {
	c := ins.Call
	vals := make([]*Value, len(c.Res))
	for i, r := range c.Res {
		vals[i] = top
		if r != nil && r.Kind == KError {
			vals[i] = nilVal
		}
	}
	return []exit{{vals, w.st}}
}

// variadic are the values of the variadic part of a call.
func (w *walker) variadic(args []*Value, from int) []*Value {
	if from < 0 || from >= len(args) {
		return nil
	}
	if from == len(args)-1 {
		if e := w.elements(args[from]); e != nil {
			return e
		}
		if args[from].K == VNil {
			return nil
		}
	}
	return args[from:]
}

// got puts what a query found where sqlx puts it.
func (w *walker) got(out []exit, dest *Value) []exit {
	for i := range out {
		if n := len(out[i].vals); n > 0 && out[i].vals[n-1].K == VNil {
			sub := *w
			sub.st = out[i].st
			sub.fillAll(dest, Taint{Bits: FromRow})
			if row := out[i].vals[n-1].Row; row != nil && dest.K == VRef && dest.O != nil {
				sub.st.set(cell{dest.O.id, dest.Path}, row.value)
				out[i].vals[n-1] = nilVal
				if row.site != nil {
					w.in.asked[row.site.Key] = true
				}
			}
			out[i].st = sub.st
		}
	}
	return out
}

func (w *walker) affected(ins *Instr, res *Value) []exit {
	v := top
	if res.Site != nil {
		w.in.asked[res.Site.Key] = true
	}
	if res.K == VResult && res.I >= 0 {
		v = &Value{K: VInt, I: res.I, Site: res.Site}
	}
	return []exit{{fit(ins.Call, v, nilVal), w.st}}
}

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

func fitErr(c *Call, vals []*Value, errv *Value) []*Value {
	out := make([]*Value, len(c.Res))
	for i, r := range c.Res {
		switch {
		case r != nil && r.Kind == KError:
			out[i] = errv
		case i < len(vals)-1:
			out[i] = vals[i]
		default:
			out[i] = top
		}
	}
	return out
}

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

// yields is a call that takes messages out of a client.
func (w *walker) yields(ins *Instr, recv *Value) []exit {
	c := ins.Call
	w.event(&Event{Kind: EvPoll, Pos: ins.Pos, Auto: w.in.traces && c.Name == "ReadMessage" && w.autoCommits(recv)})
	vals := make([]*Value, len(c.Res))
	for i, r := range c.Res {
		vals[i] = top
		if r != nil && r.Msg {
			vals[i] = w.fresh(r, Taint{Bits: FromMessage}, "")
			vals[i].O = w.in.object(w.fr, ins, 4+i, r)
			vals[i].O.Taint = Taint{Bits: FromMessage}
		}
	}
	return []exit{{vals, w.st}}
}

// each runs a function for a message.
func (w *walker) each(ins *Instr, fun *Value) []exit {
	none := w.st.fork()
	var params []*Value
	if fun.K == VFunc {
		if fn := w.in.prog.fn(fun.S); fn != nil {
			off := 0
			if fun.Bound {
				off = 1
			}
			for i := off; i < len(fn.Params); i++ {
				params = append(params, w.paramValue(fn, i, Taint{Bits: FromMessage}))
			}
		}
	}
	out := w.callback(ins, fun, params)
	res := []exit{{nil, none}}
	for _, e := range out {
		res = append(res, exit{nil, e.st})
	}
	return res
}

// produce sends messages. Sending what was consumed to a dead-letter or retry topic is no effect.
func (w *walker) produce(ins *Instr, args []*Value, row *know.Row) []exit {
	if w.in.kind == RootParam && w.sendsWhole(args, row.Arg) {
		// A function that is given messages and sends them is a producer: they were not consumed.
		w.in.producer = true
		return w.quiet(ins)
	}
	if w.deadLetter(ins, args, row.Arg) {
		w.event(&Event{Kind: EvDead, Pos: placeOf(ins)})
	} else {
		w.sent(args, row.Arg)
		w.effect(ins, EffProduce, "send to Kafka by "+ins.Call.Recv+"."+ins.Call.Name, nil)
	}
	out := w.quiet(ins)
	for i, r := range ins.Call.Res {
		if r == nil || r.Kind != KError {
			out[0].vals[i] = &Value{K: VTop, Prod: true}
		}
	}
	return out
}

// sendsWhole reports whether what is sent is the very message the function was given.
func (w *walker) sendsWhole(args []*Value, i int) bool {
	if i < 0 || i >= len(args) {
		return false
	}
	if args[i].Msg {
		return true
	}
	for _, v := range w.variadic(args, i) {
		if v.Msg {
			return true
		}
	}
	return false
}

// deadLetter reports whether a topic, or whoever sends, is named as a dead-letter or retry topic.
func (w *walker) deadLetter(ins *Instr, args []*Value, i int) bool {
	if ins.Call.Kind == CallInvoke && deadLetterName(lastPart(w.val(ins.Call.Fun).Slot)) {
		return true
	}
	for fr, n := w.fr, 0; fr != nil && n < 3; fr, n = fr.up, n+1 {
		if _, name := splitType(fr.fn.Name); deadLetterName(name) || deadLetterType(fr.fn.Recv) {
			return true
		}
	}
	vals := args
	if i >= 0 {
		vals = append(append([]*Value(nil), args...), w.variadic(args, i)...)
	}
	for _, v := range vals {
		if v.K == VStr && deadLetterName(v.S) || deadLetterName(lastPart(v.Slot)) {
			return true
		}
		if v.O == nil {
			continue
		}
		for _, name := range [...]string{"Topic", "TopicPartition.Topic"} {
			x := w.find(v.O, join(w.pathAt(v), name), nil, 0)
			if x == nil {
				continue
			}
			if x.K == VStr && deadLetterName(x.S) || deadLetterName(lastPart(x.Slot)) {
				return true
			}
		}
	}
	if len(args) > 0 {
		// The receiver of a method: dlqWriter.WriteMessages.
		if r := w.val(at32(ins.Call.Args, 0)); ins.Call.Method && deadLetterName(lastPart(slotName(r))) {
			return true
		}
	}
	return false
}

func at32(a []int32, i int) int32 {
	if i < len(a) {
		return a[i]
	}
	return ^int32(1 << 30)
}

func slotName(v *Value) string {
	if v.Slot != "" {
		return v.Slot
	}
	if v.O != nil {
		return v.O.Slot
	}
	return ""
}

// lastPart is the name at the end of a field's or variable's slot.
func lastPart(slot string) string {
	if slot == "" || slot[0] != 'F' && slot[0] != 'G' {
		return ""
	}
	if i := strings.LastIndexAny(slot, "|."); i >= 0 {
		return slot[i+1:]
	}
	return slot
}

// deadLetterType reports whether a type's name says dead letter.
func deadLetterType(s string) bool {
	for _, x := range know.Words(s) {
		switch x {
		case "retry", "retries", "retrier", "retrying":
			return false
		}
	}
	return deadLetterName(s)
}

// deadLetterName reports whether a topic's or function's name says dead letter or retry.
func deadLetterName(s string) bool {
	if s == "" {
		return false
	}
	f := strings.ToLower(s)
	for _, x := range [...]string{"dlq", "dead", "dlt", "quarantine", "poison", "parking"} {
		if strings.Contains(f, x) {
			return true
		}
	}
	for _, x := range know.Words(s) {
		if x == "retry" || x == "retries" {
			return true
		}
	}
	return false
}
