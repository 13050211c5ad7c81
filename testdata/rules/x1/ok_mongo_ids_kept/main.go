// Command main keeps the last ids in the document that they changed.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/IBM/sarama"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

type CoinsEarned struct {
	EventID string `json:"event_id"`
	UserID  string `json:"user_id"`
	Coins   int64  `json:"coins"`
}

const keep = 1000

type Wallets struct{ coll *mongo.Collection }

// Add is false when the event was applied before.
func (w *Wallets) Add(ctx context.Context, evt CoinsEarned) (bool, error) {
	res, err := w.coll.UpdateOne(ctx,
		bson.M{"_id": evt.UserID, "processed_events": bson.M{"$ne": evt.EventID}},
		bson.M{
			"$inc":  bson.M{"coins": evt.Coins},
			"$push": bson.M{"processed_events": bson.M{"$each": bson.A{evt.EventID}, "$slice": -keep}},
		})
	if err != nil {
		return false, fmt.Errorf("add coins: %w", err)
	}
	return res.ModifiedCount == 1, nil
}

type handler struct{ wallets *Wallets }

func (h *handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (h *handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *handler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for msg := range c.Messages() {
		if err := h.handle(s.Context(), msg); err != nil {
			return err
		}
		s.MarkMessage(msg, "")
	}
	return nil
}

func (h *handler) handle(ctx context.Context, msg *sarama.ConsumerMessage) error {
	var evt CoinsEarned
	if err := json.Unmarshal(msg.Value, &evt); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	applied, err := h.wallets.Add(ctx, evt)
	if err != nil {
		return err
	}
	if !applied {
		log.Printf("duplicate %s", evt.EventID)
	}
	return nil
}

func main() {
	ctx := context.Background()
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://localhost"))
	if err != nil {
		log.Fatal(err)
	}
	g, err := sarama.NewConsumerGroup([]string{"b:9092"}, "wallet", nil)
	if err != nil {
		log.Fatal(err)
	}
	h := &handler{wallets: &Wallets{coll: client.Database("game").Collection("wallets")}}
	for {
		if err := g.Consume(ctx, []string{"coins.earned"}, h); err != nil {
			log.Fatal(err)
		}
	}
}
