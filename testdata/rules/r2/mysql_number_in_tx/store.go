// Package store asks MySQL's error number. MySQL takes back the failed statement alone: the transaction goes on.
package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"
)

const duplicateEntry = 1062

func mark(ctx context.Context, tx *sql.Tx, id string) (bool, error) {
	_, err := tx.ExecContext(ctx, `INSERT INTO handled_sale_messages (message_id) VALUES (?)`, id)
	var myErr *mysql.MySQLError
	if errors.As(err, &myErr) && myErr.Number == duplicateEntry {
		return false, nil
	}
	return err == nil, err
}

// Once does the work of a message once.
func Once(ctx context.Context, db *sql.DB, id string, work func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if fresh, err := mark(ctx, tx, id); err != nil || !fresh {
		return err
	}
	if _, err := markAgain(ctx, db, id+"/work"); err != nil {
		return err
	}
	if err := work(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func markAgain(ctx context.Context, db *sql.DB, id string) (bool, error) {
	if _, err := db.ExecContext(ctx, `INSERT INTO handled_sale_messages (message_id, handled_at) VALUES (?, ?)`, id, time.Now()); err != nil {
		if myErr, ok := err.(*mysql.MySQLError); ok && myErr.Number == duplicateEntry {
			return false, nil
		}
		return false, err
	}
	return true, nil
}

// Sweeper sweeps.
type Sweeper struct{ db *sql.DB }

// Sweep removes old rows.
func (s Sweeper) Sweep() {
	if _, err := s.db.Exec(`DELETE FROM handled_sale_messages WHERE handled_at < ?`, time.Now().AddDate(0, 0, -7)); err != nil {
		panic(err)
	}
}

// Start has it sweep.
func Start(db *sql.DB) { time.AfterFunc(time.Hour, Sweeper{db}.Sweep) }
