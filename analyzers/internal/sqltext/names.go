package sqltext

import "strings"

// words splits a name at separators, at holes and where camel case starts a new word, in lower case. Digits count as
// separators.
func words(name string) []string {
	var out []string
	start := -1
	flush := func(end int) {
		if start >= 0 && end > start {
			out = append(out, strings.ToLower(name[start:end]))
		}
		start = -1
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case !isNameStart(c) || c == '_':
			flush(i)
			continue
		case start >= 0 && isUpper(c) && (!isUpper(name[i-1]) || i+1 < len(name) && isLower(name[i+1])):
			flush(i)
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(name))
	return out
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// singular drops the plural of the English nouns these names are made of.
func singular(w string) string {
	switch {
	case strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "xes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us"):
		return w[:len(w)-1]
	}
	return w
}

// IsDedupName tells whether a table's name (without its schema) says that it remembers which events have been
// handled: processed_events, inbox, idempotency_keys, consumed_..., received_messages, anything with dedup, with any
// prefix, suffix and spelling. The order counts: events_processed are as often the events themselves. Outboxes, queues
// and dead letters do not count. The extra names are the configuration's; they count as they are, in any case.
func IsDedupName(name string, extra ...string) bool {
	for _, x := range extra {
		if strings.EqualFold(x, name) {
			return true
		}
	}
	if len(name) > 128 {
		return false
	}
	ws := words(name)
	done, dedup := false, false
	for i, w := range ws {
		w, next := singular(w), ""
		if i+1 < len(ws) {
			next = singular(ws[i+1])
		}
		switch {
		case strings.HasSuffix(w, "outbox"), w == "out" && next == "box", w == "queue", w == "dlq", w == "dead",
			w == "job", w == "task":
			return false
		case strings.Contains(w, "dedup"), strings.HasSuffix(w, "inbox"), w == "in" && next == "box",
			w == "de" && (next == "dup" || next == "duplication"), w == "idempotency", w == "idempotent", w == "idempotence",
			w == "consumed", isRunTogether(w), done && isDelivered(w):
			dedup = true
		case w == "processed", w == "received", w == "handled", w == "seen", w == "applied":
			done = true
		}
	}
	return dedup
}

// isDelivered tells words for what a consumer gets.
func isDelivered(w string) bool {
	switch w {
	case "event", "evt", "message", "msg", "delivery", "webhook", "command", "record", "id", "key":
		return true
	}
	return false
}

// isRunTogether tells names in which nothing separates the words: processedevents.
func isRunTogether(w string) bool {
	for _, part := range [...]string{"processed", "consumed", "received", "handled"} {
		rest, ok := strings.CutPrefix(w, part)
		if ok && (strings.HasPrefix(rest, "event") || strings.HasPrefix(rest, "message") || strings.HasPrefix(rest, "msg")) {
			return true
		}
	}
	return strings.HasPrefix(w, "idempotency") || strings.HasPrefix(w, "idempotent")
}

// IsEventIDColumn tells whether a column's name says that it holds the id of an event or message, or a key made for
// deduplication. See IsEventIDColumnIn for names that say so only where they stand.
func IsEventIDColumn(name string) bool {
	ws := words(name)
	if len(ws) == 0 || len(ws) > 6 {
		return false
	}
	last := singular(ws[len(ws)-1])
	switch last {
	case "eventid", "messageid", "msgid", "eventuuid", "messageuuid", "dedupid", "dedupkey", "idempotencykey":
		return true
	}
	if !isIDWord(last) {
		return false
	}
	for _, w := range ws[:len(ws)-1] {
		switch w {
		case "event", "message", "msg", "evt", "idempotency", "idempotent", "delivery", "webhook", "notification", "ce",
			"cloudevent", "processed", "inbox", "envelope":
			return !isParentID(ws)
		}
		if strings.Contains(w, "dedup") || w == "duplication" {
			return true
		}
	}
	return false
}

func isIDWord(w string) bool {
	switch w {
	case "id", "uuid", "guid", "key", "uid", "hash", "identifier", "ulid":
		return true
	}
	return false
}

// isParentID tells ids that name something else about an event: event_type_id, event_group_id.
func isParentID(ws []string) bool {
	if len(ws) < 3 {
		return false
	}
	switch ws[len(ws)-2] {
	case "type", "group", "schema", "category", "tenant", "user", "account", "causation", "correlation", "parent",
		"source", "partition", "consumer", "topic", "aggregate", "trace", "batch":
		return true
	}
	return false
}

// IsEventIDColumnIn is IsEventIDColumn for a column of a table that may be a dedup table (see IsDedupName for the
// extra names), where a bare id, key or hash is the event's.
func IsEventIDColumnIn(table Name, column string, extra ...string) bool {
	if IsEventIDColumn(column) {
		return true
	}
	ws := words(column)
	if len(ws) == 0 || !IsDedupName(table.Name, extra...) {
		return false
	}
	last := singular(ws[len(ws)-1])
	if len(ws) == 1 {
		return isIDWord(last) || last == "fingerprint"
	}
	switch ws[0] {
	case "request", "record", "command", "payload", "body", "content", "unique":
		return len(ws) == 2 && isIDWord(last)
	}
	return false
}

// IsTimeColumn tells whether a column's name says that it holds a point of time: processed_at, created, ttl,
// expires_on, timestamp.
func IsTimeColumn(name string) bool {
	ws := words(name)
	if len(ws) == 0 {
		return false
	}
	switch ws[len(ws)-1] {
	case "at", "on", "time", "timestamp", "date", "datetime", "ts", "until", "created", "updated", "expires", "expiry",
		"expiration", "processed", "received", "inserted", "modified", "ttl", "when", "since", "day", "month", "before",
		"after", "deadline", "tstamp", "createdat", "updatedat", "processedat", "expiresat", "receivedat":
		return true
	case "ms", "millis", "epoch", "unix", "utc", "sec", "seconds", "nanos", "micros":
		return len(ws) > 1
	}
	return ws[0] == "time" || ws[0] == "timestamp" || ws[0] == "expires"
}
