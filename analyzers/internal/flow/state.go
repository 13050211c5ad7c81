package flow

import (
	"maps"
	"slices"
	"strings"
)

// cell is a place in memory.
type cell struct {
	obj  int
	path string
}

// heap is memory, object by object. It is shared between states until one of them writes.
type heap struct {
	objs   map[int]*mem
	hash   uint64 // of the scalars in it, independent of order
	shared bool
}

// mem is the memory of one object. Only the heap that made it may write it.
type mem struct {
	owner *heap
	m     map[string]*Value
	over  bool // nothing refers to it any more: it does not count in the heap's hash
}

// state is all that differs between paths.
type state struct {
	heap    *heap
	pend    []pending // effects in open transactions
	trace   *Event    // what happened, newest first
	thash   uint64
	cond    bool // the path depends on the answer of a callee that cannot be seen
	msg     bool // a message was taken on this path
	state   bool // the path depends on the state a row is in
	async   int  // depth of goroutines
	defs    []deferred
	checked *site   // the last check that was asked
	visits  *visit  // where messages were taken on this path
	tries   *visit  // where function values were called
	did     *done   // the effects on this path
	left    *left   // what was stored in fields while the program is put together
	failed  bool    // an error was found not to be nil since the message was taken
	looked  *looked // what was found on this path
	broke   int     // how often the effect that fails in this world has failed on this path
	failing *failed // the calls in which it did
	sinking bool    // it is asked what becomes an id: a place that holds one is told apart from an empty one
	notes
	money moneyState
}

type pending struct {
	tx  *Tx
	hit *Hit
}

type deferred struct {
	in *Instr
	fr *frame
	// values of the call's operands when it was deferred
	fun  *Value
	args []*Value
}

// leaveGoroutine goes on behind the go statement.
func (s *state) leaveGoroutine() {
	s.async = max(0, s.async-1)
	if s.tick > s.async {
		s.tick = 0
	}
}

func newState() *state { return &state{heap: &heap{objs: make(map[int]*mem)}} }

func (s *state) fork() *state {
	c := *s
	c.heap.shared = true
	c.pend = slices.Clip(s.pend)
	c.defs = slices.Clip(s.defs)
	return &c
}

// own makes the memory of an object writable.
func (s *state) own(obj int) *mem {
	if s.heap.shared {
		s.heap = &heap{objs: maps.Clone(s.heap.objs), hash: s.heap.hash}
	}
	old := s.heap.objs[obj]
	switch {
	case old == nil:
		old = &mem{owner: s.heap, m: make(map[string]*Value)}
		s.heap.objs[obj] = old
	case old.owner != s.heap:
		old = &mem{owner: s.heap, m: maps.Clone(old.m), over: old.over}
		s.heap.objs[obj] = old
	}
	return old
}

// asIDs are the origins of which it is asked whether they become an id.
const asIDs = FromHeader | FromOffset | FromV4

func (s *state) cellHash(c cell, v *Value) uint64 {
	sc := v.scalar()
	if sc <= 1 {
		// A container that got an id in it is another than one that did not.
		if b := v.T.Bits & asIDs; b != 0 && strings.HasSuffix(c.path, "[*]") {
			return mix(uint64(c.obj)*1000003 ^ uint64(b))
		} else if b != 0 && s.sinking && len(v.T.Srcs) > 0 && !v.quiet {
			return mix(uint64(c.obj)*1000003 ^ hashString(c.path) ^ uint64(b))
		}
		return 0
	}
	return mix(uint64(c.obj)*1000003 ^ hashString(c.path) ^ sc*31)
}

func (s *state) set(c cell, v *Value) {
	m := s.own(c.obj)
	if m.over {
		s.revive(c.obj, m)
	}
	if old, ok := m.m[c.path]; ok {
		s.heap.hash ^= s.cellHash(c, old)
	}
	m.m[c.path] = v
	s.heap.hash ^= s.cellHash(c, v)
}

// setQuiet records a value that reading made up; it changes nothing that another path could see.
func (s *state) setQuiet(c cell, v *Value) {
	m := s.heap.objs[c.obj]
	if m == nil {
		m = &mem{owner: s.heap, m: make(map[string]*Value)}
		s.heap.objs[c.obj] = m
	}
	m.m[c.path] = v
}

func (s *state) get(c cell) *Value {
	if m := s.heap.objs[c.obj]; m != nil {
		return m.m[c.path]
	}
	return nil
}

func below(path, root string) bool {
	return root == "" || path == root || strings.HasPrefix(path, root) && path[len(root)] == '.'
}

// clear forgets everything at and below a place.
func (s *state) clear(o *Object, path string) {
	m := s.heap.objs[o.id]
	if m == nil || len(m.m) == 0 {
		return
	}
	var gone []string
	for p := range m.m {
		if below(p, path) {
			gone = append(gone, p)
		}
	}
	if len(gone) == 0 {
		return
	}
	m = s.own(o.id)
	for _, p := range gone {
		if !m.over {
			s.heap.hash ^= s.cellHash(cell{o.id, p}, m.m[p])
		}
		delete(m.m, p)
	}
	m.over = m.over && len(m.m) > 0
}

// paths are the places of an object at and below a path, in order.
func (s *state) paths(o *Object, path string) []string {
	m := s.heap.objs[o.id]
	if m == nil {
		return nil
	}
	out := make([]string, 0, len(m.m))
	for p := range m.m {
		if below(p, path) && p != mapLast && p != mapLess {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// key tells apart the states that could behave differently from here on.
func (s *state) key() uint64 {
	h := s.heap.hash ^ s.thash ^ s.money.hash
	for _, p := range s.pend {
		h ^= mix(uint64(p.tx.id)*7919 + hashString(p.hit.Pos.File) + uint64(p.hit.Pos.Line)<<8 + uint64(p.hit.Pos.Col))
	}
	if s.checked != nil {
		h ^= 0xabcdef12345
	}
	if s.state {
		h ^= 0x1234567887654321
	}
	if s.msg {
		h ^= 0x5bd1e995
	}
	for l := s.looked; l != nil; l = l.up {
		h ^= mix(uint64(l.pos.Line)<<8 + uint64(l.pos.Col) + hashString(l.pos.File))
		if l.found {
			h ^= 0x6a09e667
		}
	}
	if s.failed {
		h ^= 0x2545f4914f6cdd1d
	}
	if s.cond {
		h ^= 0x9e3779b97f4a7c15
	}
	return mix(h + uint64(len(s.defs))*17 + uint64(s.async) + uint64(s.tick)<<32)
}
