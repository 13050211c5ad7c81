package sqltext

import "strings"

// settles tells a value that setting twice leaves as setting it once did, though it reads its own column:
// COALESCE(c, $1), COALESCE($1, c), GREATEST(c, $1), LEAST and nestings of them are lattice polynomials in c with
// constants, and those are idempotent; CASE see settlesCase. The names of the columns the statement sets are in lower
// case.
func (e Expr) settles(column string, set map[string]bool) bool {
	if e.Absolute() || e.isColumn(column) {
		return true
	}
	switch e.Func {
	case "coalesce", "ifnull", "nvl", "greatest", "least":
		for _, a := range e.args {
			if !a.settles(column, set) {
				return false
			}
		}
		return true
	case "case":
		return e.settlesCase(column, set)
	case "jsonb_set", "jsonb_set_lax", "json_set", "array_remove":
		return e.settlesSetter(column, set)
	}
	return false
}

// settlesSetter tells functions that put constants at fixed places of their first argument, or take them out
// everywhere. A path with a number can be an index, and jsonb_set appends at an index that is not there.
func (e Expr) settlesSetter(column string, set map[string]bool) bool {
	if len(e.args) == 0 || !e.args[0].settles(column, set) {
		return false
	}
	for i, a := range e.args[1:] {
		path := i == 0 && e.Func != "array_remove" || e.Func == "json_set" && i%2 == 0
		if !a.Absolute() || path && (a.Class != LiteralExpr || strings.ContainsAny(a.Literal.Value, "0123456789")) {
			return false
		}
	}
	return true
}

// settlesCase tells a CASE that chooses between the column itself and values that do not depend on the row. Where no
// condition reads a column the statement sets, it chooses the same the second time; where one reads the column
// itself, it does with a single such value: WHEN p(c) THEN v ELSE c is v or c, and v stays v whatever p says.
func (e Expr) settlesCase(column string, set map[string]bool) bool {
	absolute := 0
	for _, a := range e.args {
		switch {
		case a.isColumn(column):
		case a.Absolute():
			absolute++
		default:
			return false
		}
	}
	for _, c := range e.choice {
		name := strings.ToLower(c.Name)
		if !c.Excluded && set[name] && (name != strings.ToLower(column) || absolute > 1) {
			return false
		}
	}
	return e.has&(hasSub|hasHole|hasRandom) == 0
}

func (e Expr) isColumn(column string) bool {
	return e.Class == ColumnExpr && !e.Column.Excluded && strings.EqualFold(e.Column.Name, column)
}

// An Assumption is what a caller knows of a statement's arguments. The zero Assumption knows nothing.
type Assumption struct {
	// Fresh tells the placeholders whose argument is another one on every try: a new UUID, the time of the program.
	Fresh func(Param) bool

	// Value is what a placeholder's argument is, where that is known.
	Value func(Param) (Literal, bool)

	// List is what the argument of a placeholder holds that stands for an array, state = ANY($3), where all of it is
	// known. It may be nil.
	List func(Param) ([]Literal, bool)

	// Apart tells placeholders whose arguments are never equal, though it is not known what they are: where a row goes
	// from and where it goes to. It may be nil.
	Apart func(p, q Param) bool

	// Given tells placeholders whose argument comes with the event, so that a repeat has the same: the version after which
	// it is to take place, and not the one that a row has now. It may be nil.
	Given func(Param) bool

	// Same tells placeholders that stand for one argument, though it is given twice. It may be nil.
	Same func(p, q Param) bool
}

// same tells two expressions that certainly give the same value within one execution and its repetition.
func (a Assumption) same(e, f Expr) bool {
	if x, ok := a.literal(e); ok && x.Kind != NullLiteral {
		if y, ok := a.literal(f); ok && x == y {
			return true
		}
	}
	return sameValue(e, f) || a.Same != nil && e.Class == ParamExpr && f.Class == ParamExpr && a.Same(e.Param, f.Param)
}

