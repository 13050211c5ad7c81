package know

import "sync"

// Kind says what a call does, as far as the rules care.
type Kind uint8

// The kinds of calls. What Arg and Arg2 of a [Row] mean is said beside each kind; an argument index counts from the
// first argument after the receiver, -1 is "none".
const (
	None Kind = iota

	// Messages.
	Ack        // acknowledges or commits; Arg is the message or messages, -1 when it commits all that was polled
	Nack       // hands the message back
	NewReader  // makes a reader; Arg is its configuration
	AutoRead   // reads and, on a reader with a group, commits what it returned
	Middleware // its function arguments wrap every handler of the router
	Register   // Arg is the function that is called with a message later (-1: every function among the arguments)
	Each       // Arg is the function that is called with a message before the call returns
	EachFault  // the same with what is no message: errors of the client
	Produce    // sends messages; Arg is the message, messages or payload
	Consumed   // yields consumed messages though its type alone does not say so
	Delivered  // yields what was produced: its offset is none of a consumed message
	TxnEnd     // ends a Kafka transaction that also commits the consumed offsets

	// SQL by text. Arg is the index of the text, Arg2 that of the first bind argument.
	SQLExec
	SQLQuery    // returns rows
	SQLQueryRow // returns one row to scan
	SQLGet      // scans into Arg2-1 directly: sqlx Get and Select
	SQLText     // a text made of the text at Arg and the arguments from Arg2 on: both are returned
	SQLNamedRow // as SQLNamed, and returns rows
	SQLNamed    // bind values come from a struct or map at Arg2
	SQLPrepare  // returns a statement whose Exec and Query take only bind arguments
	StmtExec    // Arg is the first bind argument
	StmtQuery
	StmtQueryRow
	StmtNamed   // Arg holds the bind values
	BatchQueue  // pgx.Batch.Queue
	BatchTells  // the function Arg is told what came of a queued statement
	BatchSend   // runs the batch Arg
	BatchResult // the outcome of the next statement
	BatchClose  // ends the results: the functions are called
	CopyFrom    // bulk insert; Arg is the table

	// Transactions and outcomes.
	OpenDB      // opens the database: on what it returns no transaction is open
	Begin       // returns a transaction
	TxFunc      // Arg is the closure that runs in a transaction; it commits when the closure returns nil
	Commit      //
	Rollback    //
	Scan        // scans a row
	RowNext     // rows.Next
	CollectRows // reads all rows of Arg into a slice
	CollectOne  // reads one row of Arg
	EachRow     // runs Arg2 for each row of Arg
	Affected    // RowsAffected of a result
	UseTx       // returns a handle on the transaction Arg
	StmtOnTx    // the statement Arg, on the transaction it was called on
	SameTx      // returns the handle it was called on, possibly with options: WithContext, Debug
	Savepoint   // Begin on a transaction

	// GORM.
	GormCreate // Arg is the model
	GormSave   // upsert by primary key
	GormUpdate // sets absolute values unless an expression is among them
	GormDelete
	GormFind // looks up; found or gorm.ErrRecordNotFound
	GormCount
	GormChain // Where, Clauses, Model, …: collects
	GormExec  // raw SQL, Arg the text
	GormFirstOrCreate
	GormAssign // makes the assignments of an upsert of the map Arg

	// Query builders and ORMs that collect and then run.
	BuildInsert // Arg is the table or model
	BuildUpdate
	BuildDelete
	BuildSelect
	BuildRaw  // Arg is the statement's text, Arg2 its arguments
	BuildStep // Columns, Values, Suffix, OnConflict, Where, …
	BuildRun  // Exec, Scan, Save, …: the statement runs
	BuildText // ToSql: the statement's text and its arguments
	BuildExpr // a piece of SQL as a value: Arg is the text

	// Redis.
	RedisSetNX   // Arg is the key; true or 1 when it was absent
	RedisSet     // Arg is the key
	RedisDel     // Arg is the key
	RedisGet     // Arg is the key
	RedisExists  // Arg is the key
	RedisSAdd    // Arg is the key, Arg2 the member; 1 when it was absent
	RedisSMember // Arg is the key, Arg2 the member
	RedisWrite   // any other write: INCR, LPUSH, XADD, ZADD, …
	RedisDo      // command by name at Arg, its arguments from Arg2 on; with none, all in a list at Arg
	RedisResult  // Result, Val, Err of a command
	RedisScript  // runs a Lua script; Arg is the index of its keys
	RedisNewLua  // makes a script of the text Arg
	RedisPipe    // executes the commands of a pipeline: those that the function Arg queues, or all that were queued

	// MongoDB.
	MongoInsert
	MongoUpdate  // Arg is the filter, Arg2 the update document
	MongoReplace // by filter
	MongoDelete
	MongoFind
	MongoCount
	MongoBulk       // Arg is the list of models
	MongoCollection // opens the collection whose name is Arg
	MongoModel      // makes a model of a bulk write

	// The outside world.
	HTTPSend   // Arg is the request
	HTTPPost   // Arg is the URL; always mutating
	HTTPGet    // Arg is the URL; never mutating
	HTTPNew    // makes a request: Arg is the method, Arg2 the URL
	HTTPHeader // sets a header: Arg is the name, Arg2 the value
	RestSend   // resty and req: Arg is the URL, Name says the method
	RestStep   // returns the request it was called on
	GRPCInvoke // grpc.ClientConn.Invoke
	Mail
	FileWrite  // Arg is what is written to, -2 the receiver: a path, a file, or a writer that may be over a file
	FileOpen   // Arg is the path, Arg2 the flags
	WriterOver // a writer over the writer Arg
	ESWrite    // search index write: Arg is the document
	OtherWrite
	KeyStore // a key-value or object store write by key: lands on the same state

	// Ids.
	V4          // a random id
	V7          // an id ordered by time, or otherwise fine
	NameID      // an id derived from its arguments: by name, or their digest
	Digest      // the digest of what was written to the receiver
	IDText      // the same id in another form: String, MustParse
	FreshValue  // different on every call: time.Now, rand
	ClockPart   // makes the hour, the day or the like of a moment, or a text of it
	EventIDSink // the call makes its argument Arg an event id
	HeaderRead  // Arg is the name of a message header
	HeaderWrite // Arg is the name of a message header, Arg2 its value
	HeadersOf   // yields a message's headers
	OffsetOf    // yields a message's offset
	PlaceOf     // yields a message's topic or partition
	KeyOf       // yields a message's key
	NewMessage  // watermill's message.NewMessage: Arg is the id, Arg2 the payload

	// Values.
	ErrIs       // errors.Is
	ErrAs       // errors.As
	ErrNew      // a new error
	ErrStatus   // the gRPC status of the error Arg
	CodeName    // the name of the SQLSTATE that it is called on
	ErrCode     // the gRPC code of the error Arg, or of the status it is called on (-2)
	ErrWrap     // an error that wraps its arguments
	IsDuplicate // tells whether the error at Arg is a unique violation
	Sprintf     // formats: Arg is the format
	Sprint      // joins its arguments
	Decode      // fills Arg2 from Arg
	DecodeRet   // returns a value made of Arg
	Encode      // returns Arg as bytes
	PutBytes    // writes Arg2 into Arg
	CtxWith     // context.WithValue: Arg the key, Arg2 the value
	CtxValue    // context.Value: Arg the key
	CtxErr      // context.Err
	Wait        // waits for goroutines; Arg is for how many, of whom one is the caller's own
	GoFunc      // runs the function Arg in another goroutine
	CallFunc    // runs the function Arg now: sync.Once.Do, lo.ForEach, backoff.Retry
	AtomicStore // the last argument
	AtomicAdd
	AtomicLoad
	MemoryAsk // asks a set in the memory of the process for Arg; its last boolean says that it was there
	Silent    // no effect at all: logging, metrics, tracing
	BuiltText // the text in a builder or buffer
	ResetText // empties it
	TextOp    // gives a text made of the text that is its first argument
	JoinText  // joins the texts Arg with Arg2
	StringFn  // strings.Contains and the like on an error's text
	KeepIf    // leaves of the collection Arg the elements for which the function Arg2 is true
	DropIf    // leaves the others
	Elements  // gives a collection or sequence made of the elements of Arg
	Counted   // gives a collection or sequence of Arg elements
	Includes  // tells whether the collection Arg has an element
)

