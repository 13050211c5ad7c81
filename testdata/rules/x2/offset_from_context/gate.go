// Package offset_from_context reads the offset by a method of the context that comes with the message.
package offset_from_context

import (
	"fmt"

	"github.com/lovoo/goka"
	"gorm.io/gorm"
)

type Gate struct{ db *gorm.DB }

func (g *Gate) Graph(c goka.Codec) *goka.GroupGraph {
	return goka.DefineGroup("gates", goka.Input("gate-opened", c, g.opened))
}

func (g *Gate) opened(ctx goka.Context, msg any) {
	key := fmt.Sprintf("%d/%d", ctx.Partition(), ctx.Offset()) // want R-KFK-IDEM-X2
	err := g.db.Transaction(func(tx *gorm.DB) error {
		res := tx.Exec(`INSERT INTO processed_event (event_id) VALUES (?) ON CONFLICT DO NOTHING`, key)
		if res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		return tx.Exec(`UPDATE gate SET opened = opened + 1 WHERE id = ?`, ctx.Key()).Error
	})
	if err != nil {
		ctx.Fail(err)
	}
}
