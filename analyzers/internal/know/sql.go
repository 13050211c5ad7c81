package know

const (
	pgx     = "github.com/jackc/pgx"
	pgxpool = "github.com/jackc/pgx/pgxpool"
	pgconn  = "github.com/jackc/pgx/pgconn"
	stdsql  = "database/sql"
	sqlx    = "github.com/jmoiron/sqlx"
)

var sqlRows = []Row{
	// pgx: Conn, Tx, pool and their transactions share their methods.
	{pgx, "*", "Exec", SQLExec, 1, 2},
	{Runtime, "", "Queue", SQLExec, 2, 3},
	{pgx, "*", "Query", SQLQuery, 1, 2},
	{pgx, "*", "QueryRow", SQLQueryRow, 1, 2},
	{pgx, "*", "QueryFunc", SQLQuery, 1, 2},
	{pgx, "*", "Begin|BeginTx", Begin, -1, -1},
	{pgx, "Tx", "BeginFunc", TxFunc, 1, -1},
	{pgx, "", "BeginFunc", TxFunc, 2, 1},
	{pgx, "", "BeginTxFunc", TxFunc, 3, 1},
	{pgx, "*", "Commit", Commit, -1, -1},
	{pgx, "*", "Rollback", Rollback, -1, -1},
	{pgx, "Batch", "Queue", BatchQueue, 0, 1},
	{pgx, "*", "SendBatch", BatchSend, 1, -1},
	{pgx, "*", "CopyFrom", CopyFrom, 1, -1},
	{pgx, "", "CopyFromRows", Elements, 0, -1},
	{pgx, "", "CopyFromSlice", Counted, 0, -1},
	{pgx, "Row", "Scan", Scan, 0, -1},
	{pgx, "Rows", "Scan", Scan, 0, -1},
	{pgx, "Rows", "Next", RowNext, -1, -1},
	{pgx, "Rows", "Close|Err", Silent, -1, -1},
	{pgx, "", "ForEachRow", EachRow, 0, 2},
	{pgx, "", "CollectRows|AppendRows", CollectRows, 0, -1},
	{pgx, "", "CollectOneRow|CollectExactlyOneRow", CollectOne, 0, -1},
	{pgx, "BatchResults", "Exec|Query|QueryRow", BatchResult, -1, -1},
	{pgx, "BatchResults", "Close", BatchClose, -1, -1},
	{pgx, "QueuedQuery", "Exec|Query|QueryRow", BatchTells, 0, -1},
	{pgxpool, "*", "Exec", SQLExec, 1, 2},
	{pgxpool, "*", "Query", SQLQuery, 1, 2},
	{pgxpool, "*", "QueryRow", SQLQueryRow, 1, 2},
	{pgxpool, "*", "Begin|BeginTx", Begin, -1, -1},
	{pgxpool, "*", "BeginFunc", TxFunc, 1, -1},
	{pgxpool, "*", "BeginTxFunc", TxFunc, 2, -1},
	{pgxpool, "*", "Commit", Commit, -1, -1},
	{pgxpool, "*", "Rollback", Rollback, -1, -1},
	{pgxpool, "*", "SendBatch", BatchSend, 1, -1},
	{pgxpool, "*", "CopyFrom", CopyFrom, 1, -1},
	{pgxpool, "*", "Acquire|AcquireFunc|AcquireAllIdle|Release|Ping|Close|Stat|Config", SameTx, -1, -1},
	{pgconn, "CommandTag", "RowsAffected", Affected, -1, -1},
	{pgconn, "PgConn", "Exec", SQLExec, 1, 2},

	// database/sql
	{stdsql, "*", "ExecContext", SQLExec, 1, 2},
	{stdsql, "*", "Exec", SQLExec, 0, 1},
	{stdsql, "*", "QueryContext", SQLQuery, 1, 2},
	{stdsql, "*", "Query", SQLQuery, 0, 1},
	{stdsql, "*", "QueryRowContext", SQLQueryRow, 1, 2},
	{stdsql, "*", "QueryRow", SQLQueryRow, 0, 1},
	{stdsql, "*", "PrepareContext", SQLPrepare, 1, -1},
	{stdsql, "*", "Prepare", SQLPrepare, 0, -1},
	{stdsql, "Stmt", "ExecContext", StmtExec, 1, -1},
	{stdsql, "Stmt", "Exec", StmtExec, 0, -1},
	{stdsql, "Stmt", "QueryContext", StmtQuery, 1, -1},
	{stdsql, "Stmt", "Query", StmtQuery, 0, -1},
	{stdsql, "Stmt", "QueryRowContext", StmtQueryRow, 1, -1},
	{stdsql, "Stmt", "QueryRow", StmtQueryRow, 0, -1},
	{stdsql, "Stmt", "Close", Silent, -1, -1},
	{stdsql, "Tx", "Stmt", StmtOnTx, 0, -1},
	{stdsql, "Tx", "StmtContext", StmtOnTx, 1, -1},
	{stdsql, "*", "Begin|BeginTx", Begin, -1, -1},
	{stdsql, "Tx", "Commit", Commit, -1, -1},
	{stdsql, "Tx", "Rollback", Rollback, -1, -1},
	{stdsql, "Row", "Scan", Scan, 0, -1},
	{stdsql, "Rows", "Scan", Scan, 0, -1},
	{stdsql, "Rows", "Next|NextResultSet", RowNext, -1, -1},
	{stdsql, "Rows", "Close|Err|Columns|ColumnTypes", Silent, -1, -1},
	{stdsql, "Row", "Err", Scan, 0, -1},
	{stdsql, "Result", "RowsAffected", Affected, -1, -1},
	{stdsql, "Result", "LastInsertId", Silent, -1, -1},
	{stdsql, "DB", "Conn", SameTx, -1, -1},
	{stdsql, "DB", "Ping|PingContext|Close|SetMaxOpenConns|SetMaxIdleConns|SetConnMaxLifetime|Stats", Silent, -1, -1},

	// sqlx
	{sqlx, "*", "ExecContext", SQLExec, 1, 2},
	{sqlx, "*", "Exec|MustExec", SQLExec, 0, 1},
	{sqlx, "*", "MustExecContext", SQLExec, 1, 2},
	{sqlx, "*", "NamedExecContext", SQLNamed, 1, 2},
	{sqlx, "*", "NamedExec", SQLNamed, 0, 1},
	{sqlx, "*", "GetContext|SelectContext", SQLGet, 2, 3},
	{sqlx, "*", "Get|Select", SQLGet, 1, 2},
	{sqlx, "*", "QueryContext|QueryxContext", SQLQuery, 1, 2},
	{sqlx, "*", "Query|Queryx", SQLQuery, 0, 1},
	{sqlx, "*", "QueryRowContext|QueryRowxContext", SQLQueryRow, 1, 2},
	{sqlx, "*", "QueryRow|QueryRowx", SQLQueryRow, 0, 1},
	{sqlx, "*", "PreparexContext|PrepareNamedContext", SQLPrepare, 1, -1},
	{sqlx, "*", "Preparex|PrepareNamed", SQLPrepare, 0, -1},
	{sqlx, "*", "Beginx|BeginTxx|MustBegin|MustBeginTx", Begin, -1, -1},
	{sqlx, "Tx", "Stmtx|NamedStmt", StmtOnTx, 0, -1},
	{sqlx, "Tx", "StmtxContext|NamedStmtContext", StmtOnTx, 1, -1},
	{sqlx, "Stmt", "ExecContext|MustExecContext", StmtExec, 1, -1},
	{sqlx, "Stmt", "Exec|MustExec", StmtExec, 0, -1},
	{sqlx, "Stmt", "QueryContext|QueryxContext", StmtQuery, 1, -1},
	{sqlx, "Stmt", "Query|Queryx", StmtQuery, 0, -1},
	{sqlx, "Stmt", "QueryRowContext|QueryRowxContext", StmtQueryRow, 1, -1},
	{sqlx, "Stmt", "QueryRow|QueryRowx", StmtQueryRow, 0, -1},
	{sqlx, "NamedStmt", "ExecContext", StmtNamed, 1, -1},
	{sqlx, "NamedStmt", "Exec", StmtNamed, 0, -1},
	{sqlx, "", "GetContext|SelectContext", SQLGet, 3, 4},
	{sqlx, "", "Get|Select", SQLGet, 2, 3},
	{sqlx, "", "NamedExecContext", SQLNamed, 2, 3},
	{sqlx, "", "NamedExec", SQLNamed, 1, 2},
	{sqlx, "", "MustExec", SQLExec, 1, 2},
	{sqlx, "", "MustExecContext", SQLExec, 2, 3},
	{sqlx, "Row", "Scan|StructScan|MapScan|Err", Scan, 0, -1},
	{sqlx, "Rows", "Scan|StructScan|MapScan", Scan, 0, -1},
	{sqlx, "Rows", "Next", RowNext, -1, -1},
	{sqlx, "*", "NamedQueryContext", SQLNamedRow, 1, 2},
	{sqlx, "*", "NamedQuery", SQLNamedRow, 0, 1},
	{sqlx, "", "NamedQueryContext", SQLNamedRow, 2, 3},
	{sqlx, "", "NamedQuery", SQLNamedRow, 1, 2},
	{sqlx, "", "In|Named", SQLText, 0, 1},
	{sqlx, "*", "BindNamed", SQLText, 0, 1},
	{sqlx, "", "Rebind", IDText, 1, -1},
	{sqlx, "*", "Rebind", IDText, 0, -1},
	{sqlx, "DB", "Unsafe", SameTx, -1, -1},
}

