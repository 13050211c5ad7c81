package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// sameError tells whether an error is, or wraps, another.
func (in *interp) sameError(x, y *Value, w *walker) (eq, known bool) {
	if x.K == VNil || y.K == VNil {
		return x.K == y.K, x.K == VNil && (y.K == VNil || y.K == VErr) || y.K == VNil && x.K == VErr
	}
	if x.K != VErr || y.K != VErr {
		return false, false
	}
	in.asks(x)
	if y.S == errUnique && x.S == errUnique {
		if x.Site != nil {
			in.handled[x.Site.Key] = true
		}
		return true, true
	}
	if x.S == errAny || y.S == errAny {
		return false, false
	}
	if x.S == y.S {
		return true, true
	}
	if x.S == "\x01dup" {
		return false, false // an unseen check's own error: it may be any variable
	}
	if strings.HasPrefix(x.S, "t|") {
		return false, false
	}
	return false, true
}

// wrap is an error made of others: it is still what it wraps.
func (w *walker) wrap(ins *Instr, args []*Value) []*Value {
	c := ins.Call
	var t Taint
	var inner *Value
	all := args
	if n := len(args); n > 0 {
		all = append(append([]*Value(nil), args[:n-1]...), w.variadic(args, n-1)...)
		if last := args[n-1]; last.K == VRef && last.O != nil && last.O.Local {
			if e := w.st.get(cell{last.O.id, join(last.Path, "[*]")}); e != nil {
				all = append(all, e) // a slice in which each goroutine leaves its error
			}
		}
	}
	for _, a := range all {
		t.Bits |= a.T.Bits
		if a.K == VErr && inner == nil {
			inner = a
		}
		if a.K == VRef && inner == nil && strings.HasSuffix(strings.ToLower(a.Dyn), "error") {
			inner = &Value{K: VErr, S: "t|" + a.Dyn}
		}
		if a.K == VTop && inner == nil && a.Dyn == "" && a.T.has(FromUnseen) {
			inner = &Value{K: VErr}
		}
	}
	out := &Value{K: VErr, S: siteKey(ins.Pos), T: t}
	if inner != nil {
		out.S, out.Site = inner.S, inner.Site
	} else if c.Name != "Errorf" { // of nothing wrong, all but the Errorfs make nothing wrong
		if allNil(all) {
			return []*Value{nilVal}
		}
		return []*Value{taintVal(t)}
	}
	return []*Value{out}
}

func allNil(vs []*Value) bool {
	for _, v := range vs {
		if v.K != VNil && v.K != VStr {
			return false
		}
	}
	return true
}

// errAs is errors.As: a driver's error type takes a unique violation, and holds its code.
func (w *walker) errAs(err, target *Value) []exit {
	one := func(b bool) []exit { return []exit{{[]*Value{boolVal(b)}, w.st}} }
	if err.K == VNil {
		return one(false)
	}
	typ := ""
	if target.O != nil && target.O.T != nil {
		typ = target.O.T.Name
	}
	if err.K == VRef && err.Dyn != "" && typ != "" && target.O != nil {
		if err.Dyn != typ {
			return one(false)
		}
		w.st.set(cell{target.O.id, target.Path}, err)
		return one(true)
	}
	pkg, name := splitType(typ)
	drv, known := know.DriverError[know.Sym{Pkg: know.Normal(pkg), Name: name}]
	if err.K == VErr {
		switch {
		case known && err.S == errUnique && target.O != nil:
			w.st.set(cell{target.O.id, target.Path}, w.driverError(err, drv))
			return one(true)
		case known && (err.S == errFail || err.S == errNoRows):
			return one(false)
		case target.O != nil && target.O.T != nil && target.O.T.Kind == KInterface && typ == "" && err.Site != nil && (err.S == errFail || err.S == errUnique):
			// It may have the method, interface{ SQLState() string }, or not.
			no := w.st.fork()
			w.st.set(cell{target.O.id, target.Path}, err)
			return append(one(true), exit{[]*Value{vFalse}, no})
		case !known && typ != "" && target.O.T.Kind != KInterface && (err.S == errFail || err.S == errNoRows || err.S == errUnique):
			return one(false) // the driver's own error, and no type of the module
		case strings.HasPrefix(err.S, "t|"):
			return one(err.S == "t|"+typ)
		case known:
			return one(false)
		}
	}
	no := w.st.fork()
	return []exit{{[]*Value{taintVal(err.T)}, no}}
}