// A Row is what is known about a function or method.
type Row struct {
	Pkg  string // normalised import path, see [Normal]
	Recv string // type name, "" for a function of the package, "*" for both and for any type
	Name string // names, with | between
	Kind Kind
	Arg  int
	Arg2 int
}

// A Sym names a function of a library.
type Sym struct{ Pkg, Recv, Name string }

// index is made when it is asked for: most processes of a go vet end before that.
var index = sync.OnceValue(func() map[Sym]*Row {
	m := make(map[Sym]*Row, 1500)
	for _, table := range [][]Row{kafkaRows, sqlRows, gormRows, builderRows, redisRows, mongoRows, outsideRows, remoteRows, idRows, valueRows} {
		for i := range table {
			r := &table[i]
			start := 0
			for j := 0; j <= len(r.Name); j++ {
				if j == len(r.Name) || r.Name[j] == '|' {
					k := Sym{r.Pkg, r.Recv, r.Name[start:j]}
					if _, dup := m[k]; !dup {
						m[k] = r
					}
					start = j + 1
				}
			}
		}
	}
	return m
})

// Lookup returns what is known about a function. The package path is normalised by the caller. It returns nil when
// nothing is known.
func Lookup(s Sym) *Row {
	rows := index()
	if r := rows[s]; r != nil {
		return r
	}
	if s.Recv != "*" {
		return rows[Sym{s.Pkg, "*", s.Name}]
	}
	return nil
}
