// Package tides writes its batches to MongoDB; one model of each adds something.
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

func (s *Sink) Counts(ctx context.Context, batch []kafka.Message) error { // want R-KFK-IDEM-X1
	models := make([]mongo.WriteModel, 0, 2*len(batch))
	for _, m := range batch {
		var l Level
		if err := json.Unmarshal(m.Value, &l); err != nil {
			return err
		}
		models = append(models, mongo.NewReplaceOneModel().SetFilter(bson.M{"_id": l.Gauge}).SetReplacement(l).SetUpsert(true))
		models = append(models, mongo.NewUpdateOneModel().SetFilter(bson.M{"_id": "all"}).SetUpdate(bson.M{"$inc": bson.M{"n": 1}}))
	}
	_, err := s.levels.BulkWrite(ctx, models)
	return err
}

func (s *Sink) Inserts(ctx context.Context, batch []kafka.Message) error { // want R-KFK-IDEM-X1
	models := make([]mongo.WriteModel, len(batch))
	for i, m := range batch {
		models[i] = mongo.NewInsertOneModel().SetDocument(bson.M{"body": m.Value})
	}
	_, err := s.levels.BulkWrite(ctx, models)
	return err
}
