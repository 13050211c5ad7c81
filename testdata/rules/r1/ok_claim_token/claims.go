// Package claims marks rows with a random token, to read back which it has got: the token is asked with, and is none of
// the ids that come back.
package claims

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

type Notice struct {
	EventID string `bson:"event_id" json:"event_id"`
	Text    string `bson:"text" json:"text"`
}

func Send(ctx context.Context, coll *mongo.Collection, w *kafka.Writer) error {
	token := uuid.NewString()
	if _, err := coll.UpdateMany(ctx, bson.M{"claim": ""}, bson.M{"$set": bson.M{"claim": token}}); err != nil {
		return err
	}
	cur, err := coll.Find(ctx, bson.M{"claim": token})
	if err != nil {
		return err
	}
	var found []Notice
	if err := cur.All(ctx, &found); err != nil {
		return err
	}
	for _, n := range found {
		b, err := json.Marshal(map[string]any{"event_id": n.EventID, "text": n.Text})
		if err != nil {
			return err
		}
		if err := w.WriteMessages(ctx, kafka.Message{Value: b}); err != nil {
			return err
		}
	}
	return nil
}

// Archive is some service.
type Archive interface {
	Search(ctx context.Context, query string) ([]Notice, error)
}

func Repeat(ctx context.Context, a Archive, w *kafka.Writer) error {
	found, err := a.Search(ctx, uuid.NewString())
	if err != nil {
		return err
	}
	for _, n := range found {
		b, err := json.Marshal(Notice{EventID: n.EventID, Text: n.Text})
		if err != nil {
			return err
		}
		if err := w.WriteMessages(ctx, kafka.Message{Value: b}); err != nil {
			return err
		}
	}
	return nil
}
