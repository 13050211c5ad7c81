package flow

import (
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Several clients have one type for a message that is consumed and one that is to be sent. A channel of such messages
// may be a queue of a producer: everything that is sent on it was made by the program itself. What comes out of one is
// no delivery.

// The leaves of what is sent on a channel of messages, an edge to "S|" and the channel's slot.
const (
	sentMade  = "S|made"  // a message that was made in place
	sentOther = "S|other" // any other
)

// sendEdge records what is sent on a channel of messages.
func (f *funcLowerer) sendEdge(ch, v ssa.Value) {
	if !messageChan(ch.Type()) {
		return
	}
	leaf := sentOther
	if f.made(v, 0) {
		leaf = sentMade
	}
	for _, s := range f.slots(ch) {
		f.edges[Edge{Dst: "S|" + s, Src: leaf}] = true
	}
}

// recvEdge records which channels a receive is from.
func (f *funcLowerer) recvEdge(in ssa.Value, i int, ch ssa.Value) {
	if !workChan(ch.Type()) {
		return
	}
	dst := recvSlot(f.out.ID, f.num[in], i)
	for _, s := range f.slots(ch) {
		f.edges[Edge{Dst: dst, Src: s}] = true
	}
}

// recvSlot stands for the channel of a receive, the i-th of a select; also for the channel of a select's i-th send.
func recvSlot(fn string, dst int32, i int) string {
	return "Q|" + fn + "|" + strconv.Itoa(int(dst)) + "|" + strconv.Itoa(i)
}

// made reports whether a message is made by the program: a composite literal, of which no part is a part of another
// message, or what a function of this package returns that makes one.
func (f *funcLowerer) made(v ssa.Value, depth int) bool {
	if depth > 4 {
		return false
	}
	switch v := v.(type) {
	case *ssa.Const:
		return true
	case *ssa.Alloc:
		return f.madeAt(v, depth)
	case *ssa.UnOp:
		a, ok := v.X.(*ssa.Alloc)
		return ok && f.madeAt(a, depth)
	case *ssa.Phi:
		for _, e := range v.Edges {
			if !f.made(e, depth+1) {
				return false
			}
		}
		return true
	case *ssa.Extract:
		c, ok := v.Tuple.(*ssa.Call)
		return ok && f.returnsMade(c, v.Index, depth)
	case *ssa.Call:
		return f.returnsMade(v, 0, depth)
	}
	return false
}

func (f *funcLowerer) returnsMade(c *ssa.Call, i, depth int) bool {
	fn := c.Common().StaticCallee()
	if fn == nil {
		return false
	}
	found := false
	for _, b := range fn.Blocks {
		if len(b.Instrs) == 0 {
			continue
		}
		if r, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok {
			if i >= len(r.Results) || !f.made(r.Results[i], depth+1) {
				return false
			}
			found = true
		}
	}
	return found
}

// madeAt reports whether only made messages, and no parts of consumed ones, are stored in a variable.
func (f *funcLowerer) madeAt(a *ssa.Alloc, depth int) bool {
	for _, ref := range *a.Referrers() {
		switch ref := ref.(type) {
		case *ssa.Store:
			if ref.Addr == a && !f.made(ref.Val, depth+1) {
				return false
			}
		case *ssa.FieldAddr:
			for _, r := range *ref.Referrers() {
				if st, ok := r.(*ssa.Store); ok && st.Addr == ref && f.partOfMessage(st.Val) {
					return false
				}
			}
		case ssa.CallInstruction:
			return false // whoever is handed the address may fill it
		}
	}
	return true
}

// partOfMessage reports whether a value is read from a field of a message.
func (f *funcLowerer) partOfMessage(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.UnOp:
		fa, ok := v.X.(*ssa.FieldAddr)
		return ok && f.typ(fa.X.Type()).Msg
	case *ssa.Field:
		return f.typ(v.X.Type()).Msg
	case *ssa.Convert:
		return f.partOfMessage(v.X)
	case *ssa.Slice:
		return f.partOfMessage(v.X)
	}
	return false
}

// ownQueue reports whether a receive is from a channel on which, as far as can be seen, only messages are sent that
// the program makes.
func (p *Program) ownQueue(recv string) bool {
	if len(p.edges[recv]) == 0 {
		return false
	}
	if p.sent == nil {
		p.findSent()
	}
	if own, ok := p.queues[recv]; ok {
		return own
	}
	made, other := false, false
	for s := range p.behind(recv) {
		made = made || p.sent[s][sentMade]
		other = other || p.sent[s][sentOther]
	}
	p.queues[recv] = made && !other
	return made && !other
}

// findSent finds for each slot that may hold a channel what is sent on it.
func (p *Program) findSent() {
	p.sent, p.queues = make(map[string]map[string]bool), make(map[string]bool)
	for dst, edges := range p.edges {
		slot, ok := strings.CutPrefix(dst, "S|")
		if !ok {
			continue
		}
		for s := range p.behind(slot) {
			if p.sent[s] == nil {
				p.sent[s] = make(map[string]bool)
			}
			for _, e := range edges {
				p.sent[s][e.Src] = true
			}
		}
	}
}

// behind are the slots from which what is in a slot may come, and the slot itself.
func (p *Program) behind(slot string) map[string]bool {
	seen := map[string]bool{slot: true}
	for work := []string{slot}; len(work) > 0 && len(seen) < 400; work = work[1:] {
		var next []string
		for _, e := range p.into(work[0]) {
			next = append(next, p.through(e.Src)...)
		}
		for _, n := range append(next, p.calls(work[0])...) {
			if !seen[n] {
				seen[n] = true
				work = append(work, n)
			}
		}
	}
	return seen
}
