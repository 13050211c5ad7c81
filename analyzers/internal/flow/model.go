package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
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
		return w.yields(ins, recv, row.Kind == know.Consumed)
	case know.Each:
		return w.each(ins, at(args, row.Arg), Taint{Bits: FromMessage})
	case know.EachFault:
		return w.each(ins, at(args, row.Arg), Taint{})
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

	case know.SQLText:
		return w.sqlTextMade(ins, row, args)
	case know.SQLExec, know.SQLQuery, know.SQLQueryRow, know.SQLGet, know.SQLNamed, know.SQLNamedRow:
		if recv == nil {
			recv = handleAmong(args, row.Arg)
			w.handle = recv
		}
		return w.sqlText(ins, row, recv, args)
	case know.SQLPrepare:
		st := &Value{K: VRef, O: w.in.object(w.fr, ins, 1, nil)}
		st.O.Chain = &chain{text: w.textOf(at(args, row.Arg)), tx: w.txOf(recv), root: preparedOn(c.Recv)}
		return one(fit(c, st, nilVal)...)
	case know.StmtExec, know.StmtQuery, know.StmtQueryRow, know.StmtNamed:
		return w.prepared(ins, row, recv, args)
	case know.StmtOnTx:
		return one(fit(c, w.onTx(w.statement(at(args, row.Arg)), w.txOf(recv)), nilVal)...)
	case know.BatchQueue:
		return w.queue(ins, recv, args, row)
	case know.BatchSend:
		return w.sendBatch(ins, recv, at(args, row.Arg))
	case know.BatchTells:
		return w.queued(ins, recv, at(args, row.Arg))
	case know.BatchResult:
		return w.batchResult(ins, recv)
	case know.BatchClose:
		return w.closeBatch(ins, recv)
	case know.CopyFrom:
		if w.holdsNothing(at(args, row.Arg+2)) {
			return w.quiet(ins)
		}
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
	case know.OpenDB:
		return one(fit(c, w.opened(ins), nilVal)...)
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
	return w.modelWorld(ins, row, full, recv, args)
}

