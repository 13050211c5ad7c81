package runtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A Decoder turns a record's value into a handler's type. It is called from
// several goroutines at once, and again for every attempt at a batch, so that a
// handler that changes its payload starts each attempt from the record.
type Decoder interface {
	// Decode stores the payload of rec in v, a pointer to the type that the
	// topic's handler was registered with, and returns the event's id. The id
	// must come out of the payload: headers are rewritten by retries, mirrors
	// and bridges. It returns ErrNoEventID if there is none, and ErrSkip for
	// a record that is to be passed over.
	Decode(rec *kgo.Record, v any) (uuid.UUID, error)
}

// JSON decodes payloads with encoding/json. The zero value takes the event id
// from the top-level field "eventId" or "event_id".
type JSON struct {
	// IDFields are the fields that may hold the event id, compared exactly,
	// unlike encoding/json's own matching. A dot descends into an object:
	// "metadata.eventId". If more than one of them is present, or one is
	// repeated, all must hold the same id.
	IDFields []string
}

var defaultIDFields = []string{"eventId", "event_id"}

// Decode implements Decoder.
func (d JSON) Decode(rec *kgo.Record, v any) (uuid.UUID, error) {
	if err := json.Unmarshal(rec.Value, v); err != nil {
		return uuid.Nil, fmt.Errorf("decoding JSON payload: %w", err)
	}
	return d.EventID(rec.Value)
}

// EventID returns the event id in a JSON document without decoding the rest.
// Its errors wrap ErrNoEventID or those of encoding/json.
func (d JSON) EventID(document []byte) (uuid.UUID, error) {
	fields := d.IDFields
	if len(fields) == 0 {
		fields = defaultIDFields
	}
	search := idSearch{fields: fields}
	if err := lookup(document, fields, &search); err != nil {
		return uuid.Nil, err
	}
	if search.where == "" {
		return uuid.Nil, fmt.Errorf("%w: none of the fields %q is present", ErrNoEventID, fields)
	}
	return search.found, nil
}

// idSearch gathers what the fields of a document hold.
type idSearch struct {
	fields []string // as configured
	found  uuid.UUID
	where  string // the field, empty if none was found
}

func (s *idSearch) take(field int, raw []byte) error {
	id, err := parseID(raw)
	if err != nil {
		return fmt.Errorf("field %q: %w", s.fields[field], err)
	}
	if s.where != "" && id != s.found {
		return fmt.Errorf("%w: fields %q and %q differ (%s, %s)", ErrNoEventID, s.where, s.fields[field], s.found, id)
	}
	s.found, s.where = id, s.fields[field]
	return nil
}

func parseID(raw []byte) (uuid.UUID, error) {
	if len(raw) < 2 || raw[0] != '"' {
		return uuid.Nil, fmt.Errorf("%w: not a string", ErrNoEventID)
	}
	text := raw[1 : len(raw)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		var unescaped string
		if err := json.Unmarshal(raw, &unescaped); err != nil {
			return uuid.Nil, fmt.Errorf("%w: %w", ErrNoEventID, err)
		}
		text = []byte(unescaped)
	}
	id, err := uuid.ParseBytes(text)
	if err != nil {
		return uuid.Nil, fmt.Errorf("%w: %w", ErrNoEventID, err)
	}
	if id == uuid.Nil || id == uuid.Max {
		return uuid.Nil, fmt.Errorf("%w: %s is no event's id", ErrNoEventID, id)
	}
	return id, nil
}

var errBadJSON = errors.New("looking for the event id: malformed JSON")

// lookup gives search the raw values at dotted paths in a JSON document, paths[i]
// belonging to the field i, empty for none: several if a name is repeated, none if
// the path leads nowhere.
func lookup(document []byte, paths []string, search *idSearch) error {
	s := scanner{data: document}
	s.space()
	if s.peek() != '{' {
		return s.value()
	}
	return s.object(func(name, value []byte) error {
		for i, path := range paths {
			rest, deeper, ok := below(path, name)
			if !ok {
				continue
			}
			var err error
			if deeper {
				paths := make([]string, len(paths))
				paths[i] = rest
				err = lookup(value, paths, search)
			} else {
				err = search.take(i, value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// below tells whether a path's first field is name, and what follows it in the path. A
// name that holds a dot is that of no field.
func below(path string, name []byte) (rest string, deeper, ok bool) {
	n := len(name)
	switch {
	case path == "" || len(path) < n || path[:n] != string(name):
		return "", false, false
	case len(path) > n && path[n] != '.', bytes.IndexByte(name, '.') >= 0:
		return "", false, false
	case len(path) == n:
		return "", false, true
	default:
		return path[n+1:], true, true
	}
}

// scanner walks over a document that encoding/json has accepted or will judge:
// it finds where values begin and end and is lenient about what they hold.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// object calls member for every member of the object that starts here, with the member's
// name as it is meant and its value as it is written.
func (s *scanner) object(member func(name, value []byte) error) error {
	s.pos++
	for {
		s.space()
		if s.peek() == '}' {
			s.pos++
			return nil
		}
		name, err := s.name()
		if err != nil {
			return err
		}
		s.space()
		if s.peek() != ':' {
			return errBadJSON
		}
		s.pos++
		s.space()
		start := s.pos
		if err := s.value(); err != nil {
			return err
		}
		if err := member(name, s.data[start:s.pos]); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
		default:
			return errBadJSON
		}
	}
}

// name passes over a member's name and returns it without quotes and escapes.
func (s *scanner) name() ([]byte, error) {
	start := s.pos
	escaped, err := s.str()
	if err != nil {
		return nil, err
	}
	raw := s.data[start:s.pos]
	if !escaped {
		return raw[1 : len(raw)-1], nil
	}
	var name string
	if json.Unmarshal(raw, &name) != nil {
		return raw, nil // encoding/json will judge
	}
	return []byte(name), nil
}

// str passes over a string and tells whether it holds an escape.
func (s *scanner) str() (escaped bool, err error) {
	if s.peek() != '"' {
		return false, errBadJSON
	}
	s.pos++
	for {
		end := bytes.IndexByte(s.data[s.pos:], '"')
		if end < 0 {
			return escaped, errBadJSON
		}
		escape := bytes.IndexByte(s.data[s.pos:s.pos+end], '\\')
		if escape < 0 {
			s.pos += end + 1
			return escaped, nil
		}
		escaped = true
		if s.pos += escape + 2; s.pos > len(s.data) {
			return escaped, errBadJSON
		}
	}
}

// value passes over one value without recursion, so that nesting cannot
// exhaust the stack.
func (s *scanner) value() error {
	depth := 0
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case '"':
			if _, err := s.str(); err != nil {
				return err
			}
		case '{', '[':
			depth++
			s.pos++
		case '}', ']':
			if depth == 0 {
				return errBadJSON
			}
			depth--
			s.pos++
		case ' ', '\t', '\r', '\n', ',', ':':
			if depth == 0 {
				return errBadJSON
			}
			s.pos++
			continue
		default:
			s.scalar()
		}
		if depth == 0 {
			return nil
		}
	}
	return errBadJSON
}

// scalar passes over a number or a literal.
func (s *scanner) scalar() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n', ',', ':', '{', '}', '[', ']', '"':
			return
		}
		s.pos++
	}
}
