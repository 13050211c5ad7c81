package sqltext

import "strings"

// A KeyFault says why a table cannot tell a second delivery of an event from the first.
type KeyFault uint8

// The faults.
const (
	NoKey         KeyFault = iota + 1 // no primary or unique key on the event's id
	KeyVaries                         // the key holds a column that differs on every try, so it never conflicts
	RandomDefault                     // the event's id is made up when it is not given
)

// A KeyProblem is a fault of one definition.
type KeyProblem struct {
	Fault      KeyFault
	Definition *Definition
	Column     string // the id's; of KeyVaries the column that differs
	Key        Key    // of KeyVaries
	// Given says, for KeyVaries, that every INSERT seen gives the column a parameter in spite of its default: then
	// it differs only if the argument does.
	Given bool
}

// KeyProblems tells what is wrong with the keys of a table that is to remember events; nothing where not all of its
// columns are known. The columns of the event's id can be given by those who know them, else they go by their names.
func (t *Table) KeyProblems(eventID ...string) []KeyProblem {
	var out []KeyProblem
	for _, d := range t.Definitions {
		if d.Open {
			continue
		}
		if p := t.keyProblem(d, eventID); p != nil {
			out = append(out, *p)
		}
	}
	return out
}

func (t *Table) keyProblem(d *Definition, eventID []string) *KeyProblem {
	ids := d.eventIDs(t.Name, eventID)
	if len(ids) == 0 {
		return nil
	}
	for _, id := range ids {
		if c := d.column(id); c != nil && c.HasDefault && c.Default.Random() {
			if len(eventID) == 0 && !IsEventIDColumn(id) && t.otherKey(d, id) {
				return nil // the row's own id, beside the key that tells events apart
			}
			return &KeyProblem{Fault: RandomDefault, Definition: d, Column: id}
		}
	}
	var varies *KeyProblem
	keyed := ids
	if len(eventID) == 0 {
		keyed = append(keyed[:len(keyed):len(keyed)], d.otherIDs(t.Name, ids)...)
	}
	for _, k := range d.Keys {
		if !k.holdsOne(keyed) {
			continue
		}
		col, given := t.varying(d, k)
		if col == "" {
			return nil
		}
		if varies == nil || varies.Given && !given {
			varies = &KeyProblem{Fault: KeyVaries, Definition: d, Column: col, Key: k, Given: given}
		}
	}
	if varies != nil {
		return varies
	}
	return &KeyProblem{Fault: NoKey, Definition: d, Column: ids[0]}
}

// otherKey reports whether a key without the column tells rows apart by what they are given.
func (t *Table) otherKey(d *Definition, column string) bool {
	for _, k := range d.Keys {
		if col, _ := t.varying(d, k); !k.has(column) && col == "" && len(k.Columns) > 0 {
			return true
		}
	}
	return false
}

// otherIDs finds columns that may be the event's id where those found by name may not: beside a fingerprint of the
// request, a bare key.
func (d *Definition) otherIDs(table Name, ids []string) []string {
	for _, id := range ids {
		for _, w := range words(id) {
			switch w {
			case "event", "message", "msg", "evt", "idempotency", "eventid", "messageid":
				return nil
			}
		}
	}
	return d.pick(func(c ColumnDef) bool {
		return !c.AutoNumber && !(c.HasDefault && c.Default.Random()) && IsEventIDColumnIn(table, c.Name)
	})
}

// holdsOne tells whether the key is on one of the columns, or on an expression, which may be of one.
func (k Key) holdsOne(columns []string) bool {
	for _, c := range columns {
		if k.has(c) {
			return true
		}
	}
	return k.has("")
}

// eventIDs finds the columns that hold the event's id: by the names given, by names that say so, else by any that end
// in id, key or hash and are not counted up by the database.
func (d *Definition) eventIDs(table Name, given []string) []string {
	if len(given) > 0 {
		return d.pick(func(c ColumnDef) bool {
			for _, g := range given {
				if strings.EqualFold(g, c.Name) {
					return true
				}
			}
			return false
		})
	}
	if ids := d.pick(func(c ColumnDef) bool { return IsEventIDColumn(c.Name) }); len(ids) > 0 {
		return ids
	}
	if ids := d.pickGiven(func(c ColumnDef) bool { return IsEventIDColumnIn(table, c.Name) }); len(ids) > 0 {
		return ids
	}
	return d.pickGiven(func(c ColumnDef) bool {
		ws := words(c.Name)
		return len(ws) > 0 && isIDWord(singular(ws[len(ws)-1]))
	})
}