// NoRows are the error variables by which the libraries say that a row was not there.
var NoRows = map[Sym]bool{
	{pgx, "", "ErrNoRows"}:                                      true,
	{stdsql, "", "ErrNoRows"}:                                   true,
	{"gorm.io/gorm", "", "ErrRecordNotFound"}:                   true,
	{"github.com/redis/go-redis", "", "Nil"}:                    true,
	{"github.com/gomodule/redigo/redis", "", "ErrNil"}:          true,
	{"go.mongodb.org/mongo-driver/mongo", "", "ErrNoDocuments"}: true,
}

// AbsentText are the error types that hold a text, and the text that says that a key was not there: their variable is a
// constant.
var AbsentText = map[Sym]string{
	{redis + "/internal/proto", "", "RedisError"}: "redis: nil",
}

// UniqueViolation are the error variables by which they say that a key was taken.
var UniqueViolation = map[Sym]bool{
	{"gorm.io/gorm", "", "ErrDuplicatedKey"}: true,
}

// A DriverCode is where a driver's error type holds its code, and the code of a unique violation.
type DriverCode struct {
	Field string
	Text  string
	Num   int64
}

// DriverError are the driver's error types, with the field that holds the code and the code of a unique violation.
var DriverError = map[Sym]DriverCode{
	{pgconn, "", "PgError"}:                               {Field: "Code", Text: "23505"},
	{"github.com/lib/pq", "", "Error"}:                    {Field: "Code", Text: "23505"},
	{"github.com/go-sql-driver/mysql", "", "MySQLError"}:  {Field: "Number", Num: 1062},
	{"github.com/mattn/go-sqlite3", "", "Error"}:          {Field: "ExtendedCode", Num: 2067},
	{"modernc.org/sqlite", "", "Error"}:                   {Field: "code", Num: 2067},
	{"github.com/jackc/pgerrcode", "", "UniqueViolation"}: {Text: "23505"},
}

