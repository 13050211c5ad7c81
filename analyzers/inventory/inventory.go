// Package inventory is what `idemlint handlers` lists: the handlers of a program as plain data, which travels as JSON. It
// finds nothing out and renders nothing.
package inventory

// A Verdict says what a second delivery of the same event does to the world.
type Verdict string

// The verdicts, worst first.
const (
	Unguarded  Verdict = "unguarded"            // it does an effect again: R-KFK-IDEM-X1
	AtMostOnce Verdict = "at most once"         // none, even when a remote effect failed: the mark stays
	GivenUp    Verdict = "given up"             // not known: it is too large to be looked at whole, or calls what is out of sight
	Guarded    Verdict = "guarded"              // none: a processed-event check stops it
	Idempotent Verdict = "idempotent by nature" // it writes again what is there
	NoEffect   Verdict = "no effect"            // there is nothing to do twice
)

// Verdicts are all verdicts, worst first.
func Verdicts() []Verdict {
	return []Verdict{Unguarded, AtMostOnce, GivenUp, Guarded, Idempotent, NoEffect}
}

// A Handler is a function that does the work for a Kafka record. Positions are file:line:column.
type Handler struct {
	Name     string  `json:"name"`     // as Go writes it, without the package: "Consumer.onPaid"
	Package  string  `json:"package"`  // import path
	Position string  `json:"position"` // where a finding about the handler stands
	Verdict  Verdict `json:"verdict"`
	Reason   string  `json:"reason,omitempty"`   // of the verdict, in a sentence
	Accepted string  `json:"accepted,omitempty"` // the reason given by the directive that switches the finding off

	// Client is the client library, Topics and Group are what it is told to read. They are empty where the code does not
	// say: where they come from the environment, or where one place makes clients for several.
	Client string   `json:"client,omitempty"`
	Topics []string `json:"topics,omitempty"`
	Group  string   `json:"group,omitempty"`

	Guards      []Guard     `json:"guards,omitempty"`
	Transaction Transaction `json:"transaction,omitempty"`
	Effects     []Effect    `json:"effects,omitempty"`
	Acks        []Ack       `json:"acks,omitempty"`
	Money       []MoneyCall `json:"money,omitempty"`

	// Flow is the way of a record, in order.
	Flow []Step `json:"flow"`
}

// A GuardState says what a check is worth.
type GuardState string

// The states of checks.
const (
	Decides   GuardState = "decides"
	Ignored   GuardState = "does not decide"
	FailsOpen GuardState = "fails open"
	Late      GuardState = "comes late"
	Forgets   GuardState = "forgets at restart"
)

// A Guard is a check whether the event has been processed.
type Guard struct {
	What     string     `json:"what"` // the statement or call
	Position string     `json:"position"`
	Store    string     `json:"store,omitempty"` // "sql", "redis", "mongo", "memory"; empty when only its name is seen
	Table    string     `json:"table,omitempty"`
	State    GuardState `json:"state"`
}

// A Transaction says how a handler's mark and its writes to the database belong together.
type Transaction string

// The kinds of transactions. A handler that writes to no database has none of them.
const (
	MarkAndWork Transaction = "mark and work" // in one
	Work        Transaction = "work"          // the writes are in one, without a mark
	Split       Transaction = "split"         // mark and writes are in different ones, or one of them is in none: R-KFK-IDEM-3
	Several     Transaction = "several"       // the writes are in more than one
	NoTx        Transaction = "none"
	UnknownTx   Transaction = "unknown" // it depends on a handle that comes from out of sight
)

// An Effect is something that the outside world sees.
type Effect struct {
	Kind       string `json:"kind"` // "database", "http", "grpc", "kafka", "mail", "redis", "mongo", "file", "other"
	What       string `json:"what"`
	Position   string `json:"position"`
	Repeated   bool   `json:"repeated"`             // a second delivery does it again
	Idempotent bool   `json:"idempotent,omitempty"` // it lands on the same state when repeated
	InTx       bool   `json:"inTransaction,omitempty"`
	Money      bool   `json:"money,omitempty"`
}

// An Ack is how a record is acknowledged. Position is empty where nothing in sight does: by returning, or by the client.
type Ack struct {
	What     string `json:"what"`
	Position string `json:"position,omitempty"`
	Fault    string `json:"fault,omitempty"` // what is wrong with it: R-KFK-IDEM-3
}

// A MoneyCall is a call that moves money.
type MoneyCall struct {
	What     string `json:"what"`
	Position string `json:"position"`
	Key      string `json:"key"`             // what its idempotency key is
	Fault    bool   `json:"fault,omitempty"` // the key is not what it must be: R-KFK-IDEM-4
}

// The kinds of steps.
const (
	StepPoll   = "poll"
	StepHand   = "handed on"
	StepGuard  = "guard"
	StepEffect = "effect"
	StepCommit = "commit"
	StepAck    = "ack"
)

// A Step is a part of the way of a record.
type Step struct {
	Kind     string `json:"kind"`
	What     string `json:"what"`
	Position string `json:"position,omitempty"`
	State    string `json:"state,omitempty"` // of a guard and of an effect, as there; of an ack its fault

	// Bypassed: the unguarded way passes it by. It leads to the first step that is reached by Bypass.
	Bypassed bool `json:"bypassed,omitempty"`
	Bypass   bool `json:"bypass,omitempty"`
}
