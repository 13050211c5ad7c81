// Package ferry keeps its crossings in MongoDB; what an update gives does not tell a repeat.
package ferry

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

type Sailed struct {
	EventID  string `json:"event_id"`
	Crossing string `json:"crossing"`
	Cars     int    `json:"cars"`
}

type Ferry struct{ crossings, logbook, handled *mongo.Collection }

func decode(rec *kgo.Record) (e Sailed, err error) {
	err = json.Unmarshal(rec.Value, &e)
	return e, err
}

// Delay stays in the state that its filter names.
func (f *Ferry) Delay(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	err = f.crossings.FindOneAndUpdate(ctx,
		bson.M{"_id": e.Crossing, "status": "boarding"},
		bson.M{"$set": bson.M{"late": true}}).Err()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.logbook.InsertOne(ctx, bson.M{"crossing": e.Crossing, "what": "late"})
	return err
}

// Touched changes the document each time.
func (f *Ferry) Touched(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	res, err := f.crossings.UpdateOne(ctx, bson.M{"_id": e.Crossing},
		bson.M{"$set": bson.M{"status": "at sea", "updated_at": time.Now()}})
	if err != nil || res.ModifiedCount == 0 {
		return err
	}
	_, err = f.logbook.InsertOne(ctx, bson.M{"crossing": e.Crossing, "what": "departed"})
	return err
}

// Fresh inserts under an id that is another one each time.
func (f *Ferry) Fresh(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	res, err := f.handled.UpdateOne(ctx, bson.M{"_id": uuid.NewString()},
		bson.M{"$setOnInsert": bson.M{"crossing": e.Crossing}}, options.UpdateOne().SetUpsert(true))
	if err != nil || res.UpsertedCount == 0 {
		return err
	}
	_, err = f.crossings.UpdateOne(ctx, bson.M{"_id": e.Crossing}, bson.M{"$inc": bson.M{"cars": e.Cars}})
	return err
}

// Counted asks for another id than it keeps.
func (f *Ferry) Counted(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	_, err = f.crossings.UpdateOne(ctx,
		bson.M{"_id": e.Crossing, "counted": bson.M{"$ne": e.EventID}},
		bson.M{"$inc": bson.M{"cars": e.Cars}, "$push": bson.M{"counted": e.Crossing}})
	return err
}

// Next takes any crossing that waits: a repeat takes another one.
func (f *Ferry) Next(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	if _, err := decode(rec); err != nil {
		return err
	}
	_, err := f.crossings.UpdateOne(ctx, bson.M{"status": "waiting"}, bson.M{"$set": bson.M{"status": "boarding"}})
	return err
}

// Logged inserts a document under an id made here; that this is never taken, handling it does not change.
func (f *Ferry) Logged(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	_, err := f.logbook.InsertOne(ctx, bson.M{"_id": uuid.NewString(), "body": rec.Value})
	if mongo.IsDuplicateKeyError(err) {
		return nil
	}
	return err
}