// driverError is a unique violation as the driver's own type: it holds the code.
func (w *walker) driverError(err *Value, drv know.DriverCode) *Value {
	o := w.in.newObject(nil)
	o.Local = true
	code := &Value{K: VInt, I: drv.Num, Site: err.Site}
	if drv.Text != "" {
		code = &Value{K: VStr, S: drv.Text, Site: err.Site}
	}
	w.st.set(cell{o.id, drv.Field}, code)
	return &Value{K: VRef, O: o, Site: err.Site}
}

// asserted is an error that is asked for the driver's own type: err.(*pq.Error).
func (w *walker) asserted(err *Value, t *Type) (out, ok *Value, known bool) {
	if err.K != VErr || t == nil {
		return nil, nil, false
	}
	pkg, name := splitType(t.Name)
	drv, known := know.DriverError[know.Sym{Pkg: know.Normal(pkg), Name: name}]
	switch {
	case !known:
		return nil, nil, false
	case err.S == errUnique:
		return w.driverError(err, drv), vTrue, true
	case err.S == errFail || err.S == errNoRows:
		return nilVal, vFalse, true
	}
	return nil, nil, false
}

// violation reports whether a comparison asks a violation's code: one side is the code of an error that a statement
// gave, the other the name of a code of the driver's. A code that is compared with what cannot be seen may be any
// error's: then it is that of the last statement which could fail so.
func (w *walker) violation(x, y *Value) bool {
	for _, p := range [...][2]*Value{{x, y}, {y, x}} {
		code, other := p[0], p[1]
		if !violationCode(code) {
			continue
		}
		switch {
		case code.Site != nil && (other.K == VInt || strings.Contains(other.Slot, ".ErrConstraint")):
			w.in.handled[code.Site.Key] = true
			return other.K != VInt
		case code.Site == nil && other.K == VTop && w.st.checked != nil && w.st.checked.Store == "sql" && !w.st.checked.Look:
			w.in.handled[w.st.checked.Key] = true
		}
	}
	return false
}

// sqlState is the code of an error that a statement gave.
func sqlState(err *Value) *Value {
	code := "08006" // any but that of a violation: the connection has failed
	if err.S == errUnique {
		code = "23505"
	}
	return &Value{K: VStr, S: code, Site: err.Site}
}

// violationName is what PostgreSQL calls SQLSTATE 23505.
const violationName = "unique_violation"

func violationCode(v *Value) bool {
	return v.K == VInt && (v.I == 1062 || v.I == 2067) || v.K == VStr && (v.S == "23505" || v.S == violationName)
}

// isUnique asks a helper that tells unique violations, by the error or by its code.
func (w *walker) isUnique(err *Value) *Value {
	switch {
	case violationCode(err) && err.Site != nil:
		w.in.handled[err.Site.Key] = true
		return vTrue
	case err.K == VNil:
		return vFalse
	case err.K == VErr && err.S == errUnique:
		if err.Site != nil {
			w.in.handled[err.Site.Key] = true
		}
		return vTrue
	case err.K == VErr && (err.S == errFail || err.S == errNoRows):
		return vFalse
	}
	return taintVal(err.T)
}

// The codes of gRPC that tell a call that came through from one that did not, as google.golang.org/grpc/codes numbers
// them.
const (
	codeOK          = 0
	codeUnavailable = 14
)

// statusCode is the gRPC code of an error: a call that fails in this world has not come through.
func statusCode(err *Value) *Value {
	switch {
	case err.K == VNil:
		return &Value{K: VInt, I: codeOK}
	case err.K == VErr && err.S == errFail:
		return &Value{K: VInt, I: codeUnavailable}
	case err.K == VErr:
		return &Value{K: VTop, size: sizeSome, T: err.T} // whatever it is, it is not OK
	}
	return taintVal(err.T)
}
