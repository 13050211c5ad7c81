module github.com/idemlint/idemlint/analyzers/internal/sqltext/oracle

go 1.26.0

require (
	github.com/idemlint/idemlint v0.0.0
	github.com/pganalyze/pg_query_go/v6 v6.2.5
	google.golang.org/protobuf v1.36.12
)

replace github.com/idemlint/idemlint => ../../../..
