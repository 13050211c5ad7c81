// Package ferry keeps its crossings in MongoDB; what an update found, changed or inserted tells a repeat.
package ferry

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

type Sailed struct {
	EventID  string `json:"event_id"`
	Crossing string `json:"crossing"`
	Harbour  string `json:"harbour"`
	Cars     int    `json:"cars"`
	Seq      int64  `json:"seq"`
}

type Ferry struct{ crossings, logbook, handled *mongo.Collection }

func decode(rec *kgo.Record) (e Sailed, err error) {
	err = json.Unmarshal(rec.Value, &e)
	return e, err
}

// Depart leaves the state that its filter names.
func (f *Ferry) Depart(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	res, err := f.crossings.UpdateOne(ctx,
		bson.M{"_id": e.Crossing, "status": bson.M{"$in": bson.A{"boarding", "delayed"}}},
		bson.M{"$set": bson.M{"status": "at sea"}})
	if err != nil {
		return err
	}
	if res.ModifiedCount == 0 {
		return nil
	}
	_, err = f.logbook.InsertOne(ctx, bson.M{"crossing": e.Crossing, "what": "departed"})
	return err
}

// Arrive finds no crossing the second time.
func (f *Ferry) Arrive(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var was struct{ Cars int }
	err = f.crossings.FindOneAndUpdate(ctx,
		bson.D{{Key: "_id", Value: e.Crossing}, {Key: "status", Value: "at sea"}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "status", Value: "moored"}}}}).Decode(&was)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.logbook.InsertOne(ctx, bson.M{"crossing": e.Crossing, "what": "moored", "cars": was.Cars})
	return err
}

// First inserts the event's id, or finds it there.
func (f *Ferry) First(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	res, err := f.handled.UpdateOne(ctx, bson.M{"_id": e.EventID},
		bson.M{"$setOnInsert": bson.M{"crossing": e.Crossing}}, options.UpdateOne().SetUpsert(true))
	if err != nil {
		return err
	}
	if res.UpsertedID == nil {
		return nil
	}
	_, err = f.crossings.UpdateOne(ctx, bson.M{"_id": e.Crossing}, bson.M{"$inc": bson.M{"cars": e.Cars}})
	return err
}

// Counted keeps the ids of the events that a crossing has counted beside what they are counted to.
func (f *Ferry) Counted(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	_, err = f.crossings.UpdateOne(ctx,
		bson.M{"_id": e.Crossing, "counted": bson.M{"$ne": e.EventID}},
		bson.M{"$inc": bson.M{"cars": e.Cars}, "$push": bson.M{"counted": e.EventID}})
	return err
}

// Noted is the same with documents in the array.
func (f *Ferry) Noted(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	_, err = f.crossings.UpdateOne(ctx,
		bson.M{"_id": e.Crossing, "notes.event": bson.M{"$ne": e.EventID}},
		bson.M{"$inc": bson.M{"cars": e.Cars}, "$push": bson.M{"notes": bson.M{"event": e.EventID, "harbour": e.Harbour}}})
	return err
}

// Latest takes only what is newer; an older one finds no crossing and meets the key of the one that is there.
func (f *Ferry) Latest(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	_, err = f.crossings.UpdateOne(ctx,
		bson.M{"_id": e.Crossing, "seq": bson.M{"$lt": e.Seq}},
		bson.M{"$set": bson.M{"seq": e.Seq, "harbour": e.Harbour}}, options.UpdateOne().SetUpsert(true))
	if mongo.IsDuplicateKeyError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.logbook.InsertOne(ctx, bson.M{"crossing": e.Crossing, "harbour": e.Harbour})
	return err
}
