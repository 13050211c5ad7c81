package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// branch takes the sides of a condition that can be taken.
func (w *walker) branch(ins *Instr) {
	b := &w.fn.Blocks[w.blk]
	cond := w.val(ins.A)
	if t, known := cond.truth(); known {
		w.errorFound(ins.A, t)
		if t {
			w.goTo(b.Succs[0], w.env, w.st)
		} else {
			w.goTo(b.Succs[1], w.env, w.st)
		}
		return
	}
	state := cond.T.has(FromRow) && w.asksState(ins.A, 0)
	for side := range 2 {
		st := w.st.fork()
		env := append([]*Value(nil), w.env...)
		if cond.T.has(FromUnseen) {
			st.cond = true
		}
		if state {
			st.state = true
		}
		sub := &walker{in: w.in, fr: w.fr, fn: w.fn, blk: w.blk, env: env, st: st}
		sub.errorFound(ins.A, side == 0)
		sub.assume(ins.A, side == 0, 0)
		sub.goTo(b.Succs[side], env, st)
		w.next = append(w.next, sub.next...)
	}
}

// errorFound notes that an error was compared with nil and is none.
func (w *walker) errorFound(n int32, truth bool) {
	if def := w.fn.def(n); def != nil && def.Op == OpBin && def.T != nil && def.T.Kind == KError &&
		(def.S == "!=" && truth || def.S == "==" && !truth) && (w.val(def.A).K == VNil || w.val(def.B).K == VNil) {
		w.st.failed = true
	}
}

// asksState reports whether a condition asks for the state that a row of the database is in: a column or method so
// named is compared. A handler that leaves that state behind finds it left when the message comes again.
func (w *walker) asksState(n int32, depth int) bool {
	def := w.fn.def(n)
	if def == nil || depth > 4 {
		return false
	}
	switch def.Op {
	case OpNot, OpCopy, OpExtract, OpMakeIface:
		return w.asksState(def.A, depth+1)
	case OpBin:
		return (def.S == "==" || def.S == "!=") && (w.asksState(def.A, depth+1) || w.asksState(def.B, depth+1))
	case OpField, OpFieldAddr:
		return stateName(def.S)
	case OpAlloc:
		return stateName(def.S)
	case OpLoad:
		return w.asksState(def.A, depth+1)
	case OpPhi:
		for _, a := range def.Args {
			if w.asksState(a, depth+1) {
				return true
			}
		}
	case OpCall:
		_, name := splitType(def.Call.Fn)
		words := know.Words(name)
		return len(words) > 1 && (words[0] == "is" || words[0] == "can" || words[0] == "has") || stateName(name)
	}
	return false
}

// stateName reports whether a name means the state of something, or that and when it was done.
func stateName(s string) bool {
	words := know.Words(s)
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	switch last {
	case "status", "state", "phase", "stage", "step", "processed", "completed", "done", "finished", "paid", "settled", "sent", "version", "sequence", "seq", "applied", "handled", "shipped", "cancelled", "canceled", "confirmed", "refunded", "blocked", "closed":
		return true
	}
	if last == "at" && len(words) > 1 {
		return words[0] != "created" && words[0] != "updated"
	}
	return false
}

