package flow

import "github.com/idemlint/idemlint/analyzers/internal/rule"

// A Pos is a place in a source file. The zero Pos is no place.
type Pos struct {
	File string // as the file set names it
	Line int32
	Col  int32
}

// IsValid reports whether p is a place.
func (p Pos) IsValid() bool { return p.Line > 0 }

// TypeKind is the shape of a type, as far as the interpreter cares.
type TypeKind uint8

// The shapes.
const (
	KOther TypeKind = iota
	KError
	KBool
	KInt
	KString
	KFunc
	KInterface
	KStruct
	KSlice
	KMap
	KChan
	KTuple
	KPointer
)

// A Type is what is kept of a Go type.
type Type struct {
	Name  string // "import/path.Name" of the named type, behind one pointer; "" when there is none
	Kind  TypeKind
	Ptr   bool
	Msg   bool // a consumed message, or a struct that carries one
	Batch bool // several of them: a slice, channel, iterator or the client's own batch type

	Elem string // of a slice without a name: the name of its elements' type, behind one pointer
}

// An Op is what an instruction does.
type Op uint8

// The instructions. A and B are operands, Dst the result; what else is used is said beside each.
const (
	OpNone      Op = iota
	OpAlloc        // S is the variable's name, T its type
	OpLoad         // *A
	OpStore        // *A = B
	OpFieldAddr    // &A.S, S2 the struct's type
	OpField        // A.S
	OpIndexAddr    // &A[B]
	OpIndex        // A[B]
	OpLookup       // A[B] of a map; N=1 with comma-ok
	OpMapUpdate    // A[B] = Args[0]
	OpCall         // Call
	OpGo           // Call
	OpDefer        // Call
	OpPhi          // Args by predecessor
	OpBin          // A S B
	OpNot          // !A
	OpNeg          // -A and ^A
	OpRecv         // <-A; N=1 with comma-ok; S is "t" for a ticker's channel
	OpCopy         // the same value under another type
	OpMakeIface    // A as an interface; S the concrete type
	OpAssert       // A.(T); N=1 with comma-ok
	OpClosure      // S the function, Args its free variables
	OpMethodVal    // the method S of A; N=1 when A is an interface and S a method's name
	OpMake         // a new map, slice or channel of type T; S is "empty" or "sized" for a slice, then A is its length
	OpSlice        // A[…]; S is "empty" for A[:0], "first" for A[:n], "part" where other bounds are given
	OpSend         // A <- B
	OpSelect       // Args are pairs channel, value (or none); S has a byte for each pair; N=1 when it blocks
	OpRange        // range over A
	OpNext         // next of the iterator A
	OpExtract      // element N of the tuple A
	OpName         // the value A has the variable name S
	OpIf           // A; Succs[0] when true
	OpJump
	OpReturn // Args
	OpPanic
	OpRunDefers
	OpWait // the loop that follows waits for workers
)

// Flags of a field, on OpFieldAddr and OpField.
const (
	FieldEventID  = 1 << iota // named as an event's id, or the id of a type named as an event
	FieldDedupKey             // named as a dedup or idempotency key
	FieldOutboxID             // the id of an outbox row
	FieldRowID                // the id of anything else; only of a sink
)

// An Instr is one instruction. Operands are value numbers; a negative one is a constant, Consts[^operand].
type Instr struct {
	Op   Op
	Dst  int32
	A, B int32
	N    int64
	Args []int32
	S    string
	S2   string
	T    *Type
	Call *Call
	Pos  Pos
}

// The kinds of a select's cases.
const (
	selSend    = 's'
	selMessage = 'm' // receives a message
	selOther   = '.' // receives something else
	selIdle    = '-' // receives the end of a context, or a point in time
	selTick    = 't' // receives the next tick of a ticker
)

// CallKind says how a callee is found.
type CallKind uint8

// The kinds of calls.
const (
	CallStatic  CallKind = iota // Fn is the function's id; a method's receiver is Args[0]
	CallDynamic                 // Fun is the function value
	CallInvoke                  // Fun is the interface value, Fn the method's name, Iface the interface
	CallBuiltin                 // Fn is the builtin's name
)

