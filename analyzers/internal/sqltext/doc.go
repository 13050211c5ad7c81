// Package sqltext reads SQL the way it stands in Go programs and .sql files.
//
// A Go string constant is seldom a statement a database would accept as it is: it carries placeholders of several
// drivers ($1, ?, :name, @name), verbs of fmt (%s, %[1]d), template actions ({{.Schema}}) and, once the engine has put
// a concatenation back together, pieces nobody can know ([Hole]). A database's own parser refuses most of these, so
// this is a small lexer and a recogniser of the statements the rules ask about: PostgreSQL first, with the forms of
// MySQL and SQLite for the same ideas.
//
// [MayBeSQL] sorts out strings that cannot be SQL, [Parse] splits and recognises statements, and a [Statement] answers
// the questions of the rules: what it writes, under which conflict clause, what decides whether it does anything when
// repeated, and where its parameters go. A [Schema] gathers tables over several files.
//
// What is not recognised is [Unknown] and nothing is claimed about it. No input makes the package panic, and its time
// grows linearly with the text.
//
// The package looks at text alone: it knows no Go types, no rule, and imports no SQL parser.
package sqltext
