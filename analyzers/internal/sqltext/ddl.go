package sqltext

import "strings"

// A TableDef is what CREATE TABLE says.
type TableDef struct {
	Columns     []ColumnDef
	Keys        []Key
	IfNotExists bool
	Temporary   bool
	FromQuery   bool // CREATE TABLE ... AS SELECT
	Expires     bool // the database removes old rows by itself
	Like        Name // LIKE other
	LikeKeys    bool // INCLUDING ALL, INCLUDING INDEXES; MySQL's LIKE

	PartitionOf      Name   // the parent of a partition
	PartitionBy      string // the method in lower case: range, list, hash; "" when not partitioned
	PartitionColumns []string
}

// A ColumnDef is a column of a table.
type ColumnDef struct {
	Name       string
	Type       string // as spelled
	NotNull    bool
	HasDefault bool
	Default    Expr
	AutoNumber bool // serial, identity, AUTO_INCREMENT: the database counts
	Generated  bool // computed from other columns
}

// A Key is a primary key, a unique constraint or a unique index.
type Key struct {
	Name    string // "" when the database makes one up
	Primary bool
	Columns []string // "" for an expression
	Partial bool     // WHERE: only some rows are kept apart
}

// An IndexDef is what CREATE INDEX says.
type IndexDef struct {
	Unique       bool
	Concurrently bool
	Key
}

// An AlterKind says what one action of ALTER TABLE does.
type AlterKind uint8

// The actions of ALTER TABLE. OtherAlter changes nothing the rules ask about.
const (
	OtherAlter AlterKind = iota
	AddKey
	AddColumn
	DropConstraint // Name; of any constraint or index
	DropPrimaryKey
	DropColumn   // Name
	SetDefault   // Column.Name, Column.Default; HasDefault false for DROP DEFAULT
	ChangeColumn // MySQL's MODIFY and CHANGE: Name is the old name
	RenameTable  // Table is the new name
	RenameColumn // Name is the old name, Column.Name the new
	AttachPartition
	DetachPartition
)

// An AlterAction is one action of ALTER TABLE.
type AlterAction struct {
	Kind   AlterKind
	Name   string
	Table  Name // the new name, or the partition
	Column ColumnDef
	Key    Key
	// UsingIndex says that the key takes the columns of the index Key.Name (ADD PRIMARY KEY USING INDEX).
	UsingIndex bool
}

// definition reads CREATE, ALTER, DROP and TRUNCATE.
func (p *parser) definition(kw keyword) Kind {
	p.i++
	switch kw {
	case kwCreate:
		return p.create()
	case kwAlter:
		if p.accept(kwTable) {
			return p.alterTable()
		}
		if p.isKw(p.i, kwForeign) || p.isOneOf(p.i,
			"index", "type", "sequence", "role", "database", "default", "view", "materialized", "system",
			"schema", "function", "user", "extension") {
			p.i = p.end
			return Other
		}
		return Unknown
	case kwDrop:
		return p.drop()
	}
	p.accept(kwTable)
	p.accept(kwOnly)
	p.nameList()
	for p.acceptWord("restart", "identity") || p.acceptWord("continue", "identity") || p.accept(kwCascade) ||
		p.acceptWord("restrict") {
	}
	if len(p.st.Drops) == 0 {
		return Unknown
	}
	p.st.Table = p.st.Drops[0]
	return Truncate
}

func (p *parser) nameList() {
	for {
		p.accept(kwOnly)
		n, ok := p.name()
		if !ok {
			return
		}
		p.st.Drops = append(p.st.Drops, n)
		if p.isOp(p.i, "*") {
			p.i++
		}
		if p.tok().kind != tokComma {
			return
		}
		p.i++
	}
}

func (p *parser) ifExists() bool {
	return p.accept(kwIf, kwNot, kwExists) || p.accept(kwIf, kwExists)
}

