package sqltext

import (
	"slices"
	"strings"
)

// A Schema is the tables of a module, gathered from migrations and string constants in the order they are added. Its
// zero value is empty and ready. It is not safe for use by several goroutines at once.
type Schema struct {
	tables   map[string][]*Table // by lower-case name, without schema
	order    []*Table
	parents  map[string]Name // a partition's lower-case name to its parent
	pending  []placed        // changes of tables that have not been created yet
	cleanups []Cleanup
}

// A Table is all the CREATE TABLEs of one name: a module's tables of one name are one table.
type Table struct {
	Name Name
	// Definitions are in the order they were added; those of a table that has been dropped since are left out.
	Definitions []*Definition

	inserts []insertion
}

// A Definition is one CREATE TABLE, with what later ALTER TABLE and CREATE INDEX made of it.
type Definition struct {
	Name Name
	Position
	Columns []ColumnDef
	Keys    []Key

	PartitionBy      string // range, list, hash; "" when not partitioned
	PartitionColumns []string

	// Open says that not all of the columns and keys are known.
	Open bool
	// Expires says that the database removes old rows by itself (ttl_expire_after).
	Expires bool
}

// A Position is where a statement stands.
type Position struct {
	File   string // as given to Add
	Offset int    // in the text given to Add, in bytes
	Line   int    // in that text, from 1
}

// placed is a statement with its file.
type placed struct {
	st  Statement
	pos Position
}

// insertion says what one INSERT puts into which column.
type insertion struct {
	columns []string
	values  [][]Expr // by column
}

// A CleanupKind says how a table loses its old rows.
type CleanupKind uint8

// The kinds of cleanup.
const (
	DeleteByTime      CleanupKind = iota + 1 // DELETE ... WHERE processed_at < ...
	PartitionDrop                            // DROP TABLE, DETACH PARTITION or drop_chunks of a partition
	PartitionByTool                          // pg_partman or a retention policy
	ExpiryByDatabase                         // the table's own time to live
	UnknownTableDrops                        // DROP TABLE of a name nobody knows, which may be a partition's
)

// A Cleanup is one statement that removes old rows.
type Cleanup struct {
	Kind  CleanupKind
	Table Name // the parent, when a partition is dropped
	Position
	Scheduled bool   // told to the database: cron.schedule, CREATE EVENT
	Routine   string // the SQL function it stands in; "" when in none
	Query     string // its name in a file of sqlc's; "" without
}

// Add reads a .sql file or a string constant. What a migration takes back when it is undone is passed over, see
// WithoutDown. Offsets and lines count from the start of the text.
func (s *Schema) Add(file, text string) {
	for _, st := range Parse(WithoutDown(file, text)) {
		s.AddStatement(file, st)
	}
}

// AddStatement takes a statement that has been parsed already.
func (s *Schema) AddStatement(file string, st Statement) {
	if s.tables == nil {
		s.tables, s.parents = make(map[string][]*Table), make(map[string]Name)
	}
	s.apply(placed{st, Position{file, st.Offset, st.Line}}, context{})
}

// A context says under which circumstances a statement runs.
type context struct {
	scheduled bool
	routine   string
	query     string
}

func (s *Schema) apply(p placed, c context) {
	if c.query == "" {
		c.query = p.st.Query
	}
	switch p.st.Kind {
	case CreateTable:
		s.create(p)
	case CreatePartition:
		s.parents[strings.ToLower(p.st.Table.Name)] = p.st.Def.PartitionOf
	case AlterTable, CreateIndex, DropIndex:
		s.change(p)
	case DropTable:
		s.drop(p, c)
	case DropPartition:
		s.clean(Cleanup{Kind: PartitionDrop, Table: s.parent(p.st.Table)}, p, c)
	case PartitionCare:
		s.clean(Cleanup{Kind: PartitionByTool, Table: p.st.Table}, p, c)
	case Schedule, Routine:
		c.scheduled = c.scheduled || p.st.Kind == Schedule
		if p.st.Kind == Routine {
			c.routine = p.st.Routine
		}
		for _, inner := range p.st.Body {
			s.apply(placed{inner, Position{p.pos.File, inner.Offset, inner.Line}}, c)
		}
	default:
		for _, part := range p.st.Parts() {
			s.note(*part, p, c)
		}
	}
}

// note takes what an INSERT, UPDATE or DELETE says about the tables.
func (s *Schema) note(st Statement, p placed, c context) {
	switch st.Kind {
	case Insert:
		if t := s.table(st.Table); t != nil {
			t.inserts = append(t.inserts, insertionOf(st))
		}
		if strings.EqualFold(st.Table.Name, "part_config") {
			s.partConfig(st.Columns, st, p, c)
		}
	case Update:
		if !strings.EqualFold(st.Table.Name, "part_config") {
			return
		}
		for _, e := range st.Where.Equals() {
			if strings.EqualFold(e.Column.Name, "parent_table") {
				s.clean(Cleanup{Kind: PartitionByTool, Table: qualified(e.Value.Literal.Value)}, p, c)
			}
		}
	case Delete:
		if st.Where.ByTime || ageInSources(st) {
			s.clean(Cleanup{Kind: DeleteByTime, Table: s.parent(st.Table)}, p, c)
		}
	}
}

