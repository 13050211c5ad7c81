package know

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Config is what a project adds to the tables. Functions are named PACKAGE.Func or PACKAGE.Type.Method, types
// PACKAGE.Type, packages by their import path, which stands for all below it, too. Major versions in a path do not
// count, see [Normal].
type Config struct {
	Guards      []string // functions that are the processed-event check
	DedupTables []string // tables that remember which events have been handled, without their schema
	Messages    []string // types in which messages come
	Handlers    []string // functions that get events, and interfaces whose every implementation does
	Clients     []string // FUNCTION=WHAT or FUNCTION=WHAT:ARGUMENT, see [ParseClient]
	MoneyWords  []string // words that say that money moves
	EventIDs    []string // names of an event's id: of fields, parameters, map keys, headers
	Trust       []string // packages that are not looked into: they have no effect
	Skip        []string // packages in which nothing is reported
}

// Tables are the tables of this package with what a [Config] adds to them. The nil Tables are those of this package
// alone. A Tables value does not change: it only remembers what it was asked, since the same few names are asked for at
// every step of a run.
type Tables struct {
	guards   map[Sym]bool
	dedup    []string
	messages map[typeName]bool
	handlers []string
	rows     map[Sym]*Row
	seeds    []string
	money    map[string]bool
	ids      map[string]bool
	trust    []string
	skip     []string

	eventIDs, dedupKeys, libraries answers
}

// answers are what a question about a name was answered with.
type answers struct{ known sync.Map }

func (a *answers) of(name string, ask func() bool) bool {
	if v, ok := a.known.Load(name); ok {
		return v.(bool)
	}
	v := ask()
	a.known.Store(name, v)
	return v
}

// Begins reports whether the configuration adds anything with which a rule begins: a message, a way to come by one, or the
// name of an event's id.
func (c Config) Begins() bool {
	return len(c.Messages)+len(c.Handlers)+len(c.Clients)+len(c.EventIDs) > 0
}

type typeName struct{ pkg, name string }

// Extend adds a configuration to the tables. Of an entry that cannot be read the error says how it is to be written.
func Extend(c Config) (*Tables, error) {
	t := &Tables{guards: make(map[Sym]bool), messages: make(map[typeName]bool), rows: make(map[Sym]*Row), money: make(map[string]bool), ids: make(map[string]bool),
		dedup: c.DedupTables, handlers: c.Handlers, trust: normals(c.Trust), skip: c.Skip}
	for _, s := range c.Guards {
		sym, err := ParseFunc(s)
		if err != nil {
			return nil, err
		}
		t.guards[sym] = true
		t.seeds = append(t.seeds, sym.Pkg)
	}
	for _, s := range c.Messages {
		pkg, name, err := ParseType(s)
		if err != nil {
			return nil, err
		}
		t.messages[typeName{pkg, name}] = true
		t.seeds = append(t.seeds, pkg)
	}
	for _, s := range c.Clients {
		row, err := ParseClient(s)
		if err != nil {
			return nil, err
		}
		t.rows[Sym{row.Pkg, row.Recv, row.Name}] = row
		t.seeds = append(t.seeds, row.Pkg)
	}
	for _, s := range c.Handlers {
		pkg, _, err := ParseType(s) // An interface and a function of a package look alike.
		if sym, ferr := ParseFunc(s); ferr == nil {
			pkg, err = sym.Pkg, nil
		}
		if err != nil {
			return nil, err
		}
		t.seeds = append(t.seeds, pkg)
	}
	for _, s := range c.MoneyWords {
		t.money[strings.ToLower(s)] = true
	}
	for _, s := range c.EventIDs {
		t.ids[flat(s)] = true
	}
	return t, nil
}

func normals(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = Normal(strings.TrimSuffix(p, "/..."))
	}
	return out
}

