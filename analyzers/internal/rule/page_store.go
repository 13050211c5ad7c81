package rule

func dedupsqlPage() *Page {
	return &Page{
		Analyzer: "dedupsql",
		Title:    "the dedup table's SQL cannot tell a repeat, or the table only grows",
		Reports: []string{
			"Statements on the table of processed events, in Go code (constants, `fmt.Sprintf`, builders, ORMs, sqlc) and in the module's " +
				"`.sql` files. A dedup table is one named so (`processed_event`, `inbox`, `idempotency_key` …), or one by which a check " +
				"decides and that holds only ids, consumers, times and positions.",
			"The finding at an INSERT carries the edit that adds `ON CONFLICT DO NOTHING` (`idemlint -fix`), where the function that executes " +
				"it already leaves the work alone when it affects no row, for PostgreSQL. Elsewhere what zero rows mean has to be written first.",
		},
		Kinds: []string{
			"an INSERT without `ON CONFLICT DO NOTHING` (or `INSERT IGNORE`): a repeat is an error, and in PostgreSQL it aborts the transaction",
			"an INSERT with `ON CONFLICT … DO UPDATE`: a repeat changes a row, and looks new",
			"a SELECT first and an INSERT whose outcome nobody asks: two consumers that look at the same time both find nothing",
			"a table without a primary or unique key on the event's id",
			"a key that includes a column which differs on every try",
			"a random default on the event's id",
			"a table of which nothing removes old rows",
		},
		Why: []string{
			"The check is only as good as the unique key beneath it, and none of these shows an error while every event comes once. A repeat " +
				"finds them out: it passes as new, or fails on each delivery and holds up its partition; where a look comes first, only two " +
				"consumers at the same event do, as in a rebalance. The table that only grows takes half a year: then its index no longer " +
				"fits into memory, and each check reads from the disk.",
		},
		More: []Section{{
			Title: "The partition layout that cannot deduplicate",
			Text: []string{
				"Guides show a dedup table with `PRIMARY KEY (event_id, processed_at)`, partitioned by `processed_at DEFAULT now()`, as in the " +
					"example. PostgreSQL asks that a unique key of a partitioned table hold the columns it is partitioned by, so " +
					"`processed_at` was taken into the key to satisfy it. The key is then unique for the pair. The second delivery of an event " +
					"comes with another `now()`, its pair is new, `ON CONFLICT DO NOTHING` finds no conflict, one row is inserted, and the " +
					"work is done again. The table deduplicates nothing and shows no error. In this project's measurement, 4,000 events had " +
					"52,670 effects with it.",
				"A unique index on `event_id` alone cannot be added to that table, and one on each partition does not see the others.",
				"Partition by the event's id instead. A UUID of version 7 begins with its time, so a range of ids is a range of time: the key " +
					"`(event_id, consumer_group)` holds the partition column, is unique across partitions, and old partitions are dropped " +
					"whole. For 502,000 rows that took 19 ms and 40 kB of WAL, where a DELETE in batches wrote 58 MB. For ids that are not " +
					"version 7, keep a plain table and delete by `processed_at` in batches.",
				"A time that comes with the event, and is the same on every delivery, may be part of the key.",
			},
		}},
		Silent: []string{
			"An INSERT whose unique violation is handled as a repeat, outside a transaction or in a savepoint of its own.",
			"A look first when the INSERT's own outcome decides: rows affected, RETURNING, a handled violation.",
			"A unique key that is added later, by ALTER TABLE or CREATE UNIQUE INDEX.",
			"Partitions: they have the key of their parent, and dropping one is the parent's cleanup.",
			"The growth of tables that hold payloads or a status: they are queues, and their rows go when the work is done.",
			"Outboxes.",
			"In `go vet` and golangci-lint: growth, and faults that stand in a `.sql` file. Only the stand-alone command sees the whole module.",
		},
		Settings: []string{options("`dedup-tables` are tables that remember events under other names.")},
	}
}

func deduptxPage() *Page {
	return &Page{
		Analyzer: "deduptx",
		Title:    "mark and business write are not in one transaction",
		Reports: []string{
			"A mark (the row that says that the event is processed) and a business write to a database that can be committed one without " +
				"the other. Transactions are followed through closures, contexts, repositories and sqlc's `WithTx`.",
		},
		Kinds: []string{
			"the mark is written on the pool, before the write",
			"the mark is in the transaction, and the write on the pool or in another transaction",
			"the transaction of the mark is committed before the write",
			"the mark is in a store that cannot join the transaction, such as Redis",
			"an error of the mark is dropped, so that a failure is taken for a repeat",
		},
		Why: []string{
			"Between two commits a process can die. When the mark is committed and the write is not, the next delivery finds the mark and " +
				"does nothing: an order is paid for and never booked, and no error says so. When the write is committed and the mark is not, " +
				"the next delivery does it again.",
			"In one transaction both are there or neither, and a delivery after a crash starts from where it was.",
		},
		Silent: []string{
			"A mark that decides nothing: the handler has no check then, and R-KFK-IDEM-X1 says so.",
			"A mark in SQL whose only effects are ones that no transaction holds, such as HTTP calls, Redis or MongoDB.",
			"A handle of which it cannot be seen whether it is in a transaction.",
		},
		Settings: []string{options("`dedup-tables` are tables that remember events under other names.")},
	}
}

func ackorderPage() *Page {
	return &Page{
		Analyzer: "ackorder",
		Title:    "an offset is committed before the work it stands for",
		Reports: []string{
			"An acknowledgement (a commit, a mark of the offset, an `Ack`, a return without an error where that acknowledges) that is " +
				"reached when the work of its message is not done yet, or has failed.",
		},
		Kinds: []string{
			"the acknowledgement comes before the effect",
			"it comes before the commit of the effect's transaction",
			"it does not wait for the goroutine in which the effect runs, or to which the message was sent by a channel",
			"the message is only gathered in a field, to be written when that is emptied",
			"the effect has failed, and its error was only logged or dropped",
			"kafka-go's `ReadMessage` on a reader with a GroupID, which commits what it returns",
		},
		Why: []string{
			"A committed offset says that everything before it is done, and the group never goes back. When the process is killed between " +
				"the acknowledgement and the work, or the work fails after it, the event is gone: no redelivery, no error, no lag. It is " +
				"noticed when somebody asks where their order is.",
			"Acknowledged last, the same crash brings a redelivery, and the check of R-KFK-IDEM-X1 makes that harmless.",
		},
		Silent: []string{
			"Messages that are skipped because they cannot be decoded, or that went to a dead-letter or retry topic.",
			"Parallel workers whose marks pass each other.",
			"A later commit that passes over a failed message.",
			"A client's default auto-commit.",
			"`ReadMessage` on a reader without a GroupID, or where there is no effect.",
		},
		Settings: []string{options("`clients` says which functions of an in-house client acknowledge.")},
	}
}
