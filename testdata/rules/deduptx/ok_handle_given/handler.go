// Package quarries books stone. Which transaction runs is the caller's business: it hands the handle in.
package quarries

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/IBM/sarama"
)

type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

type StoneCut struct {
	EventID string `json:"event_id"`
	Tonnes  int    `json:"tonnes"`
}

// Book books one message on the handle it is given.
func Book(ctx context.Context, db DB, msg *sarama.ConsumerMessage) error {
	var evt StoneCut
	if err := json.Unmarshal(msg.Value, &evt); err != nil {
		return err
	}
	res, err := db.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	_, err = db.ExecContext(ctx, `UPDATE quarry SET tonnes = tonnes + $1`, evt.Tonnes)
	return err
}
