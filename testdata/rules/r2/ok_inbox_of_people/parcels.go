// Package parcels has an inbox for each tenant of a house, and a table of what was consumed: neither holds marks.
package parcels

import (
	"context"
	"database/sql"
)

const schema = `
CREATE TABLE tenant_inbox (
	id bigserial PRIMARY KEY,
	tenant_id text NOT NULL,
	title text,
	message text,
	opened_at timestamptz
);
CREATE TABLE consumed_water (
	id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	flat text NOT NULL,
	litres int NOT NULL,
	measured_at timestamptz
)`

func Migrate(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, schema)
	return err
}

func Notify(ctx context.Context, db *sql.DB, tenant, title, text string) error {
	_, err := db.ExecContext(ctx, `INSERT INTO tenant_inbox (tenant_id, title, message) VALUES ($1, $2, $3)`, tenant, title, text)
	return err
}

func Measure(ctx context.Context, db *sql.DB, flat string, litres int) error {
	_, err := db.ExecContext(ctx, `INSERT INTO consumed_water (flat, litres) VALUES ($1, $2)`, flat, litres)
	return err
}

// Leave puts a note into a table whose definition is elsewhere.
func Leave(ctx context.Context, db *sql.DB, visitor, note string) error {
	_, err := db.ExecContext(ctx, `INSERT INTO visitor_inbox (visitor_id, note, urgent) VALUES ($1, $2, true)`, visitor, note)
	return err
}
