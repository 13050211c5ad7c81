package rule

func uuidv7Page() *Page {
	return &Page{
		Analyzer: "uuidv7",
		Title:    "an event id is a random (v4) UUID",
		Reports: []string{
			"A call that makes a version 4 UUID (of google/uuid, gofrs, satori, hashicorp, watermill, or a wrapper of these in any package) " +
				"whose result becomes the id of an event or message: a field, parameter, map key or header named so, the id field of a type " +
				"named as an event, message or envelope, the id of a CloudEvent or of a watermill message. Where the library has version 7, " +
				"the finding carries the edit that changes it.",
		},
		Why: []string{
			"Every consumer of the event keeps its id in a primary key. Random ids fall all over that index: each insert reads and dirties " +
				"another page, and once the index no longer fits into memory, the check costs more than the work it protects.",
			"A version 7 UUID begins with the millisecond in which it was made. Inserts go to the end of the index, events sort by time, " +
				"and a range of ids is a range of time: the dedup table can be partitioned by its own key and old partitions dropped whole, " +
				"which random ids rule out (see `idemlint explain dedupsql`).",
		},
		Silent: []string{
			"Ids of requests, traces, users, orders and other entities.",
			"The own id of an outbox row, unless a publisher in sight sends it as the event's id.",
			"Versions 6 and 7, ULIDs, and name-based version 5, which is the same each time it is made.",
		},
		Settings: []string{options("`event-ids` are further names of an event's id.")},
	}
}

func payloadidPage() *Page {
	return &Page{
		Analyzer: "payloadid",
		Title:    "an event id travels only in a Kafka header",
		Reports:  []string{"An id of an event that is in the headers and not in the payload, seen from either side."},
		Kinds: []string{
			"a consumer takes the key by which it tells repeats from a header (the `UUID` of a watermill message is one): the finding stands " +
				"where the header is named",
			"a producer writes a header for the event's id, and the type of the payload has no field for it",
		},
		Why: []string{
			"Payloads are kept, headers are not always: a connector that writes to a bucket or a table leaves them out, a replay tool or a " +
				"mirror may send the value alone, a dead-letter queue may put its own in their place. After that the event has no id. The " +
				"consumer then finds an empty key: it fails on every event of the replay, or, worse, marks the first and skips all others as " +
				"repeats of it.",
			"An id in the payload is stored, replayed and mirrored with the event, and is there for those who never see Kafka.",
		},
		Silent: []string{
			"Headers read for tracing, routing or a schema version.",
			"A header that repeats the id of the payload.",
			"`ID()` of the CloudEvents SDK. `ce_id` read as a header to tell repeats is reported.",
			"Payloads whose type cannot be seen, such as bytes that a relay passes on.",
		},
		Settings: []string{options("`event-ids` are further names of an event's id.")},
	}
}