// create goes by what is created.
func (p *parser) create() Kind {
	p.accept(kwOr, kwReplace)
	def := &TableDef{}
	for {
		switch {
		case p.accept(kwTemp):
			def.Temporary = true
			continue
		case p.acceptWord("global"), p.acceptWord("local"), p.accept(kwUnlogged), p.accept(kwForeign):
			continue
		}
		break
	}
	switch {
	case p.accept(kwTable):
		return p.createTable(def)
	case p.accept(kwUnique, kwIndex):
		return p.createIndex(true)
	case p.accept(kwIndex):
		return p.createIndex(false)
	case p.isKw(p.i, kwFunction), p.isKw(p.i, kwProcedure):
		return p.routine()
	case p.isKw(p.i, kwEvent):
		return p.createEvent()
	}
	if p.isOneOf(p.i,
		"view", "materialized", "extension", "schema", "type", "sequence", "trigger", "role", "user",
		"database", "policy", "domain", "recursive", "publication", "subscription", "server", "rule",
		"aggregate", "operator", "cast", "collation", "statistics", "virtual", "definer", "constraint",
		"language", "access", "tablespace", "event", "text", "dictionary", "row") {
		p.i = p.end
		return Other
	}
	return Unknown
}

// createTable reads what follows CREATE TABLE.
func (p *parser) createTable(def *TableDef) Kind {
	st := p.st
	def.IfNotExists = p.ifExists()
	var ok bool
	if st.Table, ok = p.name(); !ok {
		return Unknown
	}
	st.Def = def
	if p.accept(kwOn) && p.acceptWord("cluster") && !p.isOpen(p.i) {
		p.i++
	}
	if p.accept(kwPartition, kwOf) {
		if def.PartitionOf, ok = p.name(); !ok {
			return Unknown
		}
		if lo, hi, ok := p.group(); ok {
			p.elements(def, lo, hi)
		}
		p.partitionBy(def)
		p.i = p.end
		return CreatePartition
	}
	lo, hi, ok := p.group()
	switch {
	case ok && p.startsQuery(lo):
		def.FromQuery = true
		p.sub(lo, hi)
	case ok:
		p.elements(def, lo, hi)
	case p.accept(kwLike):
		def.LikeKeys = true
		if def.Like, ok = p.name(); !ok {
			return Unknown
		}
		return CreateTable
	case p.acceptWord("of"):
		p.name()
		if lo, hi, ok := p.group(); ok {
			p.elements(def, lo, hi)
		}
		st.Open = true
	case p.isKw(p.i, kwAs), p.tok().kind == tokHole, p.i == p.end:
		def.FromQuery = p.isKw(p.i, kwAs)
		st.Open = st.Open || !def.FromQuery
	default:
		return Unknown
	}
	p.tableOptions(def)
	return CreateTable
}

// tableOptions reads what follows the columns.
func (p *parser) tableOptions(def *TableDef) {
	if p.accept(kwPrimary, kwKey) { // Spanner
		if lo, hi, ok := p.group(); ok {
			def.Keys = append(def.Keys, Key{Primary: true, Columns: p.names(lo, hi)})
		}
	}
	for i := p.i; i < p.end; i = p.after(i) {
		if p.isKw(i, kwAs) && (p.startsQuery(i+1) || p.isWord(i+1, "execute")) {
			def.FromQuery = true
			p.sub(i+1, p.end)
			break
		}
		if t := p.toks[i]; t.kind == tokWord && strings.HasSuffix(strings.ToLower(p.src(t)), "mergetree") {
			def.Keys = nil // ClickHouse: the primary key is an order, nothing is unique
		}
		if t := p.toks[i]; t.kind == tokHole {
			p.st.Open = true
		}
		if p.isKw(i, kwWith) && p.isOpen(i+1) || p.isWord(i, "ttl") {
			def.Expires = def.Expires || p.expires(i)
		}
	}
	p.partitionBy(def)
	p.i = p.end
}

// expires tells CockroachDB's WITH (ttl_expire_after = ...) and ClickHouse's TTL.
func (p *parser) expires(i int) bool {
	if !p.isKw(i, kwWith) {
		return true
	}
	lo, hi := p.inside(i + 1)
	for ; lo < hi; lo++ {
		if t := p.toks[lo]; t.kind == tokWord && strings.HasPrefix(strings.ToLower(p.src(t)), "ttl") {
			return true
		}
	}
	return false
}

