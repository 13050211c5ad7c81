package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// isThere reports whether a field that is compared with nil is one of a service's dependencies: what main hands over. A
// service that asks `if s.inbox != nil` is taken to have been given an inbox, as long as nobody is seen giving it none.
// A transaction that may have begun, and what is made when it is first asked for, are no dependencies.
func (w *walker) isThere(ins *Instr, x, y *Value) bool {
	o := x
	if x.K == VNil {
		o = y
	}
	if o.K != VTop || o.T.Bits != 0 || !strings.HasPrefix(o.Slot, "F|") || ins.T == nil {
		return false
	}
	switch ins.T.Kind {
	case KInterface, KPointer:
	default:
		return false
	}
	_, name := splitType(ins.T.Name)
	if name == "" || ins.T.Msg || transient(name) || transient(lastPart(o.Slot)) {
		return false
	}
	return !w.fn.sets(o.Slot)
}

// transient reports whether a name is that of something that comes and goes while messages are handled.
func transient(name string) bool {
	for _, word := range know.Words(name) {
		switch word {
		case "tx", "txn", "transaction", "time", "timer", "batch", "err", "error", "current", "last", "session", "stmt", "rows", "cancel":
			return true
		}
	}
	return false
}

// sets reports whether a function puts something into the field that a slot names.
func (f *Func) sets(slot string) bool {
	for bi := range f.Blocks {
		for ii := range f.Blocks[bi].Instrs {
			if in := &f.Blocks[bi].Instrs[ii]; in.Op == OpStore && storeSlot(f, in.A) == slot {
				return true
			}
		}
	}
	return false
}
