package sqltext

// A Class says what kind of value an expression has.
type Class uint8

// The classes.
const (
	OtherExpr    Class = iota // none of the others, or a mixture
	ParamExpr                 // one placeholder, casts and brackets apart
	LiteralExpr               // one literal; NULL too
	NowExpr                   // the time of the database, or computed from it and literals and parameters alone
	RandomExpr                // a value made up on the spot: gen_random_uuid(), nextval('s')
	DefaultExpr               // the word DEFAULT
	ExcludedExpr              // EXCLUDED.c, MySQL's VALUES(c)
	ColumnExpr                // one column
	SubqueryExpr              // a subselect
	HoleExpr                  // an unknown piece of text
	ComputedExpr              // computed from literals and parameters alone
)

var classNames = [...]string{
	"other", "param", "literal", "now", "random", "default", "excluded", "column", "subquery", "hole", "computed",
}

func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "other"
}

// An Expr is one value in a statement.
type Expr struct {
	Class  Class
	Text   string
	Offset int // in the text given to Parse, in bytes

	Param   Param       // of ParamExpr
	Params  []Param     // every placeholder in it, in order
	Literal Literal     // of LiteralExpr
	Column  ColumnRef   // of ColumnExpr and ExcludedExpr
	Columns []ColumnRef // every column it mentions, EXCLUDED's too
	Func    string      // the outermost function, lower case; "case" for CASE, "" when it is not one call
	Sub     *Statement  // of SubqueryExpr

	has    mentions    // what occurs anywhere in it
	choice []ColumnRef // the columns in the conditions of a CASE
	args   []Expr      // of the functions that keepsArguments tells
}

// mentions are the things that can occur in an expression, as bits.
type mentions uint8

const (
	hasParam mentions = 1 << iota
	hasNow
	hasRandom
	hasColumn
	hasExcluded
	hasSub
	hasHole
)

// A ColumnRef is a column as an expression names it.
type ColumnRef struct {
	Qualifier string // table or alias; "" without
	Name      string
	Excluded  bool // EXCLUDED.c, VALUES(c)
}

// A LiteralKind tells strings from numbers.
type LiteralKind uint8

// The kinds of literals.
const (
	NullLiteral LiteralKind = iota
	BoolLiteral
	NumberLiteral
	StringLiteral
)

// A Literal is a literal's kind and its value without quotes, booleans as "true" and "false".
type Literal struct {
	Kind  LiteralKind
	Value string
}

// Random tells whether any part of the value is made up on the spot.
func (e Expr) Random() bool { return e.has&hasRandom != 0 }

// Now tells whether any part of the value is the time of the database.
func (e Expr) Now() bool { return e.has&hasNow != 0 }

// Absolute tells whether the value is the same whatever the row holds: made of parameters, literals, EXCLUDED columns
// and the time of the database. The time is let pass, since `updated_at = now()` says when, not what.
func (e Expr) Absolute() bool {
	return e.has&(hasRandom|hasColumn|hasSub|hasHole) == 0
}