// ageInSources tells a DELETE whose USING or WITH picks the rows by age.
func ageInSources(st Statement) bool {
	for _, f := range st.From {
		if f.Sub != nil && f.Sub.Where.ByTime {
			return true
		}
	}
	for _, c := range st.With {
		if c.Stmt != nil && c.Stmt.Kind == Select && c.Stmt.Where.ByTime {
			return true
		}
	}
	return false
}

// partConfig takes a row of pg_partman's configuration.
func (s *Schema) partConfig(columns []string, st Statement, p placed, c context) {
	for i, col := range columns {
		if !strings.EqualFold(col, "parent_table") {
			continue
		}
		for _, v := range st.column(i) {
			s.clean(Cleanup{Kind: PartitionByTool, Table: qualified(v.Literal.Value)}, p, c)
		}
	}
}

func insertionOf(st Statement) insertion {
	in := insertion{columns: st.Columns}
	for i := range st.Columns {
		in.values = append(in.values, st.column(i))
	}
	return in
}

func (s *Schema) clean(cl Cleanup, p placed, c context) {
	cl.Position, cl.Scheduled, cl.Routine, cl.Query = p.pos, c.scheduled, c.routine, c.query
	s.cleanups = append(s.cleanups, cl)
}

// parent gives the table a partition belongs to, or the table itself.
func (s *Schema) parent(n Name) Name {
	for range mostDepth {
		up, ok := s.parents[strings.ToLower(n.Name)]
		if !ok {
			break
		}
		n = up
	}
	return n
}

// Partitions are the names of the partitions of a table, in lower case and in alphabetical order. Those whose name is
// only known when the program runs are not among them.
func (s *Schema) Partitions(n Name) []string {
	var out []string
	for child := range s.parents {
		if up := s.parent(Name{Name: child}); up.Same(n) {
			out = append(out, child)
		}
	}
	slices.Sort(out)
	return out
}

// Table finds a table by its name; nil when no CREATE TABLE or INSERT with that name has been added.
func (s *Schema) Table(n Name) *Table {
	for _, t := range s.tables[strings.ToLower(n.Name)] {
		if t.Name.Same(n) {
			return t
		}
	}
	return nil
}

// table finds a table, and makes it when there is none.
func (s *Schema) table(n Name) *Table {
	if !n.Known() {
		return nil
	}
	if t := s.Table(n); t != nil {
		return t
	}
	t := &Table{Name: n}
	key := strings.ToLower(n.Name)
	s.tables[key] = append(s.tables[key], t)
	s.order = append(s.order, t)
	return t
}

// Tables are the tables that have been created and not dropped since, in the order of their first mention.
// Partitions are part of their parents and no tables of their own.
func (s *Schema) Tables() []*Table {
	var out []*Table
	for _, t := range s.order {
		if len(t.Definitions) > 0 && s.parent(t.Name) == t.Name {
			out = append(out, t)
		}
	}
	return out
}

// Cleanups are the statements that remove old rows of a table, in the order they were added.
func (s *Schema) Cleanups(n Name) []Cleanup {
	var out []Cleanup
	t := s.Table(n)
	for _, c := range s.cleanups {
		if s.cleans(c, n, t) {
			out = append(out, c)
		}
	}
	if t != nil {
		for _, d := range t.Definitions {
			if d.Expires {
				out = append(out, Cleanup{Kind: ExpiryByDatabase, Table: n, Position: d.Position})
			}
		}
	}
	return out
}

func (s *Schema) cleans(c Cleanup, n Name, t *Table) bool {
	switch {
	case c.Kind == UnknownTableDrops:
		anyTable := c.Table.Name == string(rune(Hole))
		return t != nil && (isPartitionName(c.Table.Name, n.Name) || anyTable && t.partitioned())
	case c.Table.Same(n):
		return true
	case !c.Table.Known():
		return matchesHoles(c.Table.Name, n.Name)
	}
	return false
}

func (t *Table) partitioned() bool {
	return slices.ContainsFunc(t.Definitions, func(d *Definition) bool { return d.PartitionBy != "" })
}

// isPartitionName tells a name that is the parent's with a suffix, as partitions are commonly called: t_2026_05, t_p3,
// t_\x00.
func isPartitionName(partition, parent string) bool {
	if len(partition) <= len(parent)+1 || !strings.EqualFold(partition[:len(parent)], parent) {
		return false
	}
	rest := strings.TrimLeft(partition[len(parent):], "_")
	return rest != "" && (isDigit(rest[0]) || rest[0] == Hole || rest[0]|0x20 == 'p' || rest[0]|0x20 == 'y')
}

// matchesHoles tells whether a name with unknown pieces, but not unknown altogether, can be this name.
func matchesHoles(pattern, name string) bool {
	parts := strings.Split(strings.ToLower(pattern), string(rune(Hole)))
	name = strings.ToLower(name)
	if strings.Join(parts, "") == "" || !strings.HasPrefix(name, parts[0]) {
		return false
	}
	name = name[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, part := range parts[1:] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return last == "" || name == "" || strings.HasSuffix(name, last)
}
