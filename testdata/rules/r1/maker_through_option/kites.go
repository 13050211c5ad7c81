// Package kites has makers of ids in options and in fields that are set when nobody else did.
package kites

import (
	"encoding/json"

	"github.com/google/uuid"
)

type flown struct {
	EventID string `json:"event_id"`
	Metres  int    `json:"metres"`
}

type Option func(*Log)

func WithIDs(f func() string) Option { return func(l *Log) { l.newID = f } }

type Log struct {
	newID func() string
	trace func() string
}

func New(opts ...Option) *Log {
	l := &Log{trace: uuid.NewString}
	for _, o := range opts {
		o(l)
	}
	return l
}

func (l *Log) Flown(metres int) (string, []byte, error) {
	b, err := json.Marshal(flown{EventID: l.newID(), Metres: metres})
	return l.trace(), b, err
}

func Beach() ([]byte, error) {
	_, b, err := New(WithIDs(uuid.NewString)).Flown(30) // want R-KFK-IDEM-1
	return b, err
}

type Config struct {
	NewID func() string
}

type Book struct{ cfg Config }

func Open(cfg Config) *Book {
	if cfg.NewID == nil {
		cfg.NewID = uuid.NewString // want R-KFK-IDEM-1
	}
	return &Book{cfg: cfg}
}

func (b *Book) Enter(metres int) ([]byte, error) {
	return json.Marshal(flown{EventID: b.cfg.NewID(), Metres: metres})
}