// A Call is the call of an instruction.
type Call struct {
	Kind  CallKind
	Fn    string
	Iface string
	// TypeParam is the slot of what the method is called on, where that is a type parameter: see typeparam.go.
	TypeParam string
	Pkg       string // for look-ups in know: normalised package, type and name; "" when nothing is known
	Recv      string
	Name      string
	Fun       int32
	Args      []int32
	Res       []*Type
	// KeyParams are the names of the callee's parameters that name an event id or dedup key, by argument index.
	KeyParams []KeyParam
	// Funcs are the arguments that hand over a function, by name, as a literal or from a package variable.
	Funcs []FuncArg
	// Guard is set when the callee's declaration carries //idemlint:guard.
	Guard bool
	// RPC is set when the callee has the shape of a generated gRPC client's method.
	RPC bool
	// Method is set when Args[0] is a receiver.
	Method bool
	// End is the end of the call expression, for suggested fixes.
	End Pos
	// At is the callee's name: the place of a method in a chain of calls.
	At Pos
	// Fix is the call rewritten to make a version 7 UUID, where the library of this version can.
	Fix string
}

// A KeyParam is a parameter whose name says that it takes an id.
type KeyParam struct {
	Index int
	Name  string
}

// A FuncArg is an argument that hands over a function.
type FuncArg struct {
	Index int
	Pos   Pos
}

// A Block is a basic block.
type Block struct {
	Instrs []Instr
	Succs  []int32
	Preds  []int32
	live   []int32 // values live at entry, computed on load
}

// A ConstKind is the kind of a constant.
type ConstKind uint8

// The kinds of constants.
const (
	CNil ConstKind = iota
	CBool
	CInt
	CString
	CFunc   // S is a function's id
	CGlobal // the address of the package variable S
	COther
)

// A Const is a constant operand.
type Const struct {
	Kind ConstKind
	S    string
	I    int64
	T    *Type
}

// A Param is a parameter, receiver first.
type Param struct {
	Name string
	T    *Type
}

// A Func is a function's lowered text.
type Func struct {
	ID       string // "import/path.Recv.Name", "$1" appended for its literals
	Name     string // as a reader writes it: "Consumer.Run"
	Pkg      string // import path
	Recv     string // receiver's type name, "" for none
	Params   []Param
	Free     int // free variables follow the parameters as values
	Results  []*Type
	Values   int32 // number of values
	Consts   []Const
	Blocks   []Block
	Pos      Pos // of its name, or of the word func
	Exported bool
	Test     bool // in a _test.go file
	Gen      bool // in a generated file
	Guard    bool // carries //idemlint:guard
	Literal  bool
	Method   bool
	Parent   string // the function a literal stands in
	prepared bool
	defs     map[int32]*Instr
}

// A TypeDecl says which functions a type's methods are.
type TypeDecl struct {
	Name    string
	Iface   bool
	Methods []Method
}

// A Method is a method of a type. Path is the chain of embedded fields through which it is promoted.
type Method struct {
	Name  string
	Fn    string
	Path  string
	Guard bool
	Sig   string // a hash of its parameters and results
}

// An Edge says that what is in Src may be in Dst. A slot is a string:
// "P|func|i" a parameter, "R|func|i" a result, "F|type|field", "G|pkg.var", "L|func|value" a local container,
// "V|func|i" a free variable; a source may also be a leaf: "f|func" a function, "m|func" a bound method,
// "t|type" a concrete type, "k|func|place" a reader made there,
// "q|type|text" a statement prepared of it.
type Edge struct {
	Dst, Src string
	Pos      Pos // where the value is handed over
}

// A Global is a package variable that is set once, where it is declared.
type Global struct {
	Name string // "import/path.var"
	C    Const
	Err  bool // an error value of its own
}

// A Unit is everything kept of one package.
type Unit struct {
	Path    string
	Funcs   []*Func
	Types   []TypeDecl
	Edges   []Edge
	Globals []Global
	Bare    []string  // struct types that are turned into an interface and have no field that may be an event's id
	SQL     []SQLText // the SQL that makes, fills or empties a table
	Handed  []Handed
	Own     *Own              // nil: what holds for those who call it holds for it, too
	Ignores []*rule.Directive // those that may cover a finding that stands in another package: at a binding of this one's handler
}

// An SQLText is SQL in a Go file, put together as far as its pieces are constants.
type SQLText struct {
	Text string
	Pos  Pos    // where its first literal starts
	Fn   string // the declared function it stands in, "" outside functions
	Name string // the package's constant or variable it is declared as: "import/path.name"
	From Pos    // the declaration it stands in
	To   Pos
	Gen  bool // in a generated file
}

// A Handed is a method that another package may call, since a value that has it was converted to that package's
// interface.
type Handed struct {
	Iface string // "import/path.Name"
	Fn    string
}

// String is the place as file:line:column.
func (p Pos) String() string {
	if !p.IsValid() {
		return ""
	}
	return p.File + ":" + itoa(int(p.Line)) + ":" + itoa(int(p.Col))
}
