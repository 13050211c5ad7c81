package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A Message is what a transaction leaves in the outbox to be published.
type Message struct {
	// ID is the message's id, a UUID v7; the zero UUID asks for a fresh one.
	ID uuid.UUID
	// Topic is where it is published.
	Topic string
	// Key decides the partition, and messages of one topic and key are published in
	// order. Messages without a key (nil) have no order.
	Key []byte
	// Value is published as it is. Consumers find the id in there, or not at all.
	Value []byte
	// Headers are published with it.
	Headers []kgo.RecordHeader
}

// Emit leaves an event in the outbox, in the handler's transaction: it is published if
// and only if that commits, by a Relay (Config.Relay), soon after. payload is encoded
// with encoding/json, to an object. Emit makes a UUID v7, once, and puts it into the
// field "eventId" (or "event_id", if the payload has it), unless the payload brings one
// there that is a UUID v7. It returns the id. An empty key means none.
//
// The event may be published more than once, always with the same id, which is how its
// consumers know a repeat. For its place among the others of its topic and key see Relay.
//
// In a handler Emit costs no round trip: the row is queued, see Queue. With a tx that is
// not the runtime's own it is inserted at once, into the outbox_message that the
// search path finds.
func Emit(ctx context.Context, tx pgx.Tx, topic, key string, payload any) (uuid.UUID, error) {
	document, err := json.Marshal(payload)
	if err != nil {
		return uuid.Nil, fmt.Errorf("emitting to topic %q: encoding the payload: %w", topic, err)
	}
	fresh, err := uuid.NewV7()
	if err != nil {
		return uuid.Nil, fmt.Errorf("emitting to topic %q: making an id: %w", topic, err)
	}
	value, id, err := identify(document, fresh)
	if err != nil {
		return uuid.Nil, fmt.Errorf("emitting to topic %q: %w", topic, err)
	}
	m := Message{ID: id, Topic: topic, Value: value}
	if key != "" {
		m.Key = []byte(key)
	}
	return EmitMessage(ctx, tx, m)
}

// EmitMessage is Emit for a value that is encoded already, whatever its format. Its
// consumers do not see m.ID unless the value holds it, so that it is usually made before
// the value is. The id also becomes the header HeaderEventID, for people and tools.
func EmitMessage(ctx context.Context, tx pgx.Tx, m Message) (uuid.UUID, error) {
	if m.Topic == "" {
		return uuid.Nil, errors.New("emitting a message: it has no topic")
	}
	if m.ID == uuid.Nil {
		var err error
		if m.ID, err = uuid.NewV7(); err != nil {
			return uuid.Nil, fmt.Errorf("emitting to topic %q: making an id: %w", m.Topic, err)
		}
	}
	if _, ok := EventTime(m.ID); !ok {
		return uuid.Nil, fmt.Errorf("emitting to topic %q: id %s is no UUID v7, and consumers could not tell its age", m.Topic, m.ID)
	}
	sql := insertMessageSQL(outboxTable)
	if own, ok := tx.(*batchTx); ok {
		sql = own.session.outboxSQL
		own.session.emitted = true
	}
	m.Headers = append(foreignHeaders(m.Headers), kgo.RecordHeader{Key: HeaderEventID, Value: []byte(m.ID.String())})
	if err := Queue(ctx, tx, sql, m.args()...); err != nil {
		return uuid.Nil, fmt.Errorf("emitting to topic %q: %w", m.Topic, err)
	}
	return m.ID, nil
}

const outboxTable = "outbox_message"

// insertMessageSQL takes a message's args.
func insertMessageSQL(table string) string {
	return `INSERT INTO ` + table + ` (id, topic, key, value, header_keys, header_values) VALUES ($1, $2, $3, $4, $5, $6)`
}

func (m Message) args() []any {
	keys, values := splitHeaders(m.Headers)
	return []any{m.ID, m.Topic, m.Key, m.Value, keys, values}
}

func splitHeaders(headers []kgo.RecordHeader) (keys, values [][]byte) {
	keys, values = make([][]byte, len(headers)), make([][]byte, len(headers))
	for i, h := range headers {
		keys[i], values[i] = []byte(h.Key), h.Value
	}
	return keys, values
}

var errNoObject = errors.New("the payload is no JSON object, and has no place for the event's id")

// identify puts id into a JSON object, unless it holds a UUID v7 as its event id already,
// and returns the document and the id that it then holds.
func identify(document []byte, id uuid.UUID) ([]byte, uuid.UUID, error) {
	type span struct{ from, to int }
	var empty []span
	s := scanner{data: document}
	if s.space(); s.peek() != '{' {
		return nil, uuid.Nil, errNoObject
	}
	inside, members, present := s.pos+1, 0, false
	err := s.object(func(name, value []byte) error {
		members++
		if !slices.Contains(defaultIDFields, string(name)) {
			return nil
		}
		switch string(value) {
		case `null`, `""`, `"` + uuid.Nil.String() + `"`:
			empty = append(empty, span{s.pos - len(value), s.pos})
		default:
			present = true
		}
		return nil
	})
	if err != nil {
		return nil, uuid.Nil, err
	}
	if present {
		own, err := JSON{}.EventID(document)
		if err != nil {
			return nil, uuid.Nil, fmt.Errorf("the payload's event id: %w", err)
		}
		return document, own, nil
	}
	if len(empty) == 0 {
		member := `"` + defaultIDFields[0] + `":"` + id.String() + `"`
		if members > 0 {
			member += ","
		}
		return append(append(append([]byte(nil), document[:inside]...), member...), document[inside:]...), id, nil
	}
	var out []byte
	at := 0
	for _, e := range empty {
		out = append(append(out, document[at:e.from]...), `"`+id.String()+`"`...)
		at = e.to
	}
	return append(out, document[at:]...), id, nil
}
