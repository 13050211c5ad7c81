// Package drones tracks drones. The handler returns, and with it acknowledges, while the goroutine still writes.
package drones

import (
	"context"
	"encoding/json"
	"log"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
)

type DroneMoved struct {
	Drone string  `json:"drone"`
	Lat   float64 `json:"lat"`
}

type Tracker struct {
	pool *pgxpool.Pool
}

func Register(r *message.Router, sub message.Subscriber, t *Tracker) {
	r.AddConsumerHandler("drones", "drone.moved", sub, t.Moved)
}

func (t *Tracker) Moved(msg *message.Message) error {
	var evt DroneMoved
	if err := json.Unmarshal(msg.Payload, &evt); err != nil {
		return err
	}
	go func() {
		_, err := t.pool.Exec(context.Background(), `INSERT INTO drones (id, lat) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET lat = excluded.lat`, evt.Drone, evt.Lat) // want R-KFK-IDEM-3
		if err != nil {
			log.Println(err)
		}
	}()
	return nil
}