// partitionBy finds PARTITION BY in the options.
func (p *parser) partitionBy(def *TableDef) {
	i := p.seek(p.i, func(i int, t token) bool { return t.kw == kwPartition && p.isKw(i+1, kwBy) })
	if i+2 >= p.end {
		return
	}
	i += 2
	if p.toks[i].kind == tokWord {
		def.PartitionBy = strings.ToLower(p.src(p.toks[i]))
		i++
	}
	for i < p.end && !p.isOpen(i) {
		i++ // MySQL: RANGE COLUMNS (c)
	}
	if i == p.end {
		return
	}
	lo, hi := p.inside(i)
	p.commas(lo, hi, func(lo, hi int) {
		e := p.expr(lo, hi)
		for _, c := range e.Columns {
			def.PartitionColumns = append(def.PartitionColumns, c.Name)
		}
	})
}

// elements reads the columns and constraints of a table.
func (p *parser) elements(def *TableDef, lo, hi int) {
	p.commas(lo, hi, func(lo, hi int) {
		p.within(lo, hi, func() {
			if p.tok().kind == tokHole && p.i+1 == p.end {
				p.st.Open = true
				return
			}
			if p.accept(kwLike) {
				def.Like, _ = p.name()
				for i := p.i; i < p.end; i++ {
					def.LikeKeys = def.LikeKeys || p.isWord(i, "including") && (p.isKw(i+1, kwAll) || p.isWord(i+1, "indexes"))
				}
				return
			}
			if k, ok := p.constraint(); ok {
				if k.Columns != nil {
					def.Keys = append(def.Keys, k)
				}
				return
			}
			c, keys := p.column()
			if c.Name != "" {
				def.Columns = append(def.Columns, c)
				def.Keys = append(def.Keys, keys...)
			}
		})
	})
}

// constraint reads a constraint of a table. ok tells that it is one, k.Columns that it is a key.
func (p *parser) constraint() (k Key, ok bool) {
	start := p.i
	if p.accept(kwConstraint) {
		ok = true
		if p.isName(p.i) && !p.isKw(p.i, kwPrimary) {
			k.Name = p.ident(p.toks[p.i])
			p.i++
		}
	}
	switch {
	case p.accept(kwPrimary, kwKey):
		k.Primary = true
	case p.accept(kwUnique):
		if !p.accept(kwKey) {
			p.accept(kwIndex)
		}
	case p.isKw(p.i, kwCheck), p.isKw(p.i, kwForeign), p.isKw(p.i, kwExclude) && !p.isOpen(p.i+2):
		p.i = p.end
		return k, true
	case p.isIndex():
		p.i = p.end
		return k, true
	default:
		if !ok {
			p.i = start
		}
		return k, ok
	}
	p.keyColumns(&k)
	return k, true
}

// isIndex tells MySQL's KEY name (columns) from a column of that name.
func (p *parser) isIndex() bool {
	i := p.i
	if p.isWord(i, "fulltext") || p.isWord(i, "spatial") {
		return p.isKw(i+1, kwKey) || p.isKw(i+1, kwIndex)
	}
	if !p.isKw(i, kwKey) && !p.isKw(i, kwIndex) {
		return false
	}
	i++
	if p.isName(i) {
		i++
	}
	return p.isOpen(i) && p.tokAt(i+1).kind != tokNumber
}

// keyColumns reads the columns of a key, with a name before and USING or NULLS NOT DISTINCT around them.
func (p *parser) keyColumns(k *Key) {
	for p.i < p.end && !p.isOpen(p.i) {
		t := p.toks[p.i]
		if k.Name == "" && p.nameToken(p.i) && t.kw == kwNone && !p.isOneOf(p.i, "clustered", "nonclustered") {
			k.Name = p.ident(t)
		}
		p.i++
	}
	if lo, hi, ok := p.group(); ok {
		k.Columns = p.names(lo, hi)
	}
	if k.Columns == nil {
		k.Columns = []string{}
	}
}

