// Package oracle holds no code of its own: its tests ask PostgreSQL's parser what it sees in a statement, and compare
// that with what sqltext sees.
//
// It is a module of its own because that parser is C, which the linter does without. Its tests need a C compiler:
//
//	cd analyzers/internal/sqltext/oracle && go test .
//	cd analyzers/internal/sqltext/oracle && go test -fuzz FuzzAgainstPostgreSQL -fuzztime 5m .
package oracle
