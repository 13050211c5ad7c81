package flow

import (
	"sort"
	"strings"
	"sync"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// A Program is every function in sight.
type Program struct {
	Whole   bool            // every package of the module is in sight
	Entered map[string]bool // functions that a judged root hands its message to

	base       scope             // of the program
	scopes     map[string]*scope // by package: of those with which a configuration goes
	scoped     map[string]*scope // the same, each once
	funcs      map[string]*Func
	methods    map[string]map[string]*Method
	edges      map[string][]*Edge
	globals    map[string]*Global
	sent       map[string]map[string]bool // what is sent on the channels of messages that a slot may hold
	queues     map[string]bool            // [Program.ownQueue]
	left       map[string]map[string][]remains
	fields     map[string]string // [Program.fieldNamed]
	ents       map[string]bool   // [Program.entPackage]
	units      []*Unit
	own        map[*Edge]bool
	ownPkgs    map[string]bool
	sql        map[string][]sqltext.Statement
	bcache     map[string][]binding
	callers    map[string]bool
	lits       map[string][]string
	tnames     map[string]string
	uses       map[string][]reach
	impls      map[string][]binding
	mws        map[string][]binding
	inSight    map[string]bool     // packages of which functions are known
	yields     map[string]bool     // functions that poll and hand back what a message carries
	groups     map[string]tristate // readers by where they are made: do they belong to a group
	orders     map[string]*Order
	bare       map[string]bool // struct types without an event's id
	mu         sync.Mutex      // held while something runs: rules ask at the same time
	refs       map[string][]string
	wires      *wires
	fieldSlots map[string][]string  // slots of fields by type, see wiring.go
	empties    map[string][]string  // [Program.emptied]
	texts      map[string]*slotText // [Program.textIn]
	prepared   map[string]string    // by package and name: [Program.preparedAs]
	pairs      map[string]bool      // [Program.apart]
	feeds      map[string][]feed    // [Program.receives]
	hands      map[string]*handover // [Program.handsTo]
	relays     relays
	getters    map[string]bool            // fields that a method returns as an event\'s id
	leads      map[string]map[string]bool // packages to those that they call
}

// NewProgram joins units. own are the packages under analysis; an edge of theirs is where a finding can stand. The tables, and
// strict, by which naturally idempotent writes count, hold where no configuration goes with a unit.
func NewProgram(units []*Unit, own map[string]bool, tables *know.Tables, strict bool) *Program {
	p := &Program{base: scope{Tables: tables, strict: strict}, scopes: make(map[string]*scope), scoped: make(map[string]*scope), funcs: make(map[string]*Func), methods: make(map[string]map[string]*Method), edges: make(map[string][]*Edge),
		globals: make(map[string]*Global), own: make(map[*Edge]bool), ownPkgs: own, sql: make(map[string][]sqltext.Statement),
		bcache: make(map[string][]binding), callers: make(map[string]bool), lits: make(map[string][]string), yields: make(map[string]bool), tnames: make(map[string]string)}
	seen := make(map[string]*Unit)
	for _, u := range units {
		p.addScope(u)
		old := seen[u.Path]
		if old != nil && (own[u.Path] || len(u.Funcs) <= len(old.Funcs)) {
			p.merge(u)
			continue
		}
		seen[u.Path] = u
		p.units = append(p.units, u)
		p.add(u)
	}
	sort.Slice(p.units, func(i, j int) bool { return p.units[i].Path < p.units[j].Path })
	return p
}

// merge adds the functions of a further, partial copy of a unit.
func (p *Program) merge(u *Unit) {
	for _, f := range u.Funcs {
		if p.funcs[f.ID] == nil {
			p.addFunc(f)
		}
	}
}

func (p *Program) addFunc(f *Func) {
	if p.inSight == nil {
		p.inSight = make(map[string]bool)
	}
	p.inSight[f.Pkg] = true
	p.funcs[f.ID] = f
	if f.Parent != "" {
		p.lits[f.Parent] = append(p.lits[f.Parent], f.ID)
	}
	for i := range f.Blocks {
		for j := range f.Blocks[i].Instrs {
			if c := f.Blocks[i].Instrs[j].Call; c != nil && c.Kind == CallStatic {
				p.callers[c.Fn] = true
			}
		}
	}
}

func (p *Program) fn(id string) *Func { return p.funcs[id] }

func (p *Program) method(typ, name string) *Method { return p.methods[typ][name] }

func (p *Program) parse(text string) []sqltext.Statement {
	if s, ok := p.sql[text]; ok {
		return s
	}
	s := sqltext.Parse(text)
	p.sql[text] = s
	return s
}

func (s *scope) dedupTable(name string) bool {
	return name != "" && sqltext.IsDedupName(name, s.DedupTables()...)
}

// marks reports whether a check asks a dedup table.
func (p *Program) marks(s *site) bool { return p.scopeOf(s.chain).dedupTable(s.Table) }

// std reports whether a function is the standard library's.
func (p *Program) std(id, pkg string) bool {
	if pkg == "" {
		return false
	}
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".") && p.funcs[id] == nil && first != "command-line-arguments" && stdRoot(first)
}