// ParseFunc reads PACKAGE.Func, PACKAGE.Type.Method or PACKAGE.(*Type).Method; the last form is needed where the type is not
// exported. The package of the result is normalised.
func ParseFunc(s string) (Sym, error) {
	if pkg, rest, ok := strings.Cut(s, ".("); ok {
		recv, name, ok := strings.Cut(strings.TrimPrefix(rest, "*"), ").")
		if ok && pkg != "" && identifier(recv) && identifier(name) {
			return Sym{Normal(pkg), recv, name}, nil
		}
	}
	names, pkg := split(s)
	if pkg == "" {
		return Sym{}, fmt.Errorf("%q names no function; write it with its import path: example.com/dedup.Seen, or example.com/dedup.Store.Seen for a method", s)
	}
	sym := Sym{Pkg: pkg, Name: names[len(names)-1]}
	if len(names) == 2 {
		sym.Recv = names[0]
	}
	return sym, nil
}

// ParseType reads PACKAGE.Type. The package of the result is normalised.
func ParseType(s string) (pkg, name string, err error) {
	names, pkg := split(strings.TrimPrefix(s, "*"))
	if pkg == "" || len(names) != 1 {
		return "", "", fmt.Errorf("%q names no type; write it with its import path: example.com/bus.Message", s)
	}
	return pkg, names[0], nil
}

// split takes the identifiers off the end of an import path.
func split(s string) (names []string, pkg string) {
	slash := strings.LastIndexByte(s, '/') + 1
	rest := s[slash:]
	for len(names) < 2 {
		i := strings.LastIndexByte(rest, '.')
		if i <= 0 || !identifier(rest[i+1:]) {
			break
		}
		// The last element of an import path may hold dots: go.uuid, yaml.v3.
		if len(names) == 1 && !upper(rest[i+1:]) {
			break
		}
		names, rest = append([]string{rest[i+1:]}, names...), rest[:i]
	}
	if len(names) == 0 || strings.ContainsAny(s, " \t=,") {
		return nil, ""
	}
	return names, Normal(s[:slash] + rest)
}

