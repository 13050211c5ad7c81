package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// produce sends messages. Sending what was consumed to a dead-letter or retry topic is no effect.
func (w *walker) produce(ins *Instr, args []*Value, row *know.Row) []exit {
	w.relayed(placeOf(ins), append(w.variadic(args, row.Arg), args...))
	if w.in.kind == RootParam && w.sendsWhole(args, row.Arg) {
		// A function that is given messages and sends them is a producer: they were not consumed.
		w.in.producer = true
		return w.quiet(ins)
	}
	if w.inOffsetTx() {
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

// inOffsetTx reports whether what is produced is part of a Kafka transaction that commits the consumed offsets, too: the
// function that produces, or one on the way, sends them to it.
func (w *walker) inOffsetTx() bool {
	for fr, n := w.fr, 0; fr != nil && n < 4; fr, n = fr.up, n+1 {
		for bi := range fr.fn.Blocks {
			for ii := range fr.fn.Blocks[bi].Instrs {
				c := fr.fn.Blocks[bi].Instrs[ii].Call
				if c == nil {
					continue
				}
				if row := know.Lookup(know.Sym{Pkg: c.Pkg, Recv: c.Recv, Name: c.Name}); row != nil && row.Kind == know.TxnEnd {
					return true
				}
			}
		}
	}
	return false
}

// returned records what a router publishes: the messages that a handler gives back.
func (in *interp) returned(r Root, fr *frame, exits []exit) {
	if r.Kind != RootRegistered || !strings.Contains(r.Client, "watermill") {
		return
	}
	for _, e := range exits {
		if len(e.vals) != 2 || len(r.Fn.Results) != 2 || r.Fn.Results[0] == nil || !r.Fn.Results[0].Msg {
			continue
		}
		if isNil, known := e.vals[1].isNil(); !known || !isNil {
			continue
		}
		w := &walker{in: in, fr: fr, fn: r.Fn, st: e.st}
		if v := e.vals[0]; v.size == sizeSome || len(w.elements(v)) > 0 {
			in.reach(&Hit{Kind: EffProduce, Desc: "send to Kafka of what is returned", Pos: r.Fn.Pos, Pkg: r.Fn.Pkg, chain: fr, checked: e.st.checked, cond: e.st.cond, state: e.st.state})
		}
	}
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
			if w.saysDeadLetter(x) {
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

// saysDeadLetter reports whether a topic, or a pointer to one, says dead letter or retry: by its text, or by the name of
// the variable or field that holds it.
func (w *walker) saysDeadLetter(x *Value) bool {
	if x.K == VStr && deadLetterName(x.S) || deadLetterName(lastPart(x.Slot)) {
		return true
	}
	if x.K != VRef || x.O == nil {
		return false
	}
	if x.fa != nil && deadLetterName(x.fa.S) || x.Path == "" && deadLetterName(x.O.Name) {
		return true
	}
	v := w.find(x.O, x.Path, nil, 0)
	return v != nil && v.K != VRef && w.saysDeadLetter(v)
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