// literal is a value that is known: it stands in the statement, or it is an argument that the caller knows.
func (a Assumption) literal(e Expr) (Literal, bool) {
	switch {
	case e.Class == LiteralExpr:
		return e.Literal, true
	case e.Class == ParamExpr && a.Value != nil:
		return a.Value(e.Param)
	}
	return Literal{}, false
}

func (a Assumption) fresh(e Expr) bool {
	if a.Fresh == nil {
		return false
	}
	for _, p := range e.Params {
		if a.Fresh(p) {
			return true
		}
	}
	return false
}

// Idempotent tells whether a repetition provably leaves the database as the first execution did, and why or why not,
// as half a sentence. What happens in between to the same rows is not asked, nor is a column that only records the
// time (updated_at = now()) held against it.
func (s *Statement) Idempotent() (ok bool, why string) {
	return s.IdempotentIf(Assumption{})
}

// IdempotentIf is Idempotent for a caller that knows more of the arguments.
func (s *Statement) IdempotentIf(a Assumption) (ok bool, why string) {
	for _, c := range s.With {
		if c.Stmt == nil || c.Stmt.Kind == Unknown {
			return false, "the entry " + show(c.Name) + " of WITH is not understood"
		}
	}
	parts := s.Parts()
	if len(parts) == 1 {
		return s.repeats(a)
	}
	for _, part := range parts {
		if !part.Kind.writes() && part != s {
			continue
		}
		ok, why = part.repeats(a)
		if ok {
			continue
		}
		if gate := s.gate(part, a); gate != "" {
			why = "it writes only for the rows that " + gate + " returns, and a repetition gets none"
			continue
		}
		return false, why
	}
	return true, why
}

// gate names an entry of WITH that returns rows the first time only and without whose rows the part does nothing.
func (s *Statement) gate(part *Statement, a Assumption) string {
	for _, c := range s.With {
		if c.Stmt == nil || c.Stmt == part || len(c.Stmt.Returning) == 0 || !part.ReadsFrom(c.Name) {
			continue
		}
		first := c.Stmt.Kind == Insert && c.Stmt.Conflict.Action.Skips()
		if guarded, _ := c.Stmt.guarded(a); first || guarded {
			return c.Name
		}
	}
	return ""
}

// repeats is IdempotentIf for one part, its WITH apart.
func (s *Statement) repeats(a Assumption) (bool, string) {
	switch s.Kind {
	case Insert:
		return s.insertRepeats(a)
	case Update:
		return s.updateRepeats(a)
	case Delete:
		return s.deleteRepeats()
	case Merge:
		return s.mergeRepeats(a)
	case Select:
		return s.selectRepeats()
	case Truncate:
		return true, "the table is empty afterwards"
	case CreateTable, CreatePartition, CreateIndex, DropTable, DropIndex, AlterTable, DropPartition, Begin, Commit,
		Rollback, Savepoint:
		return true, "it changes no rows"
	}
	return false, "the statement is not understood"
}

func (s *Statement) selectRepeats() (bool, string) {
	for _, o := range s.Outputs {
		if o.Value.Random() {
			return false, "it draws from a sequence or makes a random value"
		}
	}
	return true, "it only reads"
}

func (s *Statement) insertRepeats(a Assumption) (bool, string) {
	c := s.Conflict
	if s.Open && c.Action == NoAction {
		return false, "part of the statement is not known"
	}
	switch c.Action {
	case NoAction:
		if s.guardedByNotExists() {
			return true, "NOT EXISTS keeps a second row out"
		}
		return false, "a plain INSERT adds a row each time"
	case UnseenAction:
		return false, "the action of ON CONFLICT is not known"
	}
	if col := s.neverConflicts(a); col != "" {
		return false, "the key column " + show(col) + " gets a new value each time, so no row ever conflicts"
	}
	switch c.Action {
	case DoNothing, Ignore:
		if col, ok := s.randomColumn(a); ok && len(c.Columns) == 0 && c.Constraint == "" {
			return false, "the column " + show(col) + " gets a new value each time, and no conflict target leaves it out"
		}
		return true, "a row that is there already stays as it is"
	case ReplaceRow:
		if col, ok := s.randomColumn(a); ok {
			return false, "the column " + show(col) + " gets a new value each time"
		}
		return true, "the row is replaced by the same row"
	}
	return s.upsertRepeats(a)
}