// assume refines what is known after a condition has turned out.
func (w *walker) assume(n int32, truth bool, depth int) {
	if n < 0 || depth > 6 {
		return
	}
	w.refine(n, boolVal(truth))
	def := w.fn.def(n)
	if def == nil {
		return
	}
	switch def.Op {
	case OpNot:
		w.assume(def.A, !truth, depth+1)
	case OpBin:
		if def.S != "==" && def.S != "!=" {
			return
		}
		eq := (def.S == "==") == truth
		if eq {
			w.compared(def, def.A, def.B)
		}
		x, y := def.A, def.B
		if y >= 0 && x < 0 {
			x, y = y, x
		}
		if x < 0 {
			return
		}
		c := w.val(y)
		old := w.val(x)
		switch c.K {
		case VNil:
			if eq {
				w.refine(x, nilVal)
			} else if old.K == VTop {
				kind := VNotNil
				if def.T != nil && def.T.Kind == KError {
					kind = VErr
				}
				nv := *old
				nv.K = kind
				w.refine(x, &nv)
			}
		case VBool, VInt, VStr:
			if eq && old.K == VTop {
				nv := *c
				nv.T = old.T
				w.refine(x, &nv)
				w.emptied(old, c)
			}
		case VErr:
			if eq && old.K == VTop {
				nv := *c
				w.refine(x, &nv)
			}
		}
	case OpCall:
		if n := def.Call.Name; truth && (n == "EqualFold" || n == "Equal") && len(def.Call.Args) == 2 {
			w.compared(def, def.Call.Args[0], def.Call.Args[1])
		}
		// errors.Is(err, X) tells what err is.
		if def.Call.Name == "Is" && truth && len(def.Call.Args) == 2 && know.Lookup(know.Sym{Pkg: def.Call.Pkg, Name: "Is"}) != nil {
			if old, c := w.val(def.Call.Args[0]), w.val(def.Call.Args[1]); (old.K == VTop || old.K == VErr && old.S == errAny) && c.K == VErr {
				w.refine(def.Call.Args[0], c)
			}
		}
	}
}

// refine replaces a value, and the variable it was just read from.
func (w *walker) refine(n int32, v *Value) {
	old := w.env[n]
	w.env[n] = v
	if def := w.fn.def(n); def != nil && def.Op == OpLoad {
		if a := w.val(def.A); a.K == VRef && a.O != nil {
			c := cell{a.O.id, a.Path}
			if w.st.get(c) == old && old != nil {
				w.st.set(c, v)
			}
		}
	}
}

func (w *walker) runDefers() bool {
	for i := len(w.st.defs) - 1; i >= 0; i-- {
		d := w.st.defs[i]
		if d.fr != w.fr {
			continue
		}
		w.st.defs = append(append([]deferred(nil), w.st.defs[:i]...), w.st.defs[i+1:]...)
		exits := w.dispatch(d.in, d.fun, d.args)
		w.in.broke = nil
		switch len(exits) {
		case 0:
			return false
		default:
			for _, e := range exits[1:] {
				w.forks = append(w.forks, item{blk: w.blk, idx: w.idx - 1, env: append([]*Value(nil), w.env...), st: e.st})
			}
			w.st = exits[0].st
		}
		// Another deferred call of this frame may be below the one just run.
		i = len(w.st.defs)
	}
	return true
}

