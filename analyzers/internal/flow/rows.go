package flow

import (
	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// rowsOut gives the results of a statement.
func (w *walker) rowsOut(ins *Instr, how know.Kind, rs rowState, rows int64, s *site, binds []*Value) []exit {
	return w.rowsOutVal(ins, how, rs, rows, s, binds, nil)
}

func (w *walker) rowsOutVal(ins *Instr, how know.Kind, rs rowState, rows int64, s *site, binds []*Value, val *Value) []exit {
	c := ins.Call
	var t Taint
	for _, b := range binds {
		t.Bits |= w.deep(b).Bits & (FromPayload | FromMessage | FromUnseen)
	}
	row := &Value{K: VRow, Row: &rowVal{state: rs, value: val, site: s, taint: t, query: w.query, read: w.reading}, Site: s, O: w.in.newObject(nil)}
	if rs == rowFound && s != nil && s.Look {
		row.Row.taint.Bits |= FromMark
	}
	errv := w.rowErr(rs, s, how)
	switch how {
	case know.SQLExec, know.SQLNamed, know.StmtExec, know.GormExec, know.BuildRun:
		res := &Value{K: VResult, I: rows, Site: s}
		if rs == rowUnknown {
			res.I = -1
		}
		if how == know.BuildRun && len(c.Res) == 1 {
			return w.oneError(rs, s)
		}
		if rs == rowAbsent {
			errv = nilVal
		}
		return []exit{{fit(c, res, errv), w.st}}
	case know.SQLQueryRow, know.StmtQueryRow:
		return []exit{{[]*Value{row}, w.st}}
	case know.SQLQuery, know.StmtQuery:
		if rs == rowAbsent || rs == rowFound || rs == rowUnknown {
			errv = nilVal
		}
		return []exit{{fit(c, row, errv), w.st}}
	}
	out := w.oneError(rs, s)
	if val != nil && rs == rowFound {
		// What is found goes where the call is told to put it, see got.
		out[0].vals = []*Value{{K: VNil, Row: row.Row}}
	} else if rs == rowFound && s != nil {
		out[0].vals = []*Value{{K: VNil, Site: s}}
	}
	return out
}

// oneError is the outcome of a call whose only answer is an error.
func (w *walker) oneError(rs rowState, s *site) []exit {
	if rs == rowUnknown {
		return w.looksUp([]*Value{nilVal}, []*Value{{K: VErr, S: errNoRows, Site: s}})
	}
	return []exit{{[]*Value{w.rowErr(rs, s, know.Scan)}, w.st}}
}

func (w *walker) rowErr(rs rowState, s *site, how know.Kind) *Value {
	switch rs {
	case rowAbsent:
		return &Value{K: VErr, S: errNoRows, Site: s}
	case rowTaken:
		return &Value{K: VErr, S: errUnique, Site: s}
	case rowFail:
		return &Value{K: VErr, S: errFail, Site: s}
	}
	return nilVal
}

// fit arranges a result and an error for a call's results.
func fit(c *Call, res, errv *Value) []*Value {
	switch len(c.Res) {
	case 0:
		return nil
	case 1:
		if c.Res[0] != nil && c.Res[0].Kind == KError {
			return []*Value{errv}
		}
		return []*Value{res}
	}
	out := make([]*Value, len(c.Res))
	for i, r := range c.Res {
		switch {
		case r != nil && r.Kind == KError:
			out[i] = errv
		case i == 0:
			out[i] = res
		default:
			out[i] = top
		}
	}
	return out
}

// scan reads a row into variables.
func (w *walker) scan(ins *Instr, row *Value, dests []*Value) []exit {
	if row.K != VRow {
		for _, d := range dests {
			t := w.deep(row)
			t.Bits |= FromRow
			w.fillAll(d, t)
		}
		return w.unknownErr()
	}
	r := row.Row
	if r.site != nil {
		w.in.asked[r.site.Key] = true
	}
	put := func(w *walker) {
		for i, d := range dests {
			if d.K != VRef || d.O == nil {
				continue
			}
			v := taintVal(Taint{Bits: r.taint.Bits | FromRow}.join(w.columns(r.query, i)).join(r.readAt(i, len(dests))))
			if r.value != nil && i == 0 {
				v = r.value
			}
			known := false
			if l := w.remains(r.read, queryColumn(r.query, i)); l != nil && r.value == nil {
				l.T = l.T.join(v.T)
				v, known = l, true
			}
			w.st.clear(d.O, d.Path)
			if d.Path == "" && r.value == nil && !known {
				w.st.set(cell{d.O.id, "?"}, v)
			} else {
				w.st.set(cell{d.O.id, d.Path}, v)
			}
			if r.wholeAt(len(dests)) {
				w.foundFields(d, r.read)
			}
		}
	}
	switch r.state {
	case rowFound:
		put(w)
		return []exit{{[]*Value{nilVal}, w.st}}
	case rowUnknown:
		out := w.looksUp([]*Value{nilVal}, []*Value{{K: VErr, S: errNoRows, Site: r.site}})
		if out[0].vals[0].K == VNil {
			sub := *w
			sub.st = out[0].st
			put(&sub)
			out[0].st = sub.st
		}
		return out
	}
	return []exit{{[]*Value{w.rowErr(r.state, r.site, know.Scan)}, w.st}}
}

func (w *walker) unknownErr() []exit {
	st := w.st.fork()
	return []exit{{[]*Value{nilVal}, w.st}, {[]*Value{errVal(errAny, Taint{})}, st}}
}

// fillAll makes a variable hold something unknown with the given origins.
func (w *walker) fillAll(d *Value, t Taint) {
	if d.K != VRef || d.O == nil {
		if d.K == VTop {
			d.O = w.in.objOf(d, nil)
			d.O.Taint = d.O.Taint.join(t)
		}
		return
	}
	w.st.clear(d.O, d.Path)
	if d.Path == "" {
		w.st.set(cell{d.O.id, "?"}, taintVal(t))
	} else {
		w.st.set(cell{d.O.id, d.Path}, taintVal(t))
	}
}

// nextRow is rows.Next: a row once, where there is one.
func (w *walker) nextRow(row *Value) *Value {
	if row.K != VRow {
		return top
	}
	switch row.Row.state {
	case rowAbsent, rowTaken, rowFail:
		return vFalse
	case rowUnknown:
		return top
	}
	c := cell{row.O.id, "n"}
	if w.st.get(c) != nil {
		return vFalse
	}
	w.st.set(c, &Value{K: VInt, I: 1})
	return vTrue
}

// collect reads all rows, or one, in a single call.
func (w *walker) collect(ins *Instr, row *know.Row, args []*Value) []exit {
	c := ins.Call
	rows := at(args, row.Arg)
	if row.Kind == know.CollectRows && c.Name == "AppendRows" {
		rows = at(args, 1)
	}
	if rows.K != VRow {
		return w.library(ins, args)
	}
	t := Taint{Bits: rows.Row.taint.Bits | FromRow}.join(w.columns(rows.Row.query, -1)).join(rows.Row.read.taint("*"))
	switch rows.Row.state {
	case rowTaken, rowFail:
		return []exit{{fit(c, nilVal, w.rowErr(rows.Row.state, rows.Row.site, know.Scan)), w.st}}
	case rowAbsent:
		if row.Kind == know.CollectOne {
			return []exit{{fit(c, top, w.rowErr(rowAbsent, rows.Row.site, know.Scan)), w.st}}
		}
		return []exit{{fit(c, ofOthers(rows.Row.site), nilVal), w.st}}
	}
	if row.Kind == know.EachRow {
		none := w.st.fork()
		out := []exit{{fit(c, top, nilVal), none}}
		for _, e := range w.callback(ins, at(args, row.Arg2), nil) {
			out = append(out, exit{fit(c, top, nilVal), e.st})
		}
		return out
	}
	v := &Value{K: VNotNil, T: t}
	if rows.Row.state == rowFound {
		v.size = sizeSome
	}
	return []exit{{fit(c, v, nilVal), w.st}}
}

// selected puts what a query found into a slice: no row is no error, but a slice of nothing.
func (w *walker) selected(out []exit, dest *Value) []exit {
	for i := range out {
		n := len(out[i].vals)
		if n == 0 {
			continue
		}
		sub := *w
		sub.st = out[i].st
		switch errv := out[i].vals[n-1]; {
		case errv.K == VErr && errv.S == errNoRows:
			out[i].vals[n-1] = nilVal
			if dest.K == VRef && dest.O != nil {
				sub.st.clear(dest.O, dest.Path)
				sub.st.set(cell{dest.O.id, dest.Path}, ofOthers(errv.Site))
			}
		case errv.K == VNil && dest.K == VRef && dest.O != nil:
			sub.st.clear(dest.O, dest.Path)
			t := Taint{Bits: FromRow | markOf(errv.Site)}.join(w.columns(w.query, -1))
			sub.st.set(cell{dest.O.id, dest.Path}, &Value{K: VNotNil, size: sizeSome, T: t})
		}
		out[i].st = sub.st
	}
	return out
}

// namedGuard is a check of which only the name or a directive is seen.
func (w *walker) namedGuard(ins *Instr, id string, pol know.Polarity, args []*Value) []exit {
	c := ins.Call
	_, short := splitType(id)
	s := &site{Pos: ins.Call.At, Desc: short, Store: "name"}
	if !s.Pos.IsValid() {
		s.Pos = ins.Pos
	}
	for _, a := range args {
		if a.Msg {
			continue // the message as a whole is no key
		}
		w.in.sink(Sink{Kind: SinkGuard, Name: short, Pos: ins.Pos}, a, w)
	}
	o := w.check(s)
	dup := o == outDup
	if pol == know.EitherTrue {
		w.in.either[id] = true
		pol = know.FreshTrue
		if w.in.world.Dupe[id] {
			pol = know.DupTrue
		}
	}
	other := false // a result besides the error
	for _, r := range c.Res {
		if r != nil && r.Kind != KError {
			other = true
		}
	}
	vals := make([]*Value, len(c.Res))
	for i, r := range c.Res {
		vals[i] = top
		if r == nil {
			continue
		}
		switch r.Kind {
		case KBool:
			vals[i] = boolVal((pol == know.DupTrue) == dup)
			if o == outFail {
				vals[i] = vFalse
			}
		case KInt:
			n := int64(1)
			if dup == (pol == know.FreshTrue) || o == outFail {
				n = 0
			}
			vals[i] = &Value{K: VInt, I: n}
		case KError:
			vals[i] = nilVal
			if o == outFail {
				vals[i] = &Value{K: VErr, S: errFail, Site: s}
			} else if dup && !other {
				vals[i] = &Value{K: VErr, S: "\x01dup", Site: s}
			}
		}
	}
	return []exit{{vals, w.st}}
}

// guardShape reports whether a function so named can answer a check: it gives a boolean, a count or an error, and is
// given something that tells the event.
func (w *walker) guardShape(c *Call, args []*Value) bool {
	ok := false
	for _, r := range c.Res {
		if r != nil && (r.Kind == KBool || r.Kind == KError || r.Kind == KInt) {
			ok = true
		}
	}
	if !ok {
		return false
	}
	for _, a := range args {
		if a.K == VFunc {
			return false
		}
	}
	return len(args) > 1
}

// got puts what a query found where sqlx puts it.
func (w *walker) got(out []exit, dest *Value) []exit {
	for i := range out {
		if n := len(out[i].vals); n > 0 && out[i].vals[n-1].K == VNil {
			sub := *w
			sub.st = out[i].st
			whole := ""
			if w.reading != nil {
				if whole = queryColumn(w.query, 0); whole == "" || len(w.query.Outputs) > 1 {
					whole = "*"
				}
			}
			sub.fillAll(dest, Taint{Bits: FromRow}.join(w.columns(w.query, -1)).join(w.reading.taint(whole)))
			sub.foundFields(dest, w.reading)
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
	if s := res.Site; s != nil && s.Batch && res.I == 0 {
		return []exit{{fit(ins.Call, v, nilVal), w.st}}
	}
	if res.K == VResult && res.I >= 0 {
		v = &Value{K: VInt, I: res.I, Site: res.Site}
	}
	return []exit{{fit(ins.Call, v, nilVal), w.st}}
}
