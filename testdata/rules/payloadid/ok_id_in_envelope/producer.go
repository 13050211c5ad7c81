// Package caves reports bats. The header repeats the id that the envelope has.
package caves

import (
	"encoding/json"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/uuid"
)

type Meta struct {
	ID   uuid.UUID `json:"id"`
	Time time.Time `json:"time"`
}

type BatsCounted struct {
	Meta Meta   `json:"meta"`
	Cave string `json:"cave"`
	Bats int    `json:"bats"`
}

type Producer struct {
	p sarama.SyncProducer
}

func (p *Producer) Counted(cave string, bats int) error {
	evt := BatsCounted{Meta: Meta{ID: uuid.Must(uuid.NewV7()), Time: time.Now()}, Cave: cave, Bats: bats}
	b, err := json.Marshal(evt)
	if err != nil {
		return err
	}
	_, _, err = p.p.SendMessage(&sarama.ProducerMessage{
		Topic:   "bats.counted",
		Value:   sarama.ByteEncoder(b),
		Headers: []sarama.RecordHeader{{Key: []byte("event_id"), Value: []byte(evt.Meta.ID.String())}},
	})
	return err
}