// upsertRepeats looks at the SET of ON CONFLICT DO UPDATE.
func (s *Statement) upsertRepeats(a Assumption) (bool, string) {
	c := s.Conflict
	if ok, why := leaves(c.Where, c.Set, a); ok {
		return true, why
	}
	for _, set := range c.Set {
		v := set.Value
		if v.Class == ExcludedExpr {
			if in, ok := s.excluded(v.Column.Name); ok && (in.Random() || a.fresh(in)) && !IsTimeColumn(set.Column) {
				return false, "the column " + show(set.Column) + " is set to a new value each time"
			}
		}
		if ok, why := set.repeats(a); !ok {
			return false, why
		}
	}
	if len(c.Set) == 0 {
		return false, "what ON CONFLICT sets is not known"
	}
	return true, "the row of that key gets the same values"
}

// excluded gives the value that EXCLUDED.column stands for, when there is one row.
func (s *Statement) excluded(column string) (Expr, bool) {
	if len(s.Rows) != 1 || s.MoreRows {
		return Expr{}, false
	}
	for i, c := range s.Columns {
		if strings.EqualFold(c, column) && i < len(s.Rows[0]) {
			return s.Rows[0][i], true
		}
	}
	return Expr{}, false
}

// neverConflicts names a column of the conflict target that gets a new value each time.
func (s *Statement) neverConflicts(a Assumption) string {
	for _, target := range s.Conflict.Columns {
		for i, c := range s.Columns {
			if !strings.EqualFold(c, target) {
				continue
			}
			for _, v := range s.column(i) {
				if v.Random() || v.IsDefault() || v.Now() && !v.truncated() || a.fresh(v) {
					return c
				}
			}
		}
	}
	return ""
}

// IsDefault tells the word DEFAULT: a key that the database makes up is another one each time.
func (e Expr) IsDefault() bool { return strings.EqualFold(e.Text, "default") }

// truncated tells date_trunc('day', now()) and the like, which do repeat for a while.
func (e Expr) truncated() bool {
	text := strings.ToLower(e.Text)
	return e.Func == "date_trunc" || e.Func == "date" || strings.Contains(text, "current_date") ||
		strings.HasSuffix(text, "::date")
}

// column gives the values that go into the i-th column.
func (s *Statement) column(i int) []Expr {
	var out []Expr
	for _, row := range s.Rows {
		if i < len(row) {
			out = append(out, row[i])
		}
	}
	if s.Source != nil && i < len(s.Source.Outputs) {
		out = append(out, s.Source.Outputs[i].Value)
	}
	return out
}

// randomColumn finds a column that gets a new value each time, a time apart.
func (s *Statement) randomColumn(a Assumption) (string, bool) {
	for i := range s.width() {
		name := columnAt(s.Columns, i)
		for _, v := range s.column(i) {
			if v.Random() || a.fresh(v) && !IsTimeColumn(name) {
				return name, true
			}
		}
	}
	return "", false
}

// width is the number of columns an INSERT fills.
func (s *Statement) width() int {
	n := len(s.Columns)
	if len(s.Rows) > 0 {
		n = max(n, len(s.Rows[0]))
	}
	return n
}

