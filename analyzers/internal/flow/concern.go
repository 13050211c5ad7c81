package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// concerns reports whether a unit holds anything with which a rule begins: a message or a way to come by one, a random
// UUID, SQL that fills or empties a table, the name of an event's id. Where neither a package nor any that it depends on
// does, no rule can find anything in it, and the program need not be put together; that is most packages of most modules.
// It errs on the side of yes. What is configured is asked when a package is judged, since dependencies do not know of it.
func concerns(u *Unit, tables *know.Tables) bool {
	c := concern{tables}
	if len(u.SQL) > 0 {
		return true
	}
	for _, e := range u.Edges {
		if strings.Contains(e.Dst, "watermill/components/cqrs.") || c.leaf(e.Src) {
			return true
		}
	}
	for i := range u.Globals {
		if c.constant(&u.Globals[i].C) {
			return true
		}
	}
	for _, f := range u.Funcs {
		if c.fn(f) {
			return true
		}
	}
	return false
}

type concern struct{ tables *know.Tables }

func (c concern) fn(f *Func) bool {
	if f.Gen && f.Name == "IsConstraintError" { // ent's: its clients make SQL of their own
		return true
	}
	for i := range f.Params {
		if carries(f.Params[i].T) {
			return true
		}
	}
	for _, t := range f.Results {
		if carries(t) {
			return true
		}
	}
	for i := range f.Consts {
		if c.constant(&f.Consts[i]) {
			return true
		}
	}
	for bi := range f.Blocks {
		for ii := range f.Blocks[bi].Instrs {
			if c.instr(&f.Blocks[bi].Instrs[ii]) {
				return true
			}
		}
	}
	return false
}

// carries reports whether a type is a message, or holds some.
func carries(t *Type) bool { return t != nil && (t.Msg || t.Batch) }

func (c concern) instr(in *Instr) bool {
	if carries(in.T) || in.Op == OpSelect && strings.IndexByte(in.S, selMessage) >= 0 {
		return true
	}
	if in.Call == nil {
		return false
	}
	for _, t := range in.Call.Res {
		if carries(t) {
			return true
		}
	}
	row := c.tables.Lookup(know.Sym{Pkg: in.Call.Pkg, Recv: in.Call.Recv, Name: in.Call.Name})
	if row == nil {
		return false
	}
	switch row.Kind {
	case know.Ack, know.Nack, know.NewReader, know.AutoRead, know.Middleware, know.Register, know.Each, know.Produce, know.Consumed, know.Delivered, know.TxnEnd,
		know.V4, know.BuildInsert, know.BuildDelete, know.GormCreate, know.GormSave, know.GormDelete:
		return true
	}
	return false
}

func (c concern) constant(k *Const) bool {
	switch k.Kind {
	case CString:
		return len(k.S) < 40 && c.tables.EventID(k.S) || sqltext.MayBeSQL(k.S) && fillsOrEmpties(k.S)
	case CFunc:
		return c.random(k.S)
	}
	return carries(k.T)
}

// leaf reports whether what an edge leads from is a maker of random UUIDs.
func (c concern) leaf(src string) bool {
	kind, id, ok := strings.Cut(src, "|")
	return ok && (kind == "f" || kind == "m") && c.random(id)
}

func (c concern) random(id string) bool {
	pkg, recv, name := (*Program)(nil).symOf(id) // by the name alone
	row := c.tables.Lookup(know.Sym{Pkg: pkg, Recv: recv, Name: name})
	return row != nil && row.Kind == know.V4
}