// opened is a handle on a database that was just opened. It counts as a package variable does: there before the message
// came.
func (w *walker) opened(ins *Instr) *Value {
	return &Value{K: VTop, Slot: "G|" + ins.Call.Pkg + "." + ins.Call.Name}
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
	case know.SQLNamedRow:
		return w.runSQL(ins, know.SQLQuery, recv, at(args, row.Arg), nil, at(args, row.Arg2))
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
		if a := args[i]; poolType(a.Dyn) {
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
		if args[from].K == VNil || args[from].size == sizeNone {
			return nil
		}
		if args[from].K == VNotNil && len(args[from].Elems) > 0 {
			return args[from].Elems
		}
	}
	return args[from:]
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

// yields is a call that takes messages out of a client, or what may be messages.
func (w *walker) yields(ins *Instr, recv *Value, maybe bool) []exit {
	c := ins.Call
	w.event(&Event{Kind: EvPoll, Pos: ins.Pos, Auto: w.in.traces && c.Name == "ReadMessage" && w.autoCommits(recv)})
	vals := make([]*Value, len(c.Res))
	for i, r := range c.Res {
		vals[i] = top
		if r != nil && r.Msg {
			vals[i] = w.fresh(r, Taint{Bits: FromMessage}, "")
			vals[i].O = w.in.object(w.fr, ins, 4+i, r)
			vals[i].O.Taint = Taint{Bits: FromMessage}
		} else if i == 0 && maybe {
			vals[i] = w.something(ins, r)
		}
	}
	return []exit{{vals, w.st}}
}

// each runs a function for a message, or for something else, or never.
func (w *walker) each(ins *Instr, fun *Value, what Taint) []exit {
	none := w.st.fork()
	var params []*Value
	if fun.K == VFunc {
		if fn := w.in.prog.fn(fun.S); fn != nil {
			off := 0
			if fun.Bound {
				off = 1
			}
			for i := off; i < len(fn.Params); i++ {
				params = append(params, w.paramValue(fn, i, what))
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

// modelWorld goes on where model ends: stores, the outside world, ids and values.
func (w *walker) modelWorld(ins *Instr, row *know.Row, full []*Value, recv *Value, args []*Value) []exit {
	c := ins.Call
	one := func(vs ...*Value) []exit { return []exit{{vs, w.st}} }
	switch row.Kind {
	case know.GormCreate, know.GormSave, know.GormUpdate, know.GormDelete, know.GormFind, know.GormCount, know.GormChain,
		know.GormExec, know.GormFirstOrCreate:
		return w.gorm(ins, row, recv, args)
	case know.BuildInsert, know.BuildUpdate, know.BuildDelete, know.BuildSelect, know.BuildRaw, know.BuildStep, know.BuildRun, know.BuildText:
		return w.build(ins, row, recv, args)
	case know.GormAssign:
		return w.assignments(ins, row, args)
	case know.BuildExpr:
		return one(&Value{K: VNotNil, expr: text(at(args, row.Arg)), Elems: w.variadic(args, row.Arg2)})
	case know.RedisSetNX, know.RedisSet, know.RedisDel, know.RedisGet, know.RedisExists, know.RedisSAdd, know.RedisSMember,
		know.RedisWrite, know.RedisDo, know.RedisResult, know.RedisScript, know.RedisNewLua:
		return w.redis(ins, row, recv, args)
	case know.AtomicStore, know.AtomicAdd, know.AtomicLoad:
		return w.atomic(ins, row, recv, args)
	case know.MongoInsert, know.MongoUpdate, know.MongoReplace, know.MongoDelete, know.MongoFind, know.MongoCount, know.MongoBulk, know.MongoModel,
		know.MongoCollection:
		return w.mongo(ins, row, recv, args)

	case know.HTTPNew, know.HTTPHeader, know.HTTPSend, know.HTTPPost, know.RestSend, know.RestStep, know.GRPCInvoke:
		return w.remote(ins, row, full, recv, args)
	case know.HTTPGet:
		return w.library(ins, full)
	case know.Mail:
		w.effect(ins, EffMail, "mail by "+c.Recv+dot(c.Recv)+c.Name, nil)
		return w.quiet(ins)
	case know.FileWrite, know.FileOpen, know.WriterOver:
		return w.files(ins, row, full, recv, args)
	case know.ESWrite, know.KeyStore:
		w.naturally(ins, EffOther, "write by "+c.Recv+dot(c.Recv)+c.Name, "", nil)
		return w.quiet(ins)
	case know.OtherWrite:
		w.effect(ins, EffOther, c.Recv+dot(c.Recv)+c.Name, nil)
		return w.quiet(ins)

	case know.V4, know.V7, know.NameID, know.Digest, know.IDText, know.FreshValue, know.ClockPart, know.EventIDSink, know.HeaderRead, know.HeaderWrite, know.HeadersOf, know.OffsetOf, know.PlaceOf, know.KeyOf,
		know.NewMessage:
		return w.ids(ins, row, full, recv, args)
	}
	if row.Kind >= know.FirstRemote {
		return w.remote(ins, row, full, recv, args)
	}
	return w.values(ins, row, full, recv, args)
}

func dot(s string) string {
	if s == "" {
		return ""
	}
	return "."
}

// shown is a text for a reader.
func shown(v *Value) string {
	if v.K != VStr {
		return ""
	}
	return strings.ReplaceAll(v.S, string(rune(sqltext.Hole)), "…")
}

// runs is a call that runs a function it is given, now or in another goroutine.
func (w *walker) runs(ins *Instr, row *know.Row, args []*Value) []exit {
	fun := at(args, row.Arg)
	if row.Arg < 0 {
		for _, a := range args {
			if a.K == VFunc {
				fun = a
			}
		}
	}
	group := w.handle
	if row.Kind == know.GoFunc {
		w.st.async++
	}
	out := w.callback(ins, fun, nil)
	if row.Kind == know.GoFunc {
		res := make([]exit, 0, len(out)+1)
		for _, e := range out {
			e.st.leaveGoroutine()
			sub := *w
			sub.st = e.st
			sub.groupFails(group, e.vals)
			res = append(res, sub.quiet(ins)...)
		}
		if len(res) == 0 {
			w.st.leaveGoroutine()
			return w.quiet(ins)
		}
		return res
	}
	if len(out) == 0 {
		return w.quiet(ins)
	}
	return w.adapt(ins.Call, out, Taint{})
}

// silent is a call that does nothing to the world; a message that goes in may come out.
func (w *walker) silent(ins *Instr, full []*Value) []exit {
	var t Taint
	msg := false
	for _, a := range full {
		t = t.join(w.deep(a))
		msg = msg || a.Msg
	}
	if readsStore(ins.Call) {
		t = t.asked()
	}
	vals := make([]*Value, len(ins.Call.Res))
	yields := false
	for i, r := range ins.Call.Res {
		vals[i] = top
		if r == nil {
			continue
		}
		if r.Msg {
			rt := Taint{Bits: FromMessage}
			vals[i] = w.fresh(r, rt, "")
			o := w.in.object(w.fr, ins, 4+i, r)
			o.Taint = rt
			vals[i].O = o
			yields = true
		} else if r.Kind == KError {
			vals[i] = nilVal
			if len(ins.Call.Res) > 1 && yields {
				vals[i] = top
			}
		} else {
			vals[i] = taintVal(t)
		}
	}
	if yields && !msg {
		w.event(&Event{Kind: EvPoll, Pos: ins.Pos})
	}
	return []exit{{vals, w.st}}
}
