// Package sheep keeps events in an outbox and sends them with the ids of their rows.
package sheep

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jmoiron/sqlx"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"gorm.io/gorm"
)

type entry struct {
	ID    string
	Topic string
	Body  []byte
}

func Shear(ctx context.Context, tx *sql.Tx, body []byte) error {
	id := uuid.NewString() // want R-KFK-IDEM-1
	_, err := tx.ExecContext(ctx, `INSERT INTO wool_outbox (id, topic, body) VALUES ($1, $2, $3)`, id, "wool", body)
	return err
}

func SendWool(ctx context.Context, db *sql.DB, w *kafka.Writer) error {
	rows, err := db.QueryContext(ctx, `SELECT id, topic, body FROM wool_outbox WHERE sent_at IS NULL`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.ID, &e.Topic, &e.Body); err != nil {
			return err
		}
		b, err := json.Marshal(map[string]any{"event_id": e.ID, "data": json.RawMessage(e.Body)})
		if err != nil {
			return err
		}
		if err := w.WriteMessages(ctx, kafka.Message{Topic: e.Topic, Value: b}); err != nil {
			return err
		}
	}
	return rows.Err()
}

type Lamb struct {
	ID   uuid.UUID `db:"id"`
	Body []byte    `db:"body"`
}

type wire struct {
	EventID uuid.UUID       `json:"event_id"`
	Data    json.RawMessage `json:"data"`
}

func Born(ctx context.Context, tx *sqlx.Tx, body []byte) error {
	row := Lamb{ID: uuid.New(), Body: body} // want R-KFK-IDEM-1
	_, err := tx.NamedExecContext(ctx, `INSERT INTO lamb_outbox (id, body) VALUES (:id, :body)`, row)
	return err
}

func SendLambs(ctx context.Context, db *sqlx.DB, p sarama.SyncProducer) error {
	var rows []Lamb
	if err := db.SelectContext(ctx, &rows, `SELECT id, body FROM lamb_outbox ORDER BY id LIMIT 50`); err != nil {
		return err
	}
	for _, row := range rows {
		b, err := json.Marshal(wire{EventID: row.ID, Data: row.Body})
		if err != nil {
			return err
		}
		if _, _, err := p.SendMessage(&sarama.ProducerMessage{Topic: "lambs", Value: sarama.ByteEncoder(b)}); err != nil {
			return err
		}
	}
	return nil
}

type pen struct {
	ID   uuid.UUID
	Body []byte
}

func Fence(ctx context.Context, tx pgx.Tx, body []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO pen_outbox (id, body) VALUES ($1, $2)`, uuid.New(), body) // want R-KFK-IDEM-1
	return err
}

func SendPens(ctx context.Context, db *pgxpool.Pool, cl *kgo.Client) error {
	rows, err := db.Query(ctx, `DELETE FROM pen_outbox WHERE id IN (SELECT id FROM pen_outbox LIMIT 10 FOR UPDATE SKIP LOCKED) RETURNING id, body`)
	if err != nil {
		return err
	}
	pens, err := pgx.CollectRows(rows, pgx.RowToStructByPos[pen])
	if err != nil {
		return err
	}
	for _, p := range pens {
		rec := &kgo.Record{Topic: "pens", Value: p.Body, Headers: []kgo.RecordHeader{
			{Key: "event-id", Value: []byte(p.ID.String())},
		}}
		if err := cl.ProduceSync(ctx, rec).FirstErr(); err != nil {
			return err
		}
	}
	return nil
}

type DogOutbox struct {
	ID   string `gorm:"primaryKey"`
	Body []byte
}

func Bark(tx *gorm.DB, body []byte) error {
	return tx.Create(&DogOutbox{ID: uuid.NewString(), Body: body}).Error // want R-KFK-IDEM-1
}

func SendDogs(db *gorm.DB, pub message.Publisher) error {
	var rows []DogOutbox
	if err := db.Order("id").Limit(20).Find(&rows).Error; err != nil {
		return err
	}
	for _, r := range rows {
		if err := pub.Publish("dogs", message.NewMessage(r.ID, r.Body)); err != nil {
			return err
		}
	}
	return nil
}