const gorm = "gorm.io/gorm"

var gormRows = []Row{
	{gorm, "", "Open", OpenDB, -1, -1},
	{bun, "", "NewDB", OpenDB, -1, -1},
	{gorm, "DB", "Create", GormCreate, 0, -1},
	{gorm, "DB", "CreateInBatches", GormCreate, 0, -1},
	{gorm, "DB", "FirstOrCreate", GormFirstOrCreate, 0, -1},
	{gorm, "DB", "Save", GormSave, 0, -1},
	{gorm, "DB", "Update|UpdateColumn", GormUpdate, 1, -1},
	{gorm, "DB", "Updates|UpdateColumns", GormUpdate, 0, -1},
	{gorm, "DB", "Delete", GormDelete, 0, -1},
	{gorm, "DB", "First|Take|Last|Find|Scan|Pluck|FirstOrInit", GormFind, 0, -1},
	{gorm, "DB", "Row|Rows", GormFind, -1, -1},
	{gorm, "DB", "Count", GormCount, 0, -1},
	{gorm, "DB", "Exec", GormExec, 0, 1},
	{gorm, "DB", "Raw", GormChain, -1, -1},
	{gorm, "DB", "Where|Clauses|Model|Table|Select|Omit|Joins|Preload|Order|Limit|Offset|Group|Having|Not|Or|Distinct|Scopes|Unscoped|Assign|Attrs|Set", GormChain, -1, -1},
	{gorm, "DB", "WithContext|Session|Debug|Begin0|InstanceSet", SameTx, -1, -1},
	{gorm, "DB", "Begin", Begin, -1, -1},
	{gorm, "DB", "Commit", Commit, -1, -1},
	{gorm, "DB", "Rollback|RollbackTo", Rollback, -1, -1},
	{gorm + "/clause", "", "Assignments", GormAssign, 0, -1},
	{gorm, "DB", "Transaction", TxFunc, 0, -1},
	{gorm, "DB", "SavePoint|AutoMigrate|DB|Migrator|AddError|Get", Silent, -1, -1},
}
