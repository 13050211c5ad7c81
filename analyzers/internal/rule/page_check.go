package rule

// options says of a rule which options of the whole linter matter to it.
func options(these string) string {
	return these + " Every option is a flag of this rule, too, as in `-dedupcheck.guards`; they are on the page of `idemlint`."
}

func dedupcheckPage() *Page {
	return &Page{
		Analyzer: "dedupcheck",
		Title:    "a handler does its work again when a message is delivered again",
		Reports: []string{
			"A function that gets a Kafka message, and from which something the outside world can see (a database write, an HTTP or gRPC " +
				"call, a produced message, a mail, a file) is reached on a path that does not first ask, of a durable store, whether the " +
				"event has been processed. The message is followed through helpers, packages, middleware, channels and interfaces to the " +
				"effect, and so is the check; the way between them is listed with the finding.",
		},
		Kinds: []string{
			"there is no check at all",
			"the check comes after the effect",
			"the effect is reached whatever the check answers",
			"the effect is reached when the check fails, because its error is logged or dropped",
			"the check asks the memory of the process, which a restart empties and another instance does not share",
		},
		Why: []string{
			"Kafka delivers at least once. A consumer that is killed between its work and its commit, a rebalance, a reset offset, a replay " +
				"of the dead letters: each brings events a second time, and `enable.idempotence` at the producer prevents none of them. A " +
				"handler that adds points, sends a mail or charges a card does it once per delivery. It works in every test, until the first " +
				"deployment under load: then customers are charged twice.",
			"The remedy is one row: the event's id goes into a table with a unique key, in the transaction of the work, and the number of " +
				"inserted rows tells whether the work is still to be done.",
		},
		Silent: []string{
			"Effects that land on the same state when repeated: an upsert by key that sets absolute values, a DELETE by key, an UPDATE " +
				"guarded by the state it leaves, Redis SET and DEL, MongoDB `$set` by id, " +
				"a whole file written anew under a name that the event gives. `-dedupcheck.strict` counts them.",
			"Logs, metrics, traces and reads.",
			"The message itself sent on to a retry or dead-letter topic.",
			"What is produced in a Kafka transaction that commits the consumed offsets, too.",
			"What another case of a `select` does, a timer's or a signal's, unless messages are gathered for it.",
			"What comes out of a channel on which the program sends only messages it has made itself: the queue of a producer.",
			"Handlers run by the companion runtime, which asks for them.",
			"A check whose key or SQL is wrong: it counts here, and has a rule of its own (X2, 1, 2).",
			"An interface that nothing in sight implements: `-debug` names it.",
		},
		Settings: []string{
			"A check that cannot be looked into, such as a method of an interface that another module implements, is declared as one by the " +
				"comment `//idemlint:guard` at its declaration, or by `guards` in `.idemlint.yml`.",
			options("`messages`, `handlers` and `clients` name what an in-house library calls them, `trust` what has no effect, and `strict` " +
				"counts writes that land on the same state when repeated as effects, too."),
		},
	}
}

func offsetkeyPage() *Page {
	return &Page{
		Analyzer: "offsetkey",
		Title:    "a dedup key is made of the offset",
		Reports: []string{
			"The offset of a consumed message that flows into what tells repeats apart: the key of a check, an argument of SQL on the dedup " +
				"table, a Redis SETNX key, the key of a set that decides what is skipped, an `Idempotency-Key`, or a field, variable, " +
				"parameter or result named as a dedup or event id. The flow is followed through formatting, hashing, struct fields and " +
				"helpers. The finding stands where the offset is read. It stands there also when the offset only fills in for an event " +
				"without an id.",
		},
		Why: []string{
			"Topic, partition and offset look like a unique name that comes free of charge. They name a place in a log, and an event may be " +
				"in several: the producer sends again after a lost answer, an outbox relay restarts, a mirror or a new cluster numbers from " +
				"zero, a dead letter is put back at the end of its topic. The repeat then has a key of its own, passes the check, and the " +
				"work is done twice.",
			"It fails the other way round, too. When a topic is deleted and created again, its offsets start from zero, and new events are " +
				"taken for old ones: they are skipped, without an error.",
		},
		Silent: []string{
			"Committing, seeking, computing lag, logging, metrics.",
			"Topic, partition and offset recorded beside the event's id, for audit.",
			"A key of topic and partition without the offset.",
			"The offset of a record that has just been produced.",
			"A counter of retries, or a tracker of commit positions, keyed by the offset.",
		},
		Settings: []string{options("`messages` names further types with an offset, `event-ids` further names of keys.")},
	}
}

func moneykeyPage() *Page {
	return &Page{
		Analyzer: "moneykey",
		Title:    "a call that moves money has no idempotency key of the event",
		Reports: []string{
			"A call that moves money, reached from a message, on which some path sets no idempotency key that a redelivery repeats. Such " +
				"calls are the mutating ones of payment SDKs, HTTP and gRPC calls whose address, method or function speaks of money " +
				"(charge, refund, payout, transfer …) or whose host is a payment provider's, and calls of interfaces that name a payment " +
				"gateway or client.",
		},
		Kinds: []string{
			"no key, on one path or on all; when the client comes from outside the module, the message says that it is taken to add none",
			"an empty key",
			"a key made anew on each attempt: a random UUID, the clock, the number of the attempt",
			"a constant key, under which every later event looks like a repeat of the first",
			"one key for two calls of the same event, of which the provider does only the first",
		},
		Why: []string{
			"The check of the event and the transaction protect the own database and nothing beyond it. The provider charges the card, its " +
				"answer is lost in a reset connection, the transaction is rolled back and the mark with it: to the database the event is new, " +
				"and the next delivery charges again. Only the provider can see that both calls are one, and only by a key that is the same " +
				"on both.",
			"Derive it from the event's id, with a word for the step (`charge-…`, `refund-…`), so that two calls for one event have two keys.",
		},
		Silent: []string{
			"Calls that only read.",
			"Money calls that no message reaches, such as those of an HTTP API.",
			"A key derived from the event's id or from other fields of its payload, in the header or the provider's own one, a field or " +
				"setter of the SDK, gRPC metadata, a request field, a transport or an interceptor, on every path.",
			"A key whose origin cannot be seen.",
			"A key made of the offset: that is R-KFK-IDEM-X2.",
			"A gateway of which every implementation in sight stays in the process: a simulator, a ledger in the same database.",
		},
		Settings: []string{options("`money-words` are further words that say that money moves.")},
	}
}
