// Package views counts what was read.
package views

import (
	"context"
	"database/sql"

	"github.com/IBM/sarama"

	"example.com/fixtures/x1/batch_wrapper_of_another_package/batches"
)

type view struct{ Article int64 }

// Counter counts.
type Counter struct{ db *sql.DB }

func (c *Counter) count(msgs []*sarama.ConsumerMessage, views []view) error { // want R-KFK-IDEM-X1
	for _, v := range views {
		if _, err := c.db.Exec(`UPDATE articles SET views = views + 1 WHERE id = $1`, v.Article); err != nil {
			return err
		}
	}
	return nil
}

// Run serves a group.
func Run(ctx context.Context, group sarama.ConsumerGroup, c *Counter) error {
	return group.Consume(ctx, []string{"views"}, &batches.Handler[view]{Size: 100, Do: c.count})
}
