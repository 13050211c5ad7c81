package flow

import (
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

func slotN(kind, fn string, i int) string { return kind + "|" + fn + "|" + strconv.Itoa(i) }

// mapKey is the place of a map's element.
func mapKey(k *Value) string {
	switch {
	case k.K == VStr && !hasHole(k.S) && !strings.ContainsAny(k.S, "{}"):
		return "{" + strings.ReplaceAll(k.S, ".", "\u00b7") + "}" // a dot would part the place in two
	case k.K == VInt:
		return "{" + strconv.FormatInt(k.I, 10) + "}"
	}
	return "[*]"
}

// lookup reads a map. A set that outlives the call and is asked for something of the message is a check that does
// not survive a restart.
func (w *walker) lookup(ins *Instr) {
	m, k := w.val(ins.A), w.val(ins.B)
	kt := w.deep(k)
	pair := func(v, ok *Value) {
		v = w.headerEntry(ins, v, k)
		if ins.N == 1 {
			w.set(ins.Dst, &Value{K: VTuple, Elems: []*Value{v, ok}})
		} else {
			w.set(ins.Dst, v)
		}
	}
	if m.K == VRef && m.O != nil && m.O.Local {
		if v := w.st.get(cell{m.O.id, join(m.Path, mapKey(k))}); v != nil {
			pair(v, vTrue)
			return
		}
		if v := w.st.get(cell{m.O.id, join(m.Path, "[*]")}); v != nil {
			if w.isMarked(m, kt) {
				pair(v, vTrue)
			} else {
				pair(v, top)
			}
			return
		}
		if m.O.T != nil && m.O.T.Kind == KMap && m.Path == "" && len(w.st.paths(m.O, "")) == 0 {
			// A map made here into which nothing was put on this path.
			v := top
			if ins.S2 == "set" {
				v = vFalse
			}
			pair(v, vFalse)
			return
		}
		if alts := w.callables(m); len(alts) > 0 {
			pair(&Value{K: VTop, alts: alts}, top)
			return
		}
	}
	if w.holdsNothing(m) {
		v := top
		if ins.S2 == "set" {
			v = vFalse
		}
		pair(v, vFalse)
		return
	}
	lives := m.K != VRef || m.O == nil || !m.O.Local
	if lives && fromEvent(kt) && seenSet(ins) {
		w.in.memory = true
		w.in.sink(Sink{Kind: SinkSeen, Name: lastPart(slotName(m)), Pos: ins.Pos}, k, w)
		s := &site{Pos: ins.Pos, Desc: "a set in memory", Store: "memory"}
		dup := w.check(s) == outDup
		pair(boolVal(dup), boolVal(dup))
		return
	}
	t := w.deep(m)
	slot := m.Slot
	if slot == "" && m.O != nil {
		slot = m.O.Slot
		if slot == "" && m.fa != nil {
			slot = w.slotOf(m)
		}
	}
	v := &Value{K: VTop, T: t, Slot: slot}
	if k.K == VStr && slot != "" {
		if s, ok := w.in.prog.textIn(slot + "{" + k.S + "}"); ok {
			v = strVal(s, t)
		}
	}
	if t.has(FromMessage) {
		v.Msg, v.Batch = true, true
	}
	pair(v, top)
}

// remembered asks a set of a library for something of the message. What it remembers lives in the process. Of a value
// that is found only this is known, and of one that is not, nothing.
func (w *walker) remembered(ins *Instr, full []*Value, set, key *Value) []exit {
	out := w.library(ins, full)
	last := -1
	for i, r := range ins.Call.Res {
		if r != nil && r.Kind == KBool {
			last = i
		}
	}
	if last < 0 || set == nil || set.O != nil && set.O.Local || !fromEvent(w.deep(key)) {
		return out
	}
	w.in.memory = true
	w.in.sink(Sink{Kind: SinkSeen, Name: lastPart(slotName(set)), Pos: ins.Pos}, key, w)
	dup := w.check(&site{Pos: placeOf(ins), Desc: "a set in memory", Store: "memory"}) == outDup
	if !w.in.world.Memory {
		return out
	}
	for i := range out {
		vals := append([]*Value(nil), out[i].vals...)
		vals[last] = boolVal(dup)
		out[i].vals = vals
	}
	return out
}

// callables are the functions and implementations that a map made in sight holds.
func (w *walker) callables(m *Value) []*Value {
	var out []*Value
	for _, p := range w.st.paths(m.O, m.Path) {
		rest := strings.TrimPrefix(strings.TrimPrefix(p, m.Path), ".")
		if v := w.st.get(cell{m.O.id, p}); strings.HasPrefix(rest, "{") && strings.HasSuffix(rest, "}") && (v.K == VFunc || v.Dyn != "") {
			out = append(out, v)
		}
	}
	if len(out) > maxCount {
		return nil
	}
	return out
}

// seenSet reports whether a map's elements only say that a key was there.
func seenSet(ins *Instr) bool { return ins.S2 == "set" }

func (w *walker) mapUpdate(ins *Instr) {
	m, k, v := w.val(ins.A), w.val(ins.B), w.val(ins.Args[0])
	w.leaveAt(ins, v)
	if k.K == VStr {
		w.nameSink(k.S, v, ins)
		if w.know().EventID(k.S) {
			v = w.asEventID(v)
		}
		if metadata(m) {
			w.headerWritten(k, w.nameAt(ins, ins.B))
		}
	}
	if m.O == nil {
		if m.K != VTop {
			return
		}
		w.in.objOf(m, nil)
	}
	if k.from != nil {
		w.copyCells(k.from, m.O, w.pathAt(m))
	}
	w.st.clear(m.O, join(w.pathAt(m), mapEmpty))
	w.st.set(cell{m.O.id, join(w.pathAt(m), mapKey(k))}, v)
	w.noteEntry(m)
	w.noteMark(m, k)
}

// nameSink is a value that gets a name in a map, a JSON object or a header.
func (w *walker) nameSink(name string, v *Value, ins *Instr) {
	w.in.sink(Sink{Kind: SinkMapKey, Name: name, Pos: ins.Pos, Known: name}, v, w)
}

// recv takes a value out of a channel.
func (w *walker) recv(ins *Instr) {
	ch := w.val(ins.A)
	v := &Value{K: VTop, T: Taint{Bits: ch.T.Bits &^ FromMessage}, Slot: ch.Slot}
	if ins.T != nil && ins.T.Msg && !ch.Prod && !w.in.prog.ownQueue(recvSlot(w.fn.ID, ins.Dst, 0)) {
		v = w.message(ins, placeRecv)
	} else if ch.event {
		v = w.something(ins, nil)
		w.event(&Event{Kind: EvPoll, Pos: ins.Pos})
	} else if w.feeds(ins, 0) {
		v = w.work(ins, ch, placeRecv)
		if ins.N == 1 {
			w.set(ins.Dst, &Value{K: VTuple, Elems: []*Value{v, top}})
		} else {
			w.set(ins.Dst, v)
		}
		return
	} else if ch.O != nil {
		if x := w.st.get(cell{ch.O.id, join(w.pathAt(ch), "[*]")}); x != nil {
			v = x
		}
	}
	if !v.Msg && !v.event {
		w.event(&Event{Kind: EvWait, Pos: ins.Pos})
	}
	if ins.S == string(selTick) {
		w.ticked()
	}
	if ins.N == 1 {
		w.set(ins.Dst, &Value{K: VTuple, Elems: []*Value{v, w.sentBefore(ch)}})
		return
	}
	w.set(ins.Dst, v)
}

// sentBefore tells whether a value is received: surely when one was sent that was not received yet, even if the channel
// was closed since.
func (w *walker) sentBefore(ch *Value) *Value {
	if ch.O == nil || !ch.O.Local {
		return top
	}
	c := cell{ch.O.id, join(w.pathAt(ch), chanSent)}
	if v := w.st.get(c); v == nil || v.K != VBool || v.I == 0 {
		return top
	}
	w.st.set(c, vFalse)
	return vTrue
}

// chanSent is the place in a channel that says whether a value waits in it.
const chanSent = "{sent}"

// placeRecv is the place of what a receive yields among the objects of its instruction; the cases of a select follow.
const placeRecv = 8

// send puts a value into a channel; slot stands for the channel.
func (w *walker) send(ch, v *Value, ins *Instr, slot string) {
	w.hands(ins, v, slot)
	if w.st.msg && !v.Msg && v.K != VErr && w.deep(v).has(FromMessage|FromPayload) {
		w.in.handed[slot] = true
	}
	if w.in.rows != nil && v.O != nil && v.O.T != nil && producedType(v.O.T.Name) {
		w.relayed(ins.Pos, []*Value{v})
	}
	if ch.O != nil && ch.O.Local && !v.Msg {
		w.st.set(cell{ch.O.id, join(w.pathAt(ch), chanSent)}, vTrue)
	}
	if ch.O != nil {
		c := cell{ch.O.id, join(w.pathAt(ch), "[*]")}
		if w.st.get(c) == nil {
			w.st.set(c, v)
		}
	}
	if v.Msg {
		w.in.sends["msg"] = true
		return
	}
	if strings.HasSuffix(ch.Slot, "|Input") || ins.T != nil && strings.HasSuffix(ins.T.Name, "ProducerMessage") {
		return
	}
}

// selects chooses among channels. Where one of them yields messages, each case is a path of its own.
func (w *walker) selects(ins *Instr) {
	cases := len(ins.Args) / 2
	fed := false
	for i := range cases {
		fed = fed || w.feeds(ins, i) || w.val(ins.Args[2*i]).event || ins.S[i] != selSend && w.answer(w.val(ins.Args[2*i])) != nil
	}
	if ins.T == nil && !fed && (w.st.async == 0 || !strings.Contains(ins.S, string(selTick))) {
		w.set(ins.Dst, w.chosen(ins, -2))
		return
	}
	first := 0
	if ins.N == 0 {
		first = -1 // the default case
	}
	for i := cases - 1; i >= first; i-- {
		sub := *w
		if i > first {
			sub.env, sub.st = append([]*Value(nil), w.env...), w.st.fork()
		}
		sub.set(ins.Dst, sub.chosen(ins, i))
		if i >= 0 && ins.S[i] == selTick {
			sub.ticked()
		}
		if i > first {
			w.forks = append(w.forks, item{blk: w.blk, idx: w.idx, env: sub.env, st: sub.st})
		} else {
			w.st = sub.st
		}
	}
}

// ticked notes that what follows in a goroutine is done at every tick, and is no work of the message's.
func (w *walker) ticked() {
	if w.st.tick == 0 {
		w.st.tick = w.st.async
	}
}

// chosen is what a select yields when a case is taken: -1 is the default, -2 any of them.
func (w *walker) chosen(ins *Instr, taken int) *Value {
	index := top
	if taken != -2 {
		index = &Value{K: VInt, I: int64(taken)}
	}
	vals := []*Value{index, top}
	other := taken == -1
	for i := range len(ins.Args) / 2 {
		ch := w.val(ins.Args[2*i])
		if ins.S[i] == selSend {
			if taken == i || taken == -2 {
				w.send(ch, w.val(ins.Args[2*i+1]), ins, recvSlot(w.fn.ID, ins.Dst, i))
				w.runChosen(ins, w.val(ins.Args[2*i+1]))
			}
			continue
		}
		v := &Value{K: VTop, Slot: ch.Slot}
		if x := w.answer(ch); x != nil && taken == i {
			v, vals[1] = x, w.sentBefore(ch)
		}
		switch {
		case taken != i:
		case ins.S[i] == selMessage && !w.in.prog.ownQueue(recvSlot(w.fn.ID, ins.Dst, i)):
			v = w.message(ins, placeRecv+i)
		case ch.event:
			v = w.something(ins, nil)
			w.event(&Event{Kind: EvPoll, Pos: ins.Pos, Case: placeRecv + i})
		case w.feeds(ins, i):
			v = w.work(ins, ch, placeRecv+i)
		default:
			other = true
		}
		vals = append(vals, v)
	}
	if ins.N == 1 && (taken == -2 && waits(ins) || taken >= 0 && ins.S[taken] == selOther && !w.feeds(ins, taken)) {
		w.event(&Event{Kind: EvWait, Pos: ins.Pos})
	}
	if other && w.polls(ins) && !w.holdsMessage(ins) {
		w.st.msg = false // the last message is done with, and a timer or a signal is none
	}
	return &Value{K: VTuple, Elems: vals}
}

// answer is what was sent on a channel that was made in sight, nil for nothing.
func (w *walker) answer(ch *Value) *Value {
	if ch.K != VRef || ch.O == nil || !ch.O.Local {
		return nil
	}
	return w.st.get(cell{ch.O.id, join(ch.Path, "[*]")})
}

// waits reports whether a select waits for what others have done, and for nothing else.
func waits(sel *Instr) bool {
	return strings.IndexByte(sel.S, selOther) >= 0 && strings.IndexByte(sel.S, selSend) < 0
}

// message is the message that a channel yields.
func (w *walker) message(ins *Instr, place int) *Value {
	v := w.fresh(&Type{Msg: true}, Taint{Bits: FromMessage}, "")
	v.O = w.in.object(w.fr, ins, place, nil)
	v.O.Taint = Taint{Bits: FromMessage}
	w.over = w.over || ins.Op == OpRecv && w.again(ins)
	w.begins()
	w.st.money.forget()
	if !w.fr.msgPos.IsValid() {
		w.fr.msgPos = ins.Pos
	}
	w.event(&Event{Kind: EvPoll, Pos: ins.Pos, Case: place})
	return w.taken(ins.Pos, v)
}

// polls reports whether the next message is taken at a select: one of its channels yields deliveries, and no message
// was handed to the function or its callers.
func (w *walker) polls(sel *Instr) bool {
	for fr := w.fr; fr != nil; fr = fr.up {
		if fr.takes {
			return false
		}
	}
	for i := range len(sel.S) {
		if sel.S[i] == selMessage && !w.in.prog.ownQueue(recvSlot(w.fn.ID, sel.Dst, i)) {
			return true
		}
	}
	return false
}

// holdsMessage reports whether something of a message is kept for later at a select: a batch that is being gathered.
func (w *walker) holdsMessage(sel *Instr) bool {
	for _, s := range w.fn.Blocks[w.blk].Succs {
		for _, n := range w.fn.Blocks[s].live {
			if v := w.env[n]; n != sel.Dst && v != nil && w.deep(v).has(FromMessage|FromPayload) {
				return true
			}
		}
	}
	return false
}
