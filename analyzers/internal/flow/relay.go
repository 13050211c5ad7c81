package flow

import (
	"slices"
	"sort"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// Outbox relays: the id of a stored row is an event's id when something reads the row back and sends its id under the
// name of an event's id. A run that looks for that follows the ids of rows, by the type they are read into and the
// column they are read from, to such a name, and from there into what is sent.

// relays are the ids of rows that are sent as an event's id, and by whom: "F|type|field" and "T|table|column".
type relays map[string][]relay

type relay struct {
	at   Pos
	root *Func // the function that was run
}

// relayRun is what such a run keeps.
type relayRun struct {
	sent  relays
	named bool // something has got the name of an event's id
	root  *Func
}

const (
	relaySteps = 40_000
	relayRuns  = 200 // of functions
	relayUp    = 4   // callers of callers
)

// Relayed is where the id that a sink stores is sent as an event's id; ok is false when nothing in sight does.
func (p *Program) Relayed(s Sink) (at Pos, ok bool) {
	key := ""
	switch s.Kind {
	case SinkField:
		if s.Flags&(FieldOutboxID|FieldRowID) == 0 {
			return Pos{}, false
		}
		key = "F|" + s.Owner + "|" + s.Name
	case SinkColumn:
		key = tableKey(s.Owner, s.Name)
	default:
		return Pos{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.relays == nil {
		p.relays = p.findRelays()
	}
	found := p.relays[key]
	if len(found) == 0 && s.Kind == SinkField {
		found = p.relays["F|"+s.Owner+"|*"]
	}
	for _, r := range found {
		// Tables of one name are one table in one program.
		if s.Kind == SinkField || p.together(s.Fn.Pkg, r.root.Pkg) {
			return r.at, true
		}
	}
	return Pos{}, false
}

// together reports whether two packages are parts of one program: one of them, or a third, leads to both.
func (p *Program) together(a, b string) bool {
	if a == b {
		return true
	}
	if p.leads == nil {
		p.leads = p.packageCalls()
	}
	for pkg := range p.leads {
		seen := map[string]bool{pkg: true}
		work := []string{pkg}
		for len(work) > 0 {
			n := work[len(work)-1]
			work = work[:len(work)-1]
			for to := range p.leads[n] {
				if !seen[to] {
					seen[to] = true
					work = append(work, to)
				}
			}
		}
		if seen[a] && seen[b] {
			return true
		}
	}
	return false
}

// packageCalls are the packages whose functions a package's functions mention.
func (p *Program) packageCalls() map[string]map[string]bool {
	out := make(map[string]map[string]bool)
	for _, f := range p.funcs {
		if f.Test {
			continue
		}
		if out[f.Pkg] == nil {
			out[f.Pkg] = make(map[string]bool)
		}
		note := func(id string) {
			if to := p.funcs[id]; to != nil && to.Pkg != f.Pkg {
				out[f.Pkg][to.Pkg] = true
			}
		}
		for _, c := range f.Consts {
			if c.Kind == CFunc {
				note(c.S)
			}
		}
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				switch in := &f.Blocks[bi].Instrs[ii]; {
				case in.Call != nil && in.Call.Kind == CallStatic:
					note(in.Call.Fn)
				case in.Op == OpMethodVal && in.N == 0, in.Op == OpClosure:
					note(in.S)
				}
			}
		}
	}
	return out
}

func tableKey(table, column string) string {
	return "T|" + strings.ToLower(table) + "|" + strings.ReplaceAll(strings.ToLower(column), "_", "")
}

// findRelays runs the functions that name an event's id, and their callers as long as that shows no row's id being sent.
func (p *Program) findRelays() relays {
	out := make(relays)
	var ids []string
	for id, f := range p.funcs {
		if !f.Test && !f.Gen && p.namesID(f) {
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	seen := make(map[string]bool)
	for range relayUp {
		var up []string
		for _, id := range ids {
			f := p.fn(id)
			if f == nil || seen[id] || f.Test || len(seen) >= relayRuns {
				continue
			}
			seen[id] = true
			in := newInterp(p, World{})
			in.limit, in.rows = relaySteps, &relayRun{sent: make(relays), root: f}
			in.try(Root{Fn: f, Kind: RootParam})
			for key, r := range in.rows.sent {
				out[key] = append(out[key], r...)
			}
			if in.rows.named && len(in.rows.sent) == 0 {
				up = append(up, p.callersOf(id)...)
			}
		}
		slices.Sort(up)
		ids = slices.Compact(up)
	}
	return out
}

// namesID reports whether a function may give something the name of an event's id.
func (p *Program) namesID(f *Func) bool {
	if p.namesEventID(f) {
		return true
	}
	for bi := range f.Blocks {
		for ii := range f.Blocks[bi].Instrs {
			in := &f.Blocks[bi].Instrs[ii]
			switch {
			case in.Op == OpFieldAddr && in.N&FieldEventID != 0 && f.storesTo(in.Dst):
				return true
			case in.Op == OpMakeIface && outboxEvent(in.S):
				return true
			case in.Call == nil:
			case len(in.Call.KeyParams) > 0:
				return true
			default:
				row := know.Lookup(know.Sym{Pkg: in.Call.Pkg, Recv: in.Call.Recv, Name: in.Call.Name})
				if row != nil && (row.Kind == know.NewMessage || row.Kind == know.EventIDSink) {
					return true
				}
			}
		}
	}
	return false
}

// outboxEvent reports whether a type is an event or message that is named as a row of the outbox.
func outboxEvent(typ string) bool {
	_, name := splitType(typ)
	return outboxName(name) && know.EventType(name)
}

// rowID is a value read from a field, with the origin that says so when it may be a row's id.
func (w *walker) rowID(addr, v *Value) *Value {
	fa := addr.fa
	if w.in.rows == nil || fa == nil || v.K != VTop {
		return v
	}
	// Of a row the column that the field is named after; where none is, any of them.
	var srcs, other []*Src
	for _, s := range v.T.Srcs {
		switch i := strings.LastIndexByte(s.What, '|'); {
		case s.Bit != FromStored:
			srcs = append(srcs, s)
		case s.What[0] != 'T':
		case s.What[i:] == "|*":
			n := *s
			n.What = tableKey(s.What[2:i], fa.S)
			srcs = append(srcs, &n)
		case strings.EqualFold(s.What[i+1:], fa.S):
			srcs, other = append(srcs, s), nil
		default:
			other = append(other, s)
		}
	}
	if !slices.ContainsFunc(srcs, func(s *Src) bool { return s.Bit == FromStored }) {
		srcs = append(srcs, other...)
	}
	if isIDName(fa.S) && fa.S2 != "" {
		srcs = append(srcs, &Src{Bit: FromStored, Pos: fa.Pos, Enter: fa.Pos, What: "F|" + fa.S2 + "|" + fa.S})
	}
	if len(srcs) == 0 {
		return v
	}
	c := *v
	c.T = Taint{Bits: v.T.Bits | FromStored, Srcs: srcs}
	return &c
}

// column is the origin of what is read from a column of a table; "*" stands for all of them.
func (w *walker) column(table, col string) Taint {
	if w.in.rows == nil || table == "" || hasHole(table) {
		return Taint{}
	}
	key := "T|" + table + "|*"
	if col != "*" {
		key = tableKey(table, col)
	}
	return Taint{Bits: FromStored, Srcs: []*Src{{Bit: FromStored, Pos: Pos{File: key, Line: 1}, What: key}}}
}

// columns are the origins of what a statement gives: of its i-th column, or of all for a negative i.
func (w *walker) columns(st *sqltext.Statement, i int) Taint {
	if w.in.rows == nil || st == nil {
		return Taint{}
	}
	table := st.Table.Name
	if table == "" && len(st.From) > 0 {
		table = st.From[0].Table.Name
	}
	if i < 0 {
		return w.column(table, "*")
	}
	cols := st.Returning
	if st.Kind == sqltext.Select {
		cols = nil
		for _, o := range st.Outputs {
			cols = append(cols, o.Name)
		}
	}
	if i >= len(cols) || slices.Contains(cols, "*") {
		return Taint{}
	}
	return w.column(table, cols[i])
}

// asEventID is a value that gets the name of an event's id.
func (w *walker) asEventID(v *Value) *Value {
	if w.in.rows == nil {
		return v
	}
	w.in.rows.named = true
	var t Taint
	for _, s := range w.deep(v).Srcs {
		if s.Bit == FromStored {
			n := *s
			n.Bit = FromRelayed
			t = t.join(Taint{Bits: FromRelayed, Srcs: []*Src{&n}})
		}
	}
	if t.Bits == 0 {
		return v
	}
	c := *v
	c.T = t
	return &c
}

// relayed looks at what is sent.
func (w *walker) relayed(at Pos, vals []*Value) {
	if w.in.rows == nil {
		return
	}
	var t Taint
	for _, v := range vals {
		if v != nil {
			t = t.join(w.deep(v))
		}
	}
	stored := false // in a table or type that is named as one of events
	for _, s := range t.Srcs {
		stored = stored || s.Bit == FromRelayed && storesEvents(s.What)
	}
	for _, s := range t.Srcs {
		if sent := w.in.rows.sent; s.Bit == FromRelayed && stored && sent[s.What] == nil {
			sent[s.What] = []relay{{at, w.in.rows.root}}
		}
	}
}

// storesEvents reports whether the table or type of a row is named as one that keeps events to be sent.
func storesEvents(key string) bool {
	name := key[2:strings.LastIndexByte(key, '|')]
	if key[0] == 'T' {
		return outboxTable(name) || know.EventType(strings.TrimSuffix(name, "s"))
	}
	_, name = splitType(name)
	return outboxName(name) || know.EventType(name)
}

// wholeRow is a row of the outbox that is encoded as it is: its id is the id of the message.
func (w *walker) wholeRow(typ string, out []exit) {
	if w.in.rows == nil || !outboxEvent(typ) {
		return
	}
	w.in.rows.named = true
	t := Taint{Bits: FromRelayed, Srcs: []*Src{{Bit: FromRelayed, Pos: Pos{File: typ, Line: 1}, What: "F|" + typ + "|*"}}}
	for i := range out {
		if len(out[i].vals) > 0 {
			out[i].vals[0] = out[i].vals[0].with(t)
		}
	}
}

// publishes reports whether a method whose body is not in sight sends what it is given, by the names of the method and of
// its type.
func publishes(typ, name string) bool {
	words := know.Words(name)
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "publish", "produce", "emit":
		return true
	case "send", "write", "dispatch":
	default:
		return false
	}
	for _, x := range know.Words(shortName(typ)) {
		switch x {
		case "publisher", "producer", "bus", "emitter", "broker", "kafka", "dispatcher", "sender":
			return true
		}
	}
	return false
}

// producedType reports whether a value of the type is sent when it is put into a channel.
func producedType(typ string) bool {
	pkg, name := splitType(typ)
	if pkg = know.Normal(pkg); pkg == "github.com/IBM/sarama" {
		return name == "ProducerMessage"
	}
	msg, _ := know.MessageOf(pkg, name)
	return msg
}
