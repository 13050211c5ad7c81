package flow

import (
	"go/constant"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// prepared runs a statement that was prepared: in the code that runs, or before, when it was put into a field.
func (w *walker) prepared(ins *Instr, row *know.Row, recv *Value, args []*Value) []exit {
	run := func(w *walker, st *Value) []exit {
		w.handle = st
		if row.Kind == know.StmtNamed {
			return w.runSQL(ins, know.SQLNamed, st, st.O.Chain.text, nil, at(args, row.Arg))
		}
		return w.runSQL(ins, row.Kind, st, st.O.Chain.text, w.variadic(args, row.Arg), nil)
	}
	var out []exit
	for _, st := range w.statements(recv) {
		sub := *w
		sub.st = w.st.fork()
		out = append(out, run(&sub, st)...)
	}
	if len(out) == 0 {
		return w.sqlUnknown(ins, row.Kind, args)
	}
	return out
}

// statement is a prepared statement as far as it is known which.
func (w *walker) statement(st *Value) *Value {
	if all := w.statements(st); len(all) == 1 {
		return all[0]
	}
	return st
}

// statements are the statements that a value may be.
func (w *walker) statements(st *Value) []*Value {
	if st == nil {
		return nil
	}
	if st.O != nil && st.O.Chain != nil && st.O.Chain.text != nil {
		return []*Value{st}
	}
	slot := slotName(st)
	if slot == "" || slot[0] != 'F' && slot[0] != 'G' {
		return nil
	}
	var out []*Value
	for _, b := range w.in.prog.sources(slot) {
		if b.SQL == "" || len(out) > 3 {
			return nil
		}
		o := w.in.newObject(nil)
		on, text, _ := strings.Cut(b.SQL, "|")
		o.Chain = &chain{text: strVal(text, Taint{}), tx: w.txOf(st), root: preparedOn(on)}
		o.Slot = slot
		out = append(out, &Value{K: VRef, O: o})
	}
	return out
}

// preparedOn is the handle on which a statement was prepared: one that was prepared on the pool runs there.
func preparedOn(recv string) *Value {
	if recv == "DB" {
		return &Value{K: VTop, Dyn: "database/sql.DB"}
	}
	return nil
}

// isStatement reports whether a type is a prepared statement.
func isStatement(t types.Type) bool {
	switch typeName(t) {
	case "database/sql.Stmt", "github.com/jmoiron/sqlx.Stmt", "github.com/jmoiron/sqlx.NamedStmt":
		return true
	}
	return false
}

// preparedText is the text of which a call prepares a statement, where it is a constant, after the type on which it does.
func preparedText(fn *ssa.Function, args []ssa.Value) (string, bool) {
	obj, ok := fn.Object().(*types.Func)
	if !ok || obj.Pkg() == nil {
		return "", false
	}
	row := know.Lookup(know.Sym{Pkg: know.Normal(obj.Pkg().Path()), Recv: recvName(obj), Name: obj.Name()})
	if row == nil || row.Kind != know.SQLPrepare {
		return "", false
	}
	i := row.Arg
	if fn.Signature.Recv() != nil {
		i++
	}
	if i >= len(args) {
		return "", false
	}
	c, ok := args[i].(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.String {
		return "", false
	}
	return recvName(obj) + "|" + constant.StringVal(c.Value), true
}
