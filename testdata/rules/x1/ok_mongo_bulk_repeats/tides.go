// Package tides writes its batches to MongoDB; each model lands on the same document again.
package tides

import (
	"context"
	"encoding/json"

	"github.com/segmentio/kafka-go"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

type Level struct {
	Gauge string `json:"gauge"`
	Cm    int    `json:"cm"`
}

type Sink struct{ levels *mongo.Collection }

func (s *Sink) Replace(ctx context.Context, batch []kafka.Message) error {
	var models []mongo.WriteModel
	for _, m := range batch {
		var l Level
		if err := json.Unmarshal(m.Value, &l); err != nil {
			return err
		}
		models = append(models, mongo.NewReplaceOneModel().SetFilter(bson.M{"_id": l.Gauge}).SetReplacement(l).SetUpsert(true))
	}
	_, err := s.levels.BulkWrite(ctx, models)
	return err
}

func (s *Sink) Set(ctx context.Context, m kafka.Message) error {
	var l Level
	if err := json.Unmarshal(m.Value, &l); err != nil {
		return err
	}
	upsert := true
	_, err := s.levels.BulkWrite(ctx, []mongo.WriteModel{
		&mongo.UpdateOneModel{Filter: bson.M{"_id": l.Gauge}, Update: bson.M{"$set": bson.M{"cm": l.Cm}}, Upsert: &upsert},
		mongo.NewDeleteOneModel().SetFilter(bson.M{"_id": "dry " + l.Gauge}),
	})
	return err
}