// column reads a column with its constraints. A word of prose in its place gives a column without a type.
func (p *parser) column() (c ColumnDef, keys []Key) {
	if t := p.tok(); t.kind != tokWord && t.kind != tokQuoted && t.kind != tokHole {
		return c, nil
	}
	c.Name = p.ident(p.toks[p.i])
	p.i++
	typ := p.i
	p.accept(kwKey) // a type of that name: MySQL's KEY comes behind a type
	p.i = p.seek(p.i, p.startsColumnConstraint)
	if p.i > typ {
		c.Type = p.text[p.toks[typ].lo:p.toks[p.i-1].hi]
	}
	c.AutoNumber = strings.HasSuffix(strings.ToLower(c.Type), "serial") || p.isWord(typ, "identity")
	name := ""
	for p.i < p.end {
		switch {
		case p.accept(kwConstraint):
			if p.i < p.end {
				name = p.ident(p.toks[p.i])
				p.i++
			}
			continue
		case p.accept(kwPrimary, kwKey):
			keys = append(keys, Key{Name: name, Primary: true, Columns: []string{c.Name}})
			c.NotNull = true
		case p.accept(kwUnique):
			p.accept(kwKey)
			keys = append(keys, Key{Name: name, Columns: []string{c.Name}})
		case p.accept(kwKey):
			keys = append(keys, Key{Primary: true, Columns: []string{c.Name}})
		case p.accept(kwNot, kwNull):
			c.NotNull = true
		case p.accept(kwDefault):
			from := p.i
			p.i = p.seek(min(p.i+1, p.end), p.startsColumnConstraint)
			c.HasDefault, c.Default = from < p.i, p.expr(from, p.i)
		case p.isKw(p.i, kwGenerated):
			as := p.seek(p.i, func(_ int, t token) bool { return t.kw == kwAs })
			end := p.seek(min(as+1, p.end), p.startsColumnConstraint)
			for i := p.i; i < end; i++ {
				c.AutoNumber = c.AutoNumber || p.isWord(i, "identity")
			}
			c.Generated = !c.AutoNumber
			p.i = end
		case p.isWord(p.i, "auto_increment"), p.isWord(p.i, "autoincrement"):
			c.AutoNumber = true
			p.i++
		default:
			p.i = p.after(p.i) // CHECK (... IS NOT NULL) is not NOT NULL
		}
		name = ""
	}
	if c.HasDefault && c.Default.Random() && strings.HasPrefix(strings.ToLower(c.Default.Text), "nextval") {
		c.AutoNumber = true
	}
	return c, keys
}

// startsColumnConstraint ends a column's type or default.
func (p *parser) startsColumnConstraint(i int, t token) bool {
	switch t.kw {
	case kwConstraint, kwNull, kwPrimary, kwUnique, kwCheck, kwReferences, kwGenerated, kwCollate, kwDefault, kwKey:
		return true
	case kwNot:
		return p.isKw(i+1, kwNull)
	case kwOn:
		return p.isKw(i+1, kwUpdate) || p.isKw(i+1, kwConflict) || p.isKw(i+1, kwDelete)
	case kwNone:
		return p.isOneOf(i, "auto_increment", "autoincrement", "comment")
	}
	return false
}

// createIndex reads what follows CREATE [UNIQUE] INDEX.
func (p *parser) createIndex(unique bool) Kind {
	st := p.st
	x := &IndexDef{Unique: unique, Concurrently: p.accept(kwConcurrently)}
	p.ifExists()
	if p.isName(p.i) {
		n, _ := p.name()
		x.Name = n.Name
	}
	if p.accept(kwUsing) { // MySQL
		p.i++
	}
	if !p.accept(kwOn) {
		return Unknown
	}
	p.accept(kwOnly)
	var ok bool
	if st.Table, ok = p.name(); !ok {
		return Unknown
	}
	if p.isOp(p.i, "*") { // and the tables that inherit from it
		p.i++
	}
	if p.accept(kwUsing) {
		p.i = min(p.i+1, p.end)
	}
	lo, hi, ok := p.group()
	if !ok {
		return Unknown
	}
	x.Columns = p.names(lo, hi)
	where := p.seek(p.i, func(_ int, t token) bool { return t.kw == kwWhere })
	x.Partial = where < p.end
	st.Index = x
	p.i = p.end
	return CreateIndex
}
