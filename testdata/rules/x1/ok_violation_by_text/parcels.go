// Package parcels books a parcel in MySQL; a repeat is told by the text of the error, behind a function value.
package parcels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
)

var ErrBooked = errors.New("parcel is booked")

type Parcel struct {
	ID     int64     `json:"id"`
	Weight int64     `json:"weight"`
	Token  string    `json:"token"`
	At     time.Time `json:"at"`
}

type Parcels interface {
	Book(ctx context.Context, p Parcel) error
}

type table struct{ db *sqlx.DB }

func NewParcels(db *sqlx.DB) Parcels { return &table{db: db} }

func (t *table) Book(ctx context.Context, p Parcel) error {
	_, err := t.db.ExecContext(ctx, `INSERT INTO parcels (id, weight, token, booked_at) VALUES (?, ?, ?, ?)`, p.ID, p.Weight, p.Token, p.At)
	if err != nil && isBooked(err) {
		return ErrBooked
	}
	return err
}

func isBooked(err error) bool {
	s := err.Error()
	return strings.Contains(s, "Error 1062") || strings.Contains(strings.ToLower(s), "duplicate entry")
}

type Desk struct {
	parcels Parcels
	rdb     *redis.Client
}

func (d *Desk) Handle(ctx context.Context, p Parcel) error {
	err := d.parcels.Book(ctx, p)
	if err != nil && !errors.Is(err, ErrBooked) {
		return err
	}
	return d.rdb.Set(ctx, "parcel:"+p.Token, fmt.Sprintf("booked:%d", p.ID), time.Hour).Err()
}

type Consumer struct {
	reader *kafka.Reader
	handle func(context.Context, Parcel) error
}

func (c *Consumer) SetHandler(h func(context.Context, Parcel) error) { c.handle = h }

func (c *Consumer) Run(ctx context.Context) error {
	for {
		m, err := c.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var p Parcel
		if err := json.Unmarshal(m.Value, &p); err != nil {
			return err
		}
		if err := c.handle(ctx, p); err != nil {
			return err
		}
		if err := c.reader.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func Run(ctx context.Context, db *sqlx.DB, rdb *redis.Client, r *kafka.Reader) error {
	c := &Consumer{reader: r}
	c.SetHandler((&Desk{parcels: NewParcels(db), rdb: rdb}).Handle)
	return c.Run(ctx)
}
