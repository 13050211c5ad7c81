// Package store speaks MySQL: its upsert counts two rows for one that was there, and its REPLACE writes each time.
package store

import (
	"context"
	"database/sql"
)

const (
	upsert  = "INSERT INTO processed_bus_messages (message_id) VALUES (?) ON DUPLICATE KEY UPDATE message_id = message_id, at = NOW()" // want R-KFK-IDEM-2
	replace = "REPLACE INTO processed_bus_messages (message_id) VALUES (?)"                                                            // want R-KFK-IDEM-2
	ignore  = "INSERT IGNORE INTO processed_bus_messages (message_id) VALUES (?)"
	ddl     = "CREATE TABLE processed_bus_messages (message_id BINARY(16) NOT NULL, at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (message_id))"
	event   = "CREATE EVENT forget_bus ON SCHEDULE EVERY 1 DAY DO DELETE FROM processed_bus_messages WHERE at < NOW() - INTERVAL 7 DAY"
)

// Mark marks in one of three ways.
func Mark(ctx context.Context, tx *sql.Tx, way int, id []byte) (bool, error) {
	q := ignore
	switch way {
	case 1:
		q = upsert
	case 2:
		q = replace
	}
	res, err := tx.ExecContext(ctx, q, id)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// Migrate creates the table.
func Migrate(ctx context.Context, db *sql.DB) error {
	for _, s := range []string{ddl, event} {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
