package flow

import (
	"slices"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// VKind is what is known of an abstract value.
type VKind uint8

// The kinds of abstract values.
const (
	VTop    VKind = iota // anything
	VNotNil              // anything but nil
	VNil
	VBool
	VInt
	VStr    // S, in which sqltext.Hole stands for text that is not known
	VErr    // a non-nil error of class S
	VFunc   // function S with free variables Elems; a bound method when Bound
	VRef    // a reference to, or a struct kept in, object O at Path
	VTuple  // Elems
	VResult // outcome of a statement: I rows, -1 when unknown
	VRow    // a row to scan, see Row
)

// Classes of errors a value of kind VErr can have besides a variable's or type's name.
const (
	errAny    = ""           // some failure
	errNoRows = "\x01norows" // the row was not there
	errUnique = "\x01unique" // the key was taken
	errFail   = "\x01fail"   // the statement failed in this world
)

// Bits says where a value comes from.
type Bits uint32

// The origins of values.
const (
	FromMessage Bits = 1 << iota // the whole message
	FromPayload                  // decoded from a message
	FromEventID                  // a payload field that names the event
	FromOffset                   // a consumed message's offset
	FromHeader                   // a message's header
	FromKey                      // a message's key
	FromPlace                    // its topic or partition
	FromV4                       // a random UUID
	FromFresh                    // different on every delivery: random, the clock
	FromUnseen                   // the answer of a callee that cannot be seen
	FromRow                      // read from a row of the database
	FromCounter                  // counts a loop's rounds
	FromAttempt                  // counts attempts, by its name
	FromStored                   // a column or field of a row, see relay.go
	FromRelayed                  // the same, under the name of an event's id
	FromMark                     // what a look found: the mark of the event among others
	FromCoarse                   // of the clock only the hour, the day or the like
)

// A Src is one place where an origin entered.
type Src struct {
	Bit   Bits
	Pos   Pos // where it was read or made
	Enter Pos // the same, or the call in the present function that brought it
	Cross Pos // the same, or the call in the present package that brought it
	End   Pos // end of the expression at Enter, when it is the maker itself
	Pkg   string
	Fn    string // function of Enter
	What  string // what was read or called
	Ref   Pos    // where the maker was handed over as a value
	Named bool   // it went into a name or a digest: what came out is another id
	Part  bool   // it is a part of a longer text
	depth int
	call  *Call
}

// A Taint is all that is known of a value's origins.
type Taint struct {
	Bits  Bits
	Srcs  []*Src
	Reads []*read // columns of rows, see rowvalues.go
}

func (t Taint) join(o Taint) Taint {
	if o.Bits == 0 && len(o.Srcs) == 0 && len(o.Reads) == 0 {
		return t
	}
	if t.Bits == 0 && len(t.Srcs) == 0 && len(t.Reads) == 0 {
		return o
	}
	out := Taint{Bits: t.Bits | o.Bits, Srcs: t.Srcs, Reads: joinReads(t.Reads, o.Reads)}
	for _, s := range o.Srcs {
		if len(out.Srcs) >= 6 {
			break
		}
		if !slices.ContainsFunc(out.Srcs, func(x *Src) bool {
			return x.Bit == s.Bit && x.Enter == s.Enter && x.Pos == s.Pos && x.Named == s.Named && x.Part == s.Part
		}) {
			out.Srcs = append(slices.Clip(out.Srcs), s)
		}
	}
	return out
}

func (t Taint) has(b Bits) bool { return t.Bits&b != 0 }

// An Object is something that is referred to: a variable, a struct, a map, a transaction.
type Object struct {
	id      int
	T       *Type
	Taint   Taint
	Slot    string // what it came from, for its fields' slots
	Local   bool   // made in the code that runs
	Site    string
	Tx      *Tx
	Ctx     *ctxNode
	Chain   *chain
	Name    string
	Err     *Value // the error this variable was filled from
	Decoded bool   // a decoder filled it from a message
}

// A Tx is a transaction.
type Tx struct {
	id   int
	Pos  Pos
	Up   *Tx // of a savepoint
	Kind string
}

type ctxNode struct {
	up       *ctxNode
	key, val *Value
}

// A Value is an abstract value. It is never changed once it is shared, except that O is made on demand.
type Value struct {
	K     VKind
	I     int64
	S     string
	Elems []*Value
	O     *Object
	Path  string
	T     Taint
	Dyn   string // concrete type inside an interface
	Slot  string // the slot it was read from
	Msg   bool   // a consumed message
	Batch bool   // several
	Bound bool
	Row   *rowVal
	Ref   Pos // where a function value was handed over
	Iface string
	Site  *site    // the statement whose outcome this is
	Prod  bool     // a produced message's report
	fa    *Instr   // the field whose address this is
	raw   bool     // a message's value as it came
	enc   string   // of encoded bytes: the type that was encoded
	expr  string   // the text of a builder's expression
	built *chain   // of a text: the builder's chain that it was written from
	quiet bool     // made up by reading: nobody wrote it
	size  length   // of a slice, or a slice's length
	wired bool     // of a function: kept from putting the program together, see wiring.go
	alts  []*Value // what was read from a map made in sight under a key that is not known
	gen   int      // of a message: its number, see order.go
	event bool     // something that a client yields: it may be a message, or a channel of such
	bad   bool     // the outcome of an effect that failed in this world
	sym   string   // what it is made of: values with the same sym are the same, see symOf
	step  string   // the slot of what it is a number away from: the version before
	base  string   // the slot of what a text begins with, when that is not known
	from  *Value   // what it was encoded from, or the map whose key it is
	box   TypeKind // one more than the kind of an unnamed type inside an interface
	left  []*Value // what this event's handler has left where it was read: one of these
	file  fileKind // of a file, and of a writer over one
	mixed bool     // nothing in it is of the message at hand, but it may hold what is of others of its batch
	elem  string   // of a slice inside an interface: the type of its elements
}

// rowVal is what a query gave.
type rowVal struct {
	state rowState
	value *Value // what Scan finds, nil when unknown
	site  *site
	taint Taint
	read  *rowRead
	query *sqltext.Statement
}

type rowState uint8

const (
	rowUnknown rowState = iota
	rowFound
	rowAbsent
	rowTaken // unique violation
	rowFail
)

var (
	top    = &Value{K: VTop}
	nilVal = &Value{K: VNil}
	vTrue  = &Value{K: VBool, I: 1}
	vFalse = &Value{K: VBool}
)

func boolVal(b bool) *Value {
	if b {
		return vTrue
	}
	return vFalse
}

func errVal(class string, t Taint) *Value { return &Value{K: VErr, S: class, T: t} }

func strVal(s string, t Taint) *Value {
	if len(s) > maxText {
		return taintVal(t)
	}
	return &Value{K: VStr, S: s, T: t}
}

func taintVal(t Taint) *Value {
	if t.Bits == 0 && len(t.Srcs) == 0 && len(t.Reads) == 0 {
		return &Value{K: VTop}
	}
	return &Value{K: VTop, T: t}
}

// with returns v with further origins.
func (v *Value) with(t Taint) *Value {
	j := v.T.join(t)
	if j.Bits == v.T.Bits && len(j.Srcs) == len(v.T.Srcs) && len(j.Reads) == len(v.T.Reads) {
		return v
	}
	c := *v
	c.T = j
	return &c
}

// scalar is a value's contribution to a state's key: what a branch can depend on.
func (v *Value) scalar() uint64 {
	if v == nil {
		return 0
	}
	switch v.K {
	case VNil:
		return uint64(v.K)
	case VNotNil:
		h := uint64(v.K) + uint64(v.size)<<8
		if len(v.Elems) > 0 {
			h += 1 << 16
		}
		return h
	case VBool:
		return 11 + uint64(v.I)
	case VInt, VResult:
		return mix(uint64(v.K)*131 + uint64(v.I))
	case VErr, VStr:
		return mix(hashString(v.S) + uint64(v.K))
	case VFunc:
		return mix(hashString(v.S))
	case VRow:
		return 77 + uint64(v.Row.state)
	case VTuple:
		if v.Ref.IsValid() || len(v.Elems) > 0 && v.Elems[0].Ref.IsValid() {
			return mix(977 + uint64(len(v.Elems))) // what is queued in a batch
		}
	}
	if v.O != nil && v.O.Chain != nil && v.O.Chain.kind == know.BuildInsert && !v.O.Chain.fillsNothing() {
		return 6 // an INSERT with rows is another than one without
	}
	if v.O != nil && v.O.Tx != nil {
		return mix(uint64(v.O.Tx.id) + 991)
	}
	if isModel(v) {
		return 5 // a list into which it was put is another than an empty one
	}
	return 1 + uint64(v.size)<<8
}

func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return x
}

// hashString takes eight bytes at a time: texts may be long, and are hashed at every step that stores them.
func hashString(s string) uint64 {
	h := uint64(14695981039346656037)
	for ; len(s) >= 8; s = s[8:] {
		word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		h = mix(h ^ word)
	}
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// truth tells a boolean's value; known is false when it may be either.
func (v *Value) truth() (val, known bool) {
	if v.K == VBool {
		return v.I != 0, true
	}
	return false, false
}

// isNil tells whether a value is nil.
func (v *Value) isNil() (val, known bool) {
	switch v.K {
	case VNil:
		return true, true
	case VErr, VFunc, VNotNil, VRow, VTuple, VInt, VBool, VStr:
		return false, true
	case VRef:
		if v.O != nil && (v.O.Local || v.O.Tx != nil || v.O.id >= wireFirst) {
			return false, true
		}
	}
	return false, false
}
