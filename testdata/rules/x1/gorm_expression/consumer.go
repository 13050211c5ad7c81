// Package likes counts likes: the update computes from what is there.
package likes

import (
	"encoding/json"

	"github.com/ThreeDotsLabs/watermill/message"
	"gorm.io/gorm"
)

type Post struct {
	ID    int64
	Likes int64
}

type Liked struct {
	EventID string `json:"event_id"`
	PostID  int64  `json:"post_id"`
}

type Counter struct{ db *gorm.DB }

func (c *Counter) Register(r *message.Router, sub message.Subscriber) {
	r.AddNoPublisherHandler("likes", "posts.liked", sub, func(msg *message.Message) error { // want R-KFK-IDEM-X1
		var evt Liked
		if err := json.Unmarshal(msg.Payload, &evt); err != nil {
			return err
		}
		return c.db.WithContext(msg.Context()).Model(&Post{}).Where("id = ?", evt.PostID).
			UpdateColumn("likes", gorm.Expr("likes + ?", 1)).Error
	})
}