func stdRoot(s string) bool {
	switch s {
	case "archive", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database", "debug", "embed", "encoding",
		"errors", "expvar", "flag", "fmt", "go", "hash", "html", "image", "index", "io", "iter", "log", "maps", "math", "mime", "net", "os",
		"path", "plugin", "reflect", "regexp", "runtime", "slices", "sort", "strconv", "strings", "structs", "sync", "syscall", "testing",
		"text", "time", "unicode", "unique", "unsafe", "weak", "internal":
		return true
	}
	return false
}

// nilID is the UUID that is none, as text.
const nilID = "00000000-0000-0000-0000-000000000000"

// globalValue is what a package variable holds.
func (p *Program) globalValue(name string) *Value {
	pkg, v := splitType(name)
	sym := know.Sym{Pkg: know.Normal(pkg), Name: v}
	switch {
	case know.NoRows[sym]:
		return errVal(errNoRows, Taint{})
	case know.UniqueViolation[sym]:
		return errVal(errUnique, Taint{})
	case know.NilID[sym]:
		return strVal(nilID, Taint{})
	}
	g := p.globals[name]
	if g == nil {
		return nil
	}
	switch {
	case g.Err:
		return errVal("G|"+name, Taint{})
	case g.C.Kind == CString:
		return strVal(g.C.S, Taint{})
	case g.C.Kind == CInt:
		return &Value{K: VInt, I: g.C.I}
	case g.C.Kind == CFunc:
		return &Value{K: VFunc, S: g.C.S}
	}
	return nil
}

// symOf splits a function's id for look-ups in know.
func (p *Program) symOf(id string) (pkg, recv, name string) {
	slash := strings.LastIndexByte(id, '/')
	parts := strings.Split(id[slash+1:], ".")
	head := id[:slash+1]
	// The last element of an import path may hold dots: go.uuid, yaml.v3.
	switch {
	case len(parts) < 2:
		return "", "", id
	case len(parts) == 2:
		return know.Normal(head + parts[0]), "", parts[1]
	}
	last := parts[len(parts)-1]
	r := parts[len(parts)-2]
	if r != "" && r[0] >= 'A' && r[0] <= 'Z' {
		return know.Normal(head + strings.Join(parts[:len(parts)-2], ".")), r, last
	}
	return know.Normal(head + strings.Join(parts[:len(parts)-1], ".")), "", last
}

// rowOfFunc is what is known of a function that is used as a value.
func (w *walker) rowOfFunc(id string) *know.Row {
	if w.in.prog.funcs[id] != nil {
		return nil
	}
	pkg, recv, name := w.in.prog.symOf(id)
	return w.know().Lookup(know.Sym{Pkg: pkg, Recv: recv, Name: name})
}

// tableOf is the table of an ORM's model type.
func (p *Program) tableOf(typ string) string {
	if t, ok := p.tnames[typ]; ok {
		return t
	}
	t := ""
	if m := p.method(typ, "TableName"); m != nil {
		if f := p.fn(m.Fn); f != nil {
			for _, b := range f.Blocks {
				for _, in := range b.Instrs {
					if in.Op == OpReturn && len(in.Args) == 1 && in.Args[0] < 0 {
						if c := f.Consts[^in.Args[0]]; c.Kind == CString {
							t = c.S
						}
					}
				}
			}
		}
	}
	if g := p.globals[tableTag(typ)]; t == "" && g != nil {
		t = g.C.S
	}
	if t == "" {
		_, name := splitType(typ)
		t = plural(snake(name))
	}
	p.tnames[typ] = t
	return t
}

func plural(s string) string {
	switch {
	case s == "":
		return ""
	case strings.HasSuffix(s, "y") && len(s) > 1 && !strings.ContainsRune("aeiou", rune(s[len(s)-2])):
		return s[:len(s)-1] + "ies"
	case strings.HasSuffix(s, "s"), strings.HasSuffix(s, "x"), strings.HasSuffix(s, "ch"):
		return s + "es"
	}
	return s + "s"
}