func identifier(s string) bool {
	for i, r := range s {
		if r != '_' && !('a' <= r && r <= 'z') && !('A' <= r && r <= 'Z') && r < 0x80 && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func upper(s string) bool { return 'A' <= s[0] && s[0] <= 'Z' }

// whats are what a configured client's function may do.
var whats = []struct {
	name string
	kind Kind
}{
	{"poll", Consumed}, {"autocommit", AutoRead}, {"ack", Ack}, {"nack", Nack}, {"register", Register}, {"each", Each},
	{"middleware", Middleware}, {"produce", Produce}, {"effect", OtherWrite}, {"silent", Silent},
}

// ParseClient reads FUNCTION=WHAT or FUNCTION=WHAT:ARGUMENT, where ARGUMENT is the index, from 0 after the receiver, of the
// argument that is the message or the function. What each word means is said at [Kind]: poll is Consumed, autocommit
// AutoRead, effect OtherWrite, and the others are the kinds of their names.
func ParseClient(s string) (*Row, error) {
	fn, what, ok := strings.Cut(s, "=")
	words := make([]string, 0, len(whats))
	for _, w := range whats {
		words = append(words, w.name)
	}
	if !ok {
		return nil, fmt.Errorf("%q does not say what the function does; write %s=WHAT, where WHAT is one of %s", s, s, strings.Join(words, ", "))
	}
	sym, err := ParseFunc(fn)
	if err != nil {
		return nil, err
	}
	name, index, hasArg := strings.Cut(what, ":")
	i := slices.Index(words, name)
	if i < 0 {
		return nil, fmt.Errorf("%q: a function of a client does one of %s, not %q", s, strings.Join(words, ", "), name)
	}
	row := &Row{Pkg: sym.Pkg, Recv: sym.Recv, Name: sym.Name, Kind: whats[i].kind, Arg: -1, Arg2: -1}
	if row.Kind == Each || row.Kind == Produce {
		row.Arg = 0
	}
	if hasArg {
		if row.Arg, err = strconv.Atoi(index); err != nil || row.Arg < 0 {
			return nil, fmt.Errorf("%q: %q is no index of an argument; the first after the receiver is 0", s, index)
		}
	}
	return row, nil
}

// Lookup is [Lookup] with the configured clients, which come first.
func (t *Tables) Lookup(s Sym) *Row {
	if t != nil {
		if r := t.rows[s]; r != nil {
			return r
		}
	}
	return Lookup(s)
}

// MessageOf is [MessageOf] with the configured types.
func (t *Tables) MessageOf(pkg, name string) (ok, batch bool) {
	if t != nil && t.messages[typeName{pkg, name}] {
		return true, false
	}
	return MessageOf(pkg, name)
}

// FieldRole is [FieldRole], and goes by names for the fields of a configured type.
func (t *Tables) FieldRole(pkg, typ, name string) Role {
	if t != nil && t.messages[typeName{pkg, typ}] {
		switch flat(name) {
		case "offset":
			return RoleOffset
		case "partition":
			return RolePartition
		case "topic":
			return RoleTopic
		case "key":
			return RoleKey
		case "value", "payload", "body", "data":
			return RoleValue
		case "headers", "header", "metadata", "attributes":
			return RoleHeaders
		case "timestamp", "time":
			return RoleTime
		}
		return NoRole
	}
	return FieldRole(pkg, typ, name)
}

// Guard reports whether a function is configured to be the processed-event check.
func (t *Tables) Guard(pkg, recv, name string) bool {
	return t != nil && t.guards[Sym{Normal(pkg), recv, name}]
}

// DedupTables are the configured tables.
func (t *Tables) DedupTables() []string {
	if t == nil {
		return nil
	}
	return t.dedup
}

// Handlers are the configured handlers: functions, and interfaces.
func (t *Tables) Handlers() []string {
	if t == nil {
		return nil
	}
	return t.handlers
}

// EventID is [EventID] with the configured names.
func (t *Tables) EventID(name string) bool {
	if t == nil {
		return EventID(name)
	}
	return t.eventIDs.of(name, func() bool { return len(t.ids) > 0 && t.ids[flat(name)] || EventID(name) })
}

// DedupKey is [DedupKey] with the configured names of ids.
func (t *Tables) DedupKey(name string) bool {
	if t == nil {
		return DedupKey(name)
	}
	return t.dedupKeys.of(name, func() bool { return len(t.ids) > 0 && t.ids[flat(name)] || DedupKey(name) })
}

// Library is [Library] with the packages that are trusted.
func (t *Tables) Library(pkg string) bool {
	if t == nil {
		return Library(pkg)
	}
	return t.libraries.of(pkg, func() bool { return t.Trusted(pkg) || Library(pkg) })
}

// Trusted reports whether a package is configured to be taken at its word.
func (t *Tables) Trusted(pkg string) bool { return t != nil && underAny(Normal(pkg), t.trust) }

// Skipped reports whether nothing is to be reported in a package.
func (t *Tables) Skipped(pkg string) bool {
	if t == nil {
		return false
	}
	pkg, _, _ = strings.Cut(strings.TrimSuffix(pkg, "_test"), " ")
	return slices.ContainsFunc(t.skip, func(s string) bool {
		root, _ := strings.CutSuffix(s, "/...")
		return Under(pkg, root)
	})
}

// Seed reports whether a package makes its dependants worth looking at, by its own path or its normalised one: it is one of
// [Seeds], or something in it is configured.
func (t *Tables) Seed(pkg string) bool {
	norm := Normal(pkg)
	for _, s := range Seeds {
		if Under(pkg, s) || Under(norm, s) {
			return true
		}
	}
	return t != nil && slices.Contains(t.seeds, norm)
}

func underAny(pkg string, roots []string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return Under(pkg, r) })
}
