package know

import (
	"strings"
	"unicode"
)

// Words splits an identifier into its lower-case words: at case changes, underscores, dashes, dots and spaces.
func Words(name string) []string {
	var words []string
	var cur []rune
	flush := func() {
		if len(cur) > 0 {
			words = append(words, strings.ToLower(string(cur)))
			cur = cur[:0]
		}
	}
	rs := []rune(name)
	for i, r := range rs {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r):
			if i > 0 && (unicode.IsLower(rs[i-1]) || unicode.IsDigit(rs[i-1])) {
				flush()
			} else if i > 0 && i+1 < len(rs) && unicode.IsUpper(rs[i-1]) && unicode.IsLower(rs[i+1]) {
				flush()
			}
		}
		cur = append(cur, r)
	}
	flush()
	return words
}

func flat(name string) string { return strings.Join(Words(name), "") }

// EventID reports whether a name means the id of an event or message: eventId, event_id, ce-id, MessageUUID.
func EventID(name string) bool {
	f := flat(name)
	switch f {
	case "ceid", "xeventid", "xmessageid":
		return true
	}
	for _, subject := range [...]string{"event", "message", "msg", "evt"} {
		for _, id := range [...]string{"id", "uuid", "guid"} {
			if f == subject+id || strings.HasSuffix(f, subject+id) && !foreign(f, subject+id) {
				return true
			}
		}
	}
	return false
}

// foreign: an id of some other thing that ends like an event's id, or of an event in another role.
func foreign(f, tail string) bool {
	head := strings.TrimSuffix(f, tail)
	for _, w := range [...]string{"request", "trace", "parent", "causation", "correlation", "reply", "calendar", "ticketed", "stripe", "inreplyto"} {
		if strings.HasSuffix(head, w) {
			return true
		}
	}
	return false
}

// EnvelopeField reports whether a name is one that envelopes give to the event they carry: CloudEvents says data,
// EventBridge detail, Debezium payload and after.
func EnvelopeField(name string) bool {
	switch flat(name) {
	case "data", "payload", "body", "content", "detail", "event", "after", "rawdata", "rawpayload", "rawbody", "eventdata", "eventpayload":
		return true
	}
	return false
}

// EnvelopeText is EnvelopeField for a text: its event may be called by its name, event: "order.placed", and so on.
func EnvelopeText(name string) bool {
	switch flat(name) {
	case "data", "payload", "body", "rawdata", "rawpayload", "rawbody", "eventdata", "eventpayload":
		return true
	}
	return false
}

// DedupKey reports whether a name means the key by which repeats are told: everything [EventID] accepts, and dedup
// and idempotency keys.
func DedupKey(name string) bool {
	if EventID(name) {
		return true
	}
	f := flat(name)
	if strings.Contains(f, "idempoten") {
		for _, tail := range [...]string{"key", "id", "header", "token", "hash"} {
			if strings.HasSuffix(f, tail) {
				return true
			}
		}
	}
	if strings.Contains(f, "dedup") {
		for _, tail := range [...]string{"key", "id", "hash", "token", "fingerprint"} {
			if strings.HasSuffix(f, tail) {
				return true
			}
		}
	}
	return false
}

// Message reports whether a type's name says that its values are events, messages or envelopes.
func EventType(name string) bool {
	words := Words(name)
	for len(words) > 0 {
		last := words[len(words)-1]
		if isVersion(last) || last == "dto" || last == "payload" || last == "data" || last == "model" || last == "base" {
			words = words[:len(words)-1]
			continue
		}
		break
	}
	if len(words) == 0 {
		return false
	}
	switch words[len(words)-1] {
	case "event", "message", "envelope", "evt", "msg":
		return true
	}
	return false
}

func isVersion(w string) bool {
	return len(w) >= 2 && w[0] == 'v' && strings.Trim(w[1:], "0123456789") == ""
}

// A Polarity says which answer of a guard means "already processed".
type Polarity int8

// The polarities of a guard's answer.
const (
	NoGuard    Polarity = iota
	FreshTrue           // true, or a nil error, means first time
	DupTrue             // true means already processed
	EitherTrue          // the name does not say which
)

// GuardName tells whether a function's name says that it is the processed-event check, and how to read its answer.
// It decides only where the body cannot be seen.
func GuardName(typeName, name string) Polarity {
	w := Words(name)
	f := strings.Join(w, "")
	has := func(s string) bool { return strings.Contains(f, s) }
	dupish := has("processed") || has("duplicate") || has("dedup") || has("idempoten") || has("alreadyhandled") || has("handledbefore") ||
		has("seen") || has("consumedbefore") || has("alreadyconsumed")
	store := false
	t := flat(typeName)
	for _, s := range [...]string{"processed", "dedup", "idempoten", "inbox", "duplicat", "processedevent"} {
		if strings.Contains(t, s) {
			store = true
		}
	}
	if !dupish && !store {
		return NoGuard
	}
	first := ""
	if len(w) > 0 {
		first = w[0]
	}
	switch {
	case has("unmark"), has("delete"), has("purge"), has("cleanup"), has("release"), has("remove"), has("expire"), has("rollback"), has("markfailed"),
		first == "new", has("handler"), has("middleware"), has("eventprocessed"), has("list"), has("count"):
		return NoGuard
	case has("notprocessed"), has("isnew"), has("isfirst"), has("firsttime"), has("shouldprocess"), has("canprocess"):
		return FreshTrue
	case first == "is", first == "has", first == "was", first == "already", first == "exists", first == "contains", first == "seen",
		has("isprocessed"), has("isduplicate"), has("alreadyprocessed"), has("hasprocessed"), has("wasprocessed"), has("isalready"),
		has("exists"), has("existsby"), has("seenbefore"), has("checkprocessed"), has("checkduplicate"):
		return DupTrue
	case first == "try", first == "claim", first == "acquire", first == "reserve", has("trymark"), has("tryinsert"), has("tryprocess"), has("insertifabsent"), has("insertifnotexists"), has("markifnew"),
		has("tryacquire"), has("trystart"), has("setnx"), has("begin"), has("once"):
		return FreshTrue
	case first == "mark", first == "insert", first == "save", first == "record", first == "store", first == "add", first == "register", first == "create":
		// A late mark answers nothing; with a bool answer it is "inserted".
		return FreshTrue
	case first == "check", first == "ensure", first == "dedup", first == "deduplicate", first == "process":
		return EitherTrue
	}
	if dupish {
		return EitherTrue
	}
	return NoGuard
}

// HandlerName reports whether a method's name says that it takes events: it is where a dispatcher hands them to.
func HandlerName(name string) bool {
	w := Words(name)
	if len(w) == 0 {
		return false
	}
	switch w[0] {
	case "handle", "process", "consume", "on", "receive", "dispatch", "serve", "listen", "apply", "accept", "execute", "run", "call", "invoke":
		return true
	}
	return false
}