func (w *walker) binary(ins *Instr) *Value {
	x, y := w.val(ins.A), w.val(ins.B)
	t := x.T.join(y.T)
	w.in.asks(x)
	w.in.asks(y)
	if r, known := comparedLeft(ins.S, x, y); known {
		return boolVal(r).with(t)
	}
	switch ins.S {
	case "==", "!=":
		if r, known := w.sized(ins, x, y); known {
			return boolVal(r).with(t)
		}
		eq, known := w.equal(x, y)
		if !known && w.in.money != nil && !w.branches(ins) && (isEmptyText(x) && isEventID(y) || isEmptyText(y) && isEventID(x)) {
			// Who answers whether there is a key answers for any key; an event's id is one.
			eq, known = false, true
		}
		if !known && sameAsMark(x, y) {
			eq, known = true, true
		}
		if ins.T != nil && (ins.T.Kind == KError || ins.T.Kind == KInterface) && (x.K == VNil) != (y.K == VNil) && (x.Dyn != "" || y.Dyn != "") {
			eq, known = false, true // an interface that holds something of a type is not nil, whatever it holds
		}
		if !known && (x.K == VNil) != (y.K == VNil) && w.isThere(ins, x, y) {
			eq, known = false, true
		}
		if !known {
			out := taintVal(t)
			if x.K == VNil || y.K == VNil {
				// Asking whether an error is nil says nothing about duplicates.
				if ins.T != nil && ins.T.Kind == KError {
					out = taintVal(Taint{Bits: t.Bits &^ FromUnseen, Srcs: t.Srcs})
				}
			}
			return out
		}
		return boolVal(eq == (ins.S == "==")).with(t)
	case "<", "<=", ">", ">=":
		if r, known := w.sized(ins, x, y); known {
			return boolVal(r).with(t)
		}
		if x.K == VInt && y.K == VInt {
			var r bool
			switch ins.S {
			case "<":
				r = x.I < y.I
			case "<=":
				r = x.I <= y.I
			case ">":
				r = x.I > y.I
			case ">=":
				r = x.I >= y.I
			}
			return boolVal(r).with(t)
		}
		return taintVal(t)
	case "*", "/", "%", "|", "&":
		t = t.made()
	case "-":
		t = t.made()
		if w.fr.exact && x.K == VInt && y.K == VInt {
			return w.counted(x.I-y.I, t)
		}
	case "+":
		t = t.made()
		if w.fr.exact && x.K == VInt && y.K == VInt {
			return w.counted(x.I+y.I, t)
		}
		if x.K == VStr || y.K == VStr {
			return w.concat(x, y, t)
		}
		if (x.K == VInt && x.I >= 0 || x.size == sizeSome) && y.K == VInt && y.I > 0 {
			return &Value{K: VTop, T: w.counts(ins, t), size: sizeSome} // a counter that was counted up
		}
		if ins.T != nil && ins.T.Kind == KString {
			return w.concat(x, y, t)
		}
		t = w.counts(ins, t)
	}
	out := taintVal(t)
	if y.K == VInt && y.I != 0 && (ins.S == "+" || ins.S == "-") && x.Slot != "" {
		out = &Value{K: VTop, T: t, step: x.Slot}
	}
	return out
}

// hasText reports whether a text that is not known as a whole is surely not empty.
func hasText(s string) bool { return strings.Trim(s, string(rune(sqltext.Hole))) != "" }

// branches reports whether the code goes another way by a comparison, rather than handing the answer on.
func (w *walker) branches(ins *Instr) bool {
	b := &w.fn.Blocks[w.blk]
	last := &b.Instrs[len(b.Instrs)-1]
	return last.Op == OpIf && last.A == ins.Dst
}

func isEmptyText(v *Value) bool { return v.K == VStr && v.S == "" }

func isEventID(v *Value) bool { return v.K == VTop && v.T.has(FromEventID) }

// maxCount bounds how far a loop over something of a known length is counted.
const maxCount = 16

func (w *walker) counted(n int64, t Taint) *Value {
	if n < -1 || n > maxCount {
		return taintVal(t)
	}
	return &Value{K: VInt, I: n, T: t}
}

func (w *walker) equal(x, y *Value) (eq, known bool) {
	if x.K == VNil || y.K == VNil {
		o := x
		if x.K == VNil {
			o = y
		}
		return o.isNil()
	}
	switch {
	case x.K == VErr && y.K == VErr:
		return w.in.sameError(x, y, w)
	case x.K == VInt && y.K == VInt, x.K == VBool && y.K == VBool:
		if x.I == y.I {
			w.violation(x, y)
		}
		return x.I == y.I, true
	case x.K == VStr && y.K == VStr:
		if !hasHole(x.S) && !hasHole(y.S) {
			if x.Site != nil && x.S == y.S {
				w.in.handled[x.Site.Key] = true
			}
			if y.Site != nil && x.S == y.S {
				w.in.handled[y.Site.Key] = true
			}
			return x.S == y.S, true
		}
		if x.S == "" && hasText(y.S) || y.S == "" && hasText(x.S) {
			return false, true
		}
	}
	return w.violation(x, y), w.violation(x, y)
}
