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

// heap is memory. It is shared between states until one of them writes.
type heap struct {
	m      map[cell]*Value
	hash   uint64 // of the scalars in it, independent of order
	shared bool
}

// state is all that differs between paths.
type state struct {
	heap    *heap
	pend    []pending // effects in open transactions
	trace   *Event    // what happened, newest first
	thash   uint64
	cond    bool // the path depends on the answer of a callee that cannot be seen
	msg     bool // a message was taken on this path
	async   int  // depth of goroutines
	defs    []deferred
	checked *site // the last check that was asked
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

func newState() *state { return &state{heap: &heap{m: make(map[cell]*Value)}} }

func (s *state) fork() *state {
	c := *s
	c.heap.shared = true
	c.pend = slices.Clip(s.pend)
	c.defs = slices.Clip(s.defs)
	return &c
}

func (s *state) own() {
	if s.heap.shared {
		s.heap = &heap{m: maps.Clone(s.heap.m), hash: s.heap.hash}
	}
}

func cellHash(c cell, v *Value) uint64 {
	sc := v.scalar()
	if sc <= 1 {
		return 0
	}
	return mix(uint64(c.obj)*1000003 ^ hashString(c.path) ^ sc*31)
}

func (s *state) set(c cell, v *Value) {
	s.own()
	if old, ok := s.heap.m[c]; ok {
		s.heap.hash ^= cellHash(c, old)
	}
	s.heap.m[c] = v
	s.heap.hash ^= cellHash(c, v)
}

// setQuiet records a value that reading made up; it changes nothing that another path could see.
func (s *state) setQuiet(c cell, v *Value) { s.heap.m[c] = v }

func (s *state) get(c cell) *Value { return s.heap.m[c] }

// clear forgets everything at and below a place.
func (s *state) clear(o *Object, path string) {
	for c := range s.heap.m {
		if c.obj == o.id && (path == "" || c.path == path || strings.HasPrefix(c.path, path+".")) {
			s.own()
			s.heap.hash ^= cellHash(c, s.heap.m[c])
			delete(s.heap.m, c)
		}
	}
}

// key tells apart the states that could behave differently from here on.
func (s *state) key() uint64 {
	h := s.heap.hash ^ s.thash
	for _, p := range s.pend {
		h ^= mix(uint64(p.tx.id)*7919 + hashString(p.hit.Pos.File) + uint64(p.hit.Pos.Line)<<8 + uint64(p.hit.Pos.Col))
	}
	if s.checked != nil {
		h ^= 0xabcdef12345
	}
	if s.msg {
		h ^= 0x5bd1e995
	}
	if s.cond {
		h ^= 0x9e3779b97f4a7c15
	}
	return mix(h + uint64(len(s.defs))*17 + uint64(s.async))
}
