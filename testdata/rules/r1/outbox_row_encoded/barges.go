// Package barges sends the rows of its outboxes: as they are, and by an ORM's select.
package barges

import (
	"context"
	"encoding/json"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"gorm.io/gorm"
)

type OutboxMessage struct {
	ID      string          `json:"id" gorm:"primaryKey"`
	Kind    string          `json:"kind"`
	Payload json.RawMessage `json:"payload"`
}

func Moor(tx *gorm.DB, kind string, payload []byte) error {
	m := &OutboxMessage{ID: uuid.NewString(), Kind: kind, Payload: payload} // want R-KFK-IDEM-1
	return tx.Create(m).Error
}

func SendMoored(ctx context.Context, db *gorm.DB, p sarama.AsyncProducer) error {
	var all []OutboxMessage
	if err := db.WithContext(ctx).Where("sent = ?", false).Find(&all).Error; err != nil {
		return err
	}
	for _, m := range all {
		b, err := json.Marshal(m)
		if err != nil {
			return err
		}
		p.Input() <- &sarama.ProducerMessage{Topic: m.Kind, Value: sarama.ByteEncoder(b)}
	}
	return nil
}

type LockOutbox struct {
	bun.BaseModel `bun:"table:lock_outbox"`

	ID      uuid.UUID `bun:"id,pk"`
	Payload []byte    `bun:"payload"`
}

func Lock(ctx context.Context, tx bun.Tx, payload []byte) error {
	_, err := tx.NewInsert().Model(&LockOutbox{ID: uuid.New(), Payload: payload}).Exec(ctx) // want R-KFK-IDEM-1
	return err
}

func SendLocked(ctx context.Context, db *bun.DB, pub message.Publisher) error {
	var all []LockOutbox
	if err := db.NewSelect().Model(&all).Limit(10).Scan(ctx); err != nil {
		return err
	}
	for _, e := range all {
		if err := pub.Publish("locks", message.NewMessage(e.ID.String(), e.Payload)); err != nil {
			return err
		}
	}
	return nil
}

// SlipOutbox is sent by its payload alone.
type SlipOutbox struct {
	bun.BaseModel `bun:"table:slip_outbox"`

	ID      uuid.UUID `bun:"id,pk"`
	Payload []byte    `bun:"payload"`
}

func Slip(ctx context.Context, tx bun.Tx, payload []byte) error {
	_, err := tx.NewInsert().Model(&SlipOutbox{ID: uuid.New(), Payload: payload}).Exec(ctx)
	return err
}

func SendSlips(ctx context.Context, db *bun.DB, pub message.Publisher) error {
	var all []SlipOutbox
	if err := db.NewSelect().Model(&all).Limit(10).Scan(ctx); err != nil {
		return err
	}
	for _, e := range all {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		if err := pub.Publish("slips", message.NewMessage(id.String(), e.Payload)); err != nil {
			return err
		}
		if _, err := db.NewDelete().Model(&e).WherePK().Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}
