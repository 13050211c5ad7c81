// Package counter is a goka processor: the callback is the handler.
package counter

import (
	"database/sql"

	"github.com/lovoo/goka"
	"github.com/lovoo/goka/codec"
)

// Counter counts clicks in a database.
type Counter struct{ db *sql.DB }

// Group is the processor's graph.
func (c *Counter) Group() *goka.GroupGraph {
	return goka.DefineGroup("clicks", goka.Input("clicks", new(codec.String), c.click), goka.Input("names", new(codec.String), c.name))
}

func (c *Counter) click(ctx goka.Context, msg any) { // want R-KFK-IDEM-X1
	if _, err := c.db.ExecContext(ctx.Context(), `UPDATE pages SET clicks = clicks + 1 WHERE url = $1`, ctx.Key()); err != nil {
		ctx.Fail(err)
	}
}

func (c *Counter) name(ctx goka.Context, msg any) {
	if _, err := c.db.ExecContext(ctx.Context(), `UPDATE pages SET name = $2 WHERE url = $1`, ctx.Key(), msg); err != nil {
		ctx.Fail(err)
	}
}
