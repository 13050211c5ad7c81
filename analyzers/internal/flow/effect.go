package flow

import (
	"fmt"
	"strings"
)

// An EffectKind says what part of the outside world an effect changes.
type EffectKind uint8

// The kinds of effects.
const (
	EffDB EffectKind = iota + 1
	EffHTTP
	EffGRPC
	EffProduce
	EffMail
	EffRedis
	EffMongo
	EffFile
	EffOther
)

// A Hit is an effect that is reached.
type Hit struct {
	Kind EffectKind
	Desc string // what it does, for a reader: `INSERT INTO invoices`
	Pos  Pos
	Pkg  string

	chain   *frame
	call    *Instr
	checked *site  // the check that was asked before, nil for none
	cond    bool   // only on a path that depends on a callee which cannot be seen
	Table   string // of a database write
	tx      *Tx
	async   bool
	tick    bool   // it is done at every tick of a ticker in a goroutine
	state   bool   // reached only where a row is in some state
	pool    bool   // surely in no transaction
	mark    string // the place in a store where a look asks
	row     string // of an INSERT: the key of the look that has just asked for its row
	cache   bool   // a Redis key that is set or deleted
	natural bool   // it lands on the same state when repeated
}

// A site is a statement or call that tells whether an event was there before.
type site struct {
	Key   string
	Pos   Pos
	Desc  string
	Store string // "sql", "redis", "memory", "name"
	Table string
	Tx    *Tx
	Look  bool   // it only looks
	Batch bool   // it marks several events at once: what it says of one, it need not say of the others
	Pool  bool   // surely in no transaction
	Place string // where in the store it asks, to tell which write is its mark
	chain *frame
	after map[Pos]bool      // the effects that were done before it on some path
	keys  map[string]*Value // of a look: the columns by which it asks
}

// done are the effects that were done on a path, the last one first.
type done struct {
	pos Pos
	up  *done
}

// effect records that an effect is reached: at once, or when its transaction commits.
func (w *walker) effect(ins *Instr, kind EffectKind, desc string, tx *Tx) {
	if kind == EffDB {
		w.keeps(ins, "", tx)
	}
	if !w.st.msg {
		return // what happens before a message is taken does not happen for it
	}
	h := &Hit{Kind: kind, Desc: desc, Pos: ins.Call.At, Pkg: w.fn.Pkg, chain: w.fr, call: ins, checked: w.st.checked, cond: w.st.cond, state: w.st.state, tx: tx, async: w.st.async > 0, tick: w.st.tick > 0}
	if !h.Pos.IsValid() {
		h.Pos = ins.Pos
	}
	h.pool, h.row = w.onPool(), w.asksRow
	if w.breaks(h) {
		return
	}
	w.st.looked, w.st.did = nil, &done{h.Pos, w.st.did}
	w.event(&Event{Kind: EvEffect, Hit: h, Pos: h.Pos, Tx: tx})
	if tx != nil {
		for _, p := range w.st.pend {
			if p.tx == tx && p.hit.Pos == h.Pos {
				return
			}
		}
		w.st.pend = append(w.st.pend[:len(w.st.pend):len(w.st.pend)], pending{tx, h})
		return
	}
	w.in.reach(h)
}

// reach records that an effect has happened for good.
func (in *interp) reach(h *Hit) {
	key := fmt.Sprint(h.Pos, "|", h.cond, "|", h.state, "|", h.checked != nil)
	for f := h.chain; f != nil; f = f.up {
		key += "|" + f.fn.ID
	}
	if in.hitSeen[key] {
		return
	}
	in.hitSeen[key] = true
	in.hits = append(in.hits, h)
}

// commit makes what a transaction did final; a savepoint's work becomes its transaction's.
func (w *walker) commit(tx *Tx) {
	var rest []pending
	for _, p := range w.st.pend {
		switch {
		case tx != nil && p.tx != tx:
			rest = append(rest, p)
		case tx != nil && tx.Up != nil:
			rest = append(rest, pending{tx.Up, p.hit})
		default:
			w.in.reach(p.hit)
		}
	}
	w.st.pend = rest
}