// guardedByNotExists tells INSERT ... SELECT ... WHERE NOT EXISTS (SELECT ... FROM the same table WHERE c = v) in
// which v is what goes into c.
func (s *Statement) guardedByNotExists() bool {
	if s.Source == nil {
		return false
	}
	for _, c := range s.Source.Where.Conds {
		if c.Op != NotExists || c.Sub == nil || len(c.Sub.From) == 0 || !c.Sub.From[0].Table.Same(s.Table) {
			continue
		}
		for _, inner := range c.Sub.Where.Conds {
			if inner.Op == Equal && s.inserts(inner) {
				return true
			}
		}
	}
	return false
}

// inserts tells whether the value a condition compares with is what the INSERT puts into that column.
func (s *Statement) inserts(c Cond) bool {
	for i, col := range s.Columns {
		if !strings.EqualFold(col, c.Column.Name) {
			continue
		}
		for _, v := range s.column(i) {
			if sameValue(v, c.Value) {
				return true
			}
		}
	}
	return false
}

func (s *Statement) updateRepeats(a Assumption) (bool, string) {
	if len(s.Set) == 0 {
		return false, "what is set is not known"
	}
	if why := s.moves(); why != "" {
		return false, why
	}
	if ok, why := s.guarded(a); ok {
		return true, why
	}
	if s.Open && !s.Where.Present {
		return false, "part of the statement is not known"
	}
	for _, set := range s.Set {
		if ok, why := set.repeats(a); !ok {
			return false, why
		}
	}
	return true, "the same rows get the same values"
}

// moves tells why a repetition can meet other rows than the first time.
func (s *Statement) moves() string {
	if s.Limit {
		return "LIMIT lets a repetition take other rows"
	}
	for _, c := range s.Where.Conds {
		if c.Sub == nil {
			continue
		}
		if c.Sub.Limit {
			return "the subselect's LIMIT lets a repetition take other rows"
		}
		if s.Kind == Update && c.Op != NotExists && c.Op != Exists && c.Sub.reads(s.Table) {
			return "a subselect on the same table picks the rows anew"
		}
	}
	for _, f := range s.From {
		q := f.Sub
		if q == nil {
			q = s.CTE(f.Table.Name)
		}
		if q != nil && q.Limit {
			return "the subselect's LIMIT lets a repetition take other rows"
		}
	}
	return ""
}

func (s *Statement) reads(t Name) bool {
	for _, f := range s.From {
		if f.Table.Same(t) {
			return true
		}
	}
	return false
}

// repeats tells whether setting the column twice is setting it once.
func (set Assignment) repeats(a Assumption) (bool, string) {
	v, col := set.Value, show(set.Column)
	switch {
	case set.Self:
		return false, "the new value of " + col + " depends on the old"
	case v.Random():
		return false, "the column " + col + " is set to a random value"
	case v.Class == HoleExpr || v.has&hasHole != 0:
		return false, "what " + col + " is set to is not known"
	case v.has&hasSub != 0:
		return false, "the new value of " + col + " is read from other rows"
	case a.fresh(v) && !IsTimeColumn(set.Column):
		return false, "the column " + col + " is set to a new value each time"
	}
	return true, ""
}

func (s *Statement) deleteRepeats() (bool, string) {
	if why := s.moves(); why != "" && !s.Where.ByTime {
		return false, why
	}
	return true, "what is deleted stays deleted"
}

func (s *Statement) mergeRepeats(a Assumption) (bool, string) {
	if len(s.When) == 0 || !s.Where.Present {
		return false, "the statement is not understood"
	}
	for _, w := range s.When {
		for _, set := range w.Set {
			if ok, why := set.repeats(a); !ok {
				return false, why
			}
		}
		if w.Action == Insert && w.Matched {
			return false, "it inserts for rows that are there"
		}
	}
	return true, "the row of that key gets the same values"
}

// show makes a column's name fit for a message.
func show(column string) string {
	if column == "" || column == string(rune(Hole)) {
		return "whose name is not known"
	}
	return strings.ReplaceAll(column, string(rune(Hole)), "…")
}
