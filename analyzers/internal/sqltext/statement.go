package sqltext

import "strings"

// A Kind says what a statement does.
type Kind uint8

// The kinds. Unknown claims nothing, Other is SQL that none of the rules asks about (SET, EXPLAIN, GRANT, ...).
const (
	Unknown Kind = iota
	Insert
	Update
	Delete
	Select
	Merge
	Truncate
	CreateTable
	CreatePartition // CREATE TABLE ... PARTITION OF
	AlterTable
	CreateIndex
	DropTable
	DropIndex
	DropPartition // ALTER TABLE ... DETACH PARTITION, ... DROP PARTITION
	Schedule      // work the database is told to do later: cron.schedule, CREATE EVENT; see Statement.Body
	PartitionCare // pg_partman, TimescaleDB retention: the database drops old partitions of Table by itself
	Routine       // CREATE FUNCTION, CREATE PROCEDURE, DO; see Statement.Body
	Call          // CALL f(), SELECT f() and nothing more; see Statement.Routine
	Begin
	Commit
	Rollback
	Savepoint
	Other
)

var kindNames = [...]string{
	"Unknown", "Insert", "Update", "Delete", "Select", "Merge", "Truncate", "CreateTable", "CreatePartition",
	"AlterTable", "CreateIndex", "DropTable", "DropIndex", "DropPartition", "Schedule", "PartitionCare", "Routine",
	"Call", "Begin", "Commit", "Rollback", "Savepoint", "Other",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Unknown"
}

// A Name is the name of a table, as spelled in the text but without its quotes. A piece that is not known is one
// [Hole], whatever stood there: Sprintf's %s and a template's {{.Schema}} too.
type Name struct {
	Schema string // "" when the table is not qualified
	Name   string
}

// IsZero tells whether there is no name at all.
func (n Name) IsZero() bool { return n.Name == "" }

// Known tells whether the table's own name has no unknown piece.
func (n Name) Known() bool { return n.Name != "" && strings.IndexByte(n.Name, Hole) < 0 }

// Same tells whether two names can mean one table: the same name in any case, and the same schema unless one of the
// two does not say which, or says it with a [Hole].
func (n Name) Same(m Name) bool {
	if !strings.EqualFold(n.Name, m.Name) {
		return false
	}
	unsaid := func(schema string) bool { return schema == "" || strings.IndexByte(schema, Hole) >= 0 }
	return unsaid(n.Schema) || unsaid(m.Schema) || strings.EqualFold(n.Schema, m.Schema)
}

// String gives schema.name, with every [Hole] shown as an ellipsis.
func (n Name) String() string {
	s := n.Name
	if n.Schema != "" {
		s = n.Schema + "." + s
	}
	return strings.ReplaceAll(s, string(rune(Hole)), "…")
}

// A Statement is one statement of a text. The zero Statement is Unknown.
type Statement struct {
	Kind   Kind
	Text   string // from its first to its last token, without the semicolon
	Offset int    // of Text in the text given to Parse, in bytes
	Line   int    // of Offset, from 1

	// Query is the name of the comment "-- name: X :exec" before the statement, as sqlc has it.
	Query string

	Table Name
	Alias string // "" when the table has none

	// Open says that text which is not known stands where a clause could be, or that the text ends before the
	// statement does: what is missing here may still be there when the program runs.
	Open bool
	// Cut says that the text ends before anything is said of rows or values: "INSERT INTO t", "UPDATE t". It may be a
	// builder's first piece, or prose.
	Cut bool

	// Columns are an INSERT's, in order; nil when it names none.
	Columns []string
	// Rows are an INSERT's VALUES, at most MaxRows of them; MoreRows says that there are more.
	Rows     [][]Expr
	MoreRows bool
	// Source is the SELECT of INSERT ... SELECT (VALUES apart), nil otherwise.
	Source *Statement

	Conflict  Conflict
	Set       []Assignment // an UPDATE's, not those of ON CONFLICT
	Where     Where
	Returning []string // the names of the columns returned; "*" for all, "" for an expression without name

	From    []TableRef // what a SELECT, UPDATE ... FROM, DELETE ... USING or MERGE ... USING reads, in order
	Outputs []Output   // a SELECT's list
	Limit   bool       // LIMIT or FETCH FIRST
	Locks   bool       // FOR UPDATE, FOR SHARE and their like

	// Exists is the query of SELECT EXISTS (...), with its NOT in NotExists.
	Exists    *Statement
	NotExists bool
	Arms      []*Statement // what follows UNION, INTERSECT and EXCEPT

	With []CTE
	subs []*Statement // subselects in expressions

	When    []MergeWhen // a MERGE's
	Def     *TableDef   // CREATE TABLE
	Alter   []AlterAction
	Index   *IndexDef
	Drops   []Name      // DROP TABLE, DROP INDEX, TRUNCATE; the partition of DropPartition
	Body    []Statement // what a Schedule or a Routine runs
	Routine string      // the function of Call, Routine and PartitionCare

	uses []Use
}

// MaxRows is how many rows of VALUES are kept; the rest are counted by nobody.
const MaxRows = 64

// A Conflict is what an INSERT does when the row is there already.
type Conflict struct {
	Action      Action
	Columns     []string // the target: ON CONFLICT (a, b)
	Constraint  string   // ON CONFLICT ON CONSTRAINT x
	Set         []Assignment
	Where       Where // of DO UPDATE
	TargetWhere bool  // ON CONFLICT (a) WHERE ...: a partial index
	Offset      int   // of the clause in the text given to Parse, in bytes; -1 without a clause
	Line        int
}

// An Action is the answer to a conflict.
type Action uint8

// The actions. NoAction is an INSERT that fails; UnseenAction a clause whose action is an unknown piece.
const (
	NoAction     Action = iota
	DoNothing           // ON CONFLICT DO NOTHING
	DoUpdate            // ON CONFLICT DO UPDATE, ON DUPLICATE KEY UPDATE
	Ignore              // INSERT IGNORE, INSERT OR IGNORE, ON DUPLICATE KEY UPDATE id = id
	ReplaceRow          // REPLACE, INSERT OR REPLACE
	UnseenAction        // ON CONFLICT \x00
)

func (a Action) String() string {
	names := [...]string{"none", "do nothing", "do update", "ignore", "replace", "unseen"}
	if int(a) < len(names) {
		return names[a]
	}
	return "none"
}

// Skips tells whether the row that is there already stays as it is.
func (a Action) Skips() bool { return a == DoNothing || a == Ignore }

// An Assignment is one column of SET.
type Assignment struct {
	Column string
	Value  Expr
	// Self says that the value depends on a column this very statement sets, so that setting it twice is not
	// setting it once. It stays false where the form makes no difference: COALESCE($1, c), GREATEST(c, $1).
	Self bool
}

// A CTE is one entry of WITH.
type CTE struct {
	Name string
	Stmt *Statement
}

// A TableRef is one entry of FROM or USING.
type TableRef struct {
	Table Name
	Alias string
	Func  string     // unnest, generate_series, ...; "" for a table
	Args  []Expr     // of Func
	Sub   *Statement // a subselect
	Outer bool       // on the side of an outer join that need not match

	cols []string // names the alias gives to the columns
}

// An Output is one entry of a SELECT's list.
type Output struct {
	Name  string // alias, or column; "" when the database makes up a name
	Value Expr
}

// A MergeWhen is one WHEN of MERGE.
type MergeWhen struct {
	Matched bool
	Action  Kind // Insert, Update, Delete, or Other for DO NOTHING
	Columns []string
	Values  []Expr
	Set     []Assignment
	Guarded bool // WHEN ... AND condition
}