func (w *walker) rollback(tx *Tx) {
	var rest []pending
	for _, p := range w.st.pend {
		if tx != nil && p.tx != tx {
			rest = append(rest, p)
		}
	}
	w.st.pend = rest
}

// A check's outcome in the present world.
type outcome uint8

const (
	outFresh outcome = iota
	outDup
	outFail
)

// check asks a check, and remembers that it was asked.
func (w *walker) check(s *site) outcome {
	s.Key = fmt.Sprintf("%s:%d:%d", s.Pos.File, s.Pos.Line, s.Pos.Col)
	s.chain = w.fr
	if s.Tx == nil && s.Store == "sql" {
		s.Pool = w.onPool()
	}
	if old := w.in.sites[s.Key]; old == nil {
		s.after = make(map[Pos]bool)
		w.in.sites[s.Key] = s
	} else {
		s.after = old.after
	}
	for d := w.st.did; d != nil && s.after != nil; d = d.up {
		s.after[d.pos] = true
	}
	out := outFresh
	switch {
	case w.in.world.Fail == s.Key, w.in.world.Fail == anyCheck && s.Store != "memory" && s.Store != "state":
		out = outFail
	case w.in.world.Blind && s.Look && w.marksTable(s):
	case s.Store == "memory":
		if w.in.world.Dup && w.in.world.Memory {
			out = outDup
		}
	case w.in.world.Dup && (w.in.world.Only == "" || w.in.world.Only == s.Key):
		out = outDup
	}
	if s.Store != "memory" {
		w.st.checked = s
	}
	w.event(&Event{Kind: EvCheck, Site: s, Pos: s.Pos, Tx: s.Tx, Outcome: out})
	return out
}

// marksTable reports whether a look is at what the handler itself leaves behind: a row that it only reads is there.
func (w *walker) marksTable(s *site) bool {
	return s.Store != "sql" || w.dedupTable(s.Table) || w.in.wrote["sql:"+strings.ToLower(s.Table)]
}

// A SinkKind says what takes a value for an id.
type SinkKind uint8

// The kinds of sinks.
const (
	SinkField     SinkKind = iota + 1 // a field; Name, Owner and Flags
	SinkVar                           // a variable
	SinkParam                         // a parameter
	SinkReturn                        // what a function so named returns
	SinkMapKey                        // the value of a map's key so named
	SinkDedupSQL                      // the key in SQL on a dedup table or of a guard
	SinkSetNX                         // a Redis key that tells repeats
	SinkSeen                          // a set in memory
	SinkHeader                        // a header; Name
	SinkSetID                         // CloudEvents
	SinkMessageID                     // watermill's NewMessage
	SinkGuard                         // a guard known by its name
	SinkColumn                        // a column of an INSERT; Name and Owner, its table
)

// A Sink is a value that ends in a place for ids.
type Sink struct {
	Kind  SinkKind
	Name  string
	Owner string
	Flags int64
	Pos   Pos
	Value Taint
	Fn    *Func
	Known string // the value's text, when it is known
	chain *frame
}

// sink records a value that has an origin someone may ask about.
func (in *interp) sink(s Sink, v *Value, w *walker) {
	t := w.deep(v)
	if len(t.Srcs) == 0 {
		return
	}
	s.Value, s.Fn, s.chain = t, w.fn, w.fr
	for _, src := range t.Srcs {
		k := fmt.Sprint(s.Kind, s.Name, s.Pos, src.Pos, src.Enter, src.Bit, src.Named, src.Part)
		if !in.sinkKey[k] {
			in.sinkKey[k] = true
			in.sinks = append(in.sinks, s)
			return
		}
	}
}
