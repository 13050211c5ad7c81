// Package gauges prepares its statements once and keeps them.
package gauges

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
)

type Read struct {
	EventID string `json:"event_id"`
	Value   int    `json:"value"`
}

const add = `INSERT INTO readings (value) VALUES ($1)`

type Store struct {
	db        *sql.DB
	add, mark *sql.Stmt
}

func NewStore(db *sql.DB) (*Store, error) {
	s := &Store{db: db}
	var err error
	if s.add, err = db.Prepare(add); err != nil {
		return nil, err
	}
	s.mark, err = db.Prepare(`INSERT INTO consumed_readings (event_id) VALUES ($1) ON CONFLICT DO NOTHING`)
	return s, err
}

// Add runs the kept statement as it is.
func (s *Store) Add(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var e Read
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	_, err := s.add.ExecContext(ctx, e.Value)
	return err
}

// AddOnce runs it on the transaction in which the event is marked.
func (s *Store) AddOnce(ctx context.Context, rec *kgo.Record) error {
	var e Read
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.StmtContext(ctx, s.mark).ExecContext(ctx, e.EventID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.StmtContext(ctx, s.add).ExecContext(ctx, e.Value); err != nil {
		return err
	}
	return tx.Commit()
}

// AddApart forgets the transaction for one of the two.
func (s *Store) AddApart(ctx context.Context, rec *kgo.Record) error {
	var e Read
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.StmtContext(ctx, s.mark).ExecContext(ctx, e.EventID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := s.add.ExecContext(ctx, e.Value); err != nil { // want R-KFK-IDEM-3
		return err
	}
	return tx.Commit()
}

// InTx prepares on the pool and binds to the transaction at once.
func (s *Store) InTx(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	st, err := s.db.PrepareContext(ctx, add)
	if err != nil {
		return err
	}
	defer st.Close()
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Stmt(st).Exec(len(rec.Value)); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *Store) Sweep(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `DELETE FROM consumed_readings WHERE consumed_at < now() - interval '30 days'`)
	return err
}

func Main(ctx context.Context, s *Store) { go s.Sweep(ctx) }
