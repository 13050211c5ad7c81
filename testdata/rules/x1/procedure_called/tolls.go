// Package tolls has the database do the work.
package tolls

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
)

type passage struct {
	EventID string `json:"event_id"`
	Plate   string `json:"plate"`
	Cents   int64  `json:"cents"`
}

func Charge(ctx context.Context, db *sql.DB, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var p passage
	if err := json.Unmarshal(rec.Value, &p); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, `CALL charge_toll($1, $2)`, p.Plate, p.Cents)
	return err
}

const definition = `
CREATE PROCEDURE count_passage(plate text, event text) LANGUAGE sql AS $$
	UPDATE plates SET passages = passages + 1 WHERE id = plate
$$`

func Migrate(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, definition)
	return err
}

// Count hands over the event's id, which the procedure does not look at.
func Count(ctx context.Context, db *sql.DB, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var p passage
	if err := json.Unmarshal(rec.Value, &p); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, `CALL count_passage($1, $2)`, p.Plate, p.EventID)
	return err
}
