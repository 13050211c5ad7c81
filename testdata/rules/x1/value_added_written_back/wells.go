// Package wells keeps its levels in Redis and MongoDB: it reads one, adds to it, and writes it back.
package wells

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

type Pumped struct {
	Well   string `json:"well"`
	Liters int64  `json:"liters"`
	Pump   string `json:"pump"`
}

func decode(rec *kgo.Record) (e Pumped, err error) {
	err = json.Unmarshal(rec.Value, &e)
	return e, err
}

type Level struct {
	Liters int64  `json:"liters" bson:"liters"`
	Pump   string `json:"pump" bson:"pump"`
}

type Wells struct {
	rdb    *redis.Client
	levels *mongo.Collection
}

func (w *Wells) Number(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	n, err := w.rdb.Get(ctx, "well:"+e.Well).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	return w.rdb.Set(ctx, "well:"+e.Well, n+e.Liters, 0).Err()
}

func (w *Wells) load(ctx context.Context, well string) (l Level, err error) {
	raw, err := w.rdb.Get(ctx, "level:"+well).Bytes()
	if errors.Is(err, redis.Nil) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	return l, json.Unmarshal(raw, &l)
}

func (w *Wells) store(ctx context.Context, well string, l Level) error {
	raw, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return w.rdb.Set(ctx, "level:"+well, raw, 0).Err()
}

func (w *Wells) Document(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	l, err := w.load(ctx, e.Well)
	if err != nil {
		return err
	}
	l.Liters += e.Liters
	return w.store(ctx, e.Well, l)
}

// Moved changes only what the event says.
func (w *Wells) Moved(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	l, err := w.load(ctx, e.Well)
	if err != nil {
		return err
	}
	l.Pump = e.Pump
	return w.store(ctx, e.Well, l)
}

func (w *Wells) Replaced(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var l Level
	if err := w.levels.FindOne(ctx, bson.M{"_id": e.Well}).Decode(&l); err != nil {
		return err
	}
	l.Liters += e.Liters
	_, err = w.levels.ReplaceOne(ctx, bson.M{"_id": e.Well}, l)
	return err
}

func (w *Wells) Field(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var l Level
	if err := w.levels.FindOne(ctx, bson.M{"_id": e.Well}).Decode(&l); err != nil {
		return err
	}
	_, err = w.levels.UpdateOne(ctx, bson.M{"_id": e.Well}, bson.M{"$set": bson.M{"liters": l.Liters + e.Liters}})
	return err
}

// Other writes what it computes somewhere else.
func (w *Wells) Other(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var l Level
	if err := w.levels.FindOne(ctx, bson.M{"_id": e.Well}).Decode(&l); err != nil {
		return err
	}
	_, err = w.levels.UpdateOne(ctx, bson.M{"_id": e.Pump}, bson.M{"$set": bson.M{"liters": l.Liters + e.Liters}})
	return err
}
