// Package journal sends what it cannot keep to a dead-letter topic, which it names by a pointer.
package journal

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

// Keeper keeps journals.
type Keeper struct {
	consumer *kafka.Consumer
	producer *kafka.Producer
	db       *sql.DB
	dlqTopic string
}

// Run keeps what comes.
func (k *Keeper) Run(ctx context.Context) error {
	for {
		msg, err := k.consumer.ReadMessage(-1)
		if err != nil {
			return err
		}
		if err := k.keep(ctx, msg); err != nil {
			if err := k.bury(msg); err != nil {
				return err
			}
		}
		if _, err := k.consumer.CommitMessage(msg); err != nil {
			return err
		}
	}
}

func (k *Keeper) keep(ctx context.Context, msg *kafka.Message) error {
	var e struct {
		EventID string `json:"event_id"`
		Cents   int64  `json:"cents"`
	}
	if err := json.Unmarshal(msg.Value, &e); err != nil {
		return err
	}
	_, err := k.db.ExecContext(ctx, `INSERT INTO journal (event_id, cents) VALUES ($1, $2) ON CONFLICT (event_id) DO NOTHING`, e.EventID, e.Cents)
	return err
}

func (k *Keeper) bury(msg *kafka.Message) error {
	name := "journal.dlq"
	if msg.Key == nil {
		return k.producer.Produce(&kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &k.dlqTopic, Partition: kafka.PartitionAny}, Value: msg.Value}, nil)
	}
	return k.producer.Produce(&kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &name, Partition: kafka.PartitionAny}, Key: msg.Key, Value: msg.Value}, nil)
}