// pickGiven picks columns that are not counted up by the database, those that it makes up only where there is no other.
func (d *Definition) pickGiven(is func(ColumnDef) bool) []string {
	ids := d.pick(func(c ColumnDef) bool { return !c.AutoNumber && !(c.HasDefault && c.Default.Random()) && is(c) })
	if len(ids) > 0 {
		return ids
	}
	return d.pick(func(c ColumnDef) bool { return !c.AutoNumber && is(c) })
}

func (d *Definition) pick(is func(ColumnDef) bool) []string {
	var out []string
	for _, c := range d.Columns {
		if is(c) {
			out = append(out, c.Name)
		}
	}
	return out
}

// varying names a column of the key that differs on every try: counted up, made up, or the time at which the row is
// written.
func (t *Table) varying(d *Definition, k Key) (column string, given bool) {
	for _, name := range k.Columns {
		c := d.column(name)
		if c == nil {
			continue
		}
		if c.AutoNumber {
			return name, false
		}
		byDefault := c.HasDefault && (c.Default.Random() || c.Default.Now() && !c.Default.truncated())
		switch t.inserted(name) {
		case insertedFresh:
			return name, false
		case insertedParam:
			if byDefault {
				column, given = name, true
			}
		default:
			if byDefault {
				return name, false
			}
		}
	}
	return column, given
}

type inserted uint8

const (
	insertedNever inserted = iota // by no INSERT seen, or not by all of them
	insertedParam
	insertedFresh // one INSERT puts the time of the database or a made-up value there
)

// inserted tells what the INSERTs seen put into a column.
func (t *Table) inserted(column string) inserted {
	all := len(t.inserts) > 0
	for _, in := range t.inserts {
		found := len(in.columns) == 0
		for i, c := range in.columns {
			if !strings.EqualFold(c, column) {
				continue
			}
			for _, v := range in.values[i] {
				switch {
				case v.Random(), v.Now() && !v.truncated():
					return insertedFresh
				case v.Class == DefaultExpr:
				default:
					found = true
				}
			}
		}
		all = all && found
	}
	if all {
		return insertedParam
	}
	return insertedNever
}

// HoldsOnlyMarks tells whether every column is an id, the name of a consumer, a time, a position in the log, or says
// which kind of event it was.
func (d *Definition) HoldsOnlyMarks() bool {
	if d.Open {
		return false
	}
	for _, c := range d.Columns {
		if !isMarkColumn(c) {
			return false
		}
	}
	return true
}

// IsWorkQueue tells whether a column holds a payload, a state of processing or a result.
func (d *Definition) IsWorkQueue() bool {
	for _, c := range d.Columns {
		if isWorkColumn(c) {
			return true
		}
	}
	return false
}

func isMarkColumn(c ColumnDef) bool {
	if isWorkColumn(c) {
		return false
	}
	if IsTimeColumn(c.Name) || IsEventIDColumn(c.Name) {
		return true
	}
	for _, w := range words(c.Name) {
		w = singular(w)
		if isIDWord(w) {
			return true
		}
		switch w {
		case "consumer", "group", "handler", "listener", "subscriber", "subscription", "service", "processor",
			"application", "app", "module", "worker", "instance", "node", "host", "topic", "partition", "offset",
			"stream", "channel", "position", "sequence", "seq", "lsn", "shard", "tenant", "version", "source", "origin",
			"producer", "type", "name", "aggregate", "entity", "subject", "cluster", "scope", "namespace", "fingerprint",
			"epoch", "context":
			return true
		}
	}
	return false
}

func isWorkColumn(c ColumnDef) bool {
	ws := words(c.Name)
	if len(ws) == 0 || IsEventIDColumn(c.Name) {
		return false
	}
	switch typ := strings.ToLower(c.Type); {
	case strings.HasPrefix(typ, "json"), strings.HasPrefix(typ, "bool"):
		return true
	}
	if IsTimeColumn(c.Name) {
		w := ws[0]
		return w == "retry" || w == "next" || w == "locked" || w == "available" || w == "lease" || w == "claimed"
	}
	if isIDWord(singular(ws[len(ws)-1])) {
		return false
	}
	for _, w := range ws {
		switch singular(w) {
		case "payload", "body", "data", "content", "status", "state", "attempt", "retry", "error", "response", "result",
			"header", "value", "locked", "lease", "owner", "priority", "message", "event", "document", "request":
			last := singular(ws[len(ws)-1]) // event_type, message_name
			return len(ws) == 1 || last != "type" && last != "name" && last != "version"
		}
	}
	return false
}
