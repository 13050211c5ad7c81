// Command group_reader_handed_on hands readers to who reads: to a constructor, to a goroutine, in a list.
package main

import (
	"context"
	"database/sql"
	"log"
	"os"

	"github.com/segmentio/kafka-go"

	"example.com/fixtures/ackorder/group_reader_handed_on/shop"
	"example.com/fixtures/ackorder/group_reader_handed_on/wire"
)

func main() {
	db, err := sql.Open("pgx", os.Getenv("DATABASE"))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	follow(ctx, db, "tills")
	newAisles(db, []string{"aisle-1", "aisle-2"}).start(ctx)
	log.Fatal(shop.NewPrices(wire.NewReader("prices", "shop"), db).Run(ctx))
}

// follow reads in a goroutine.
func follow(ctx context.Context, db *sql.DB, group string) {
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{"localhost:9092"}, Topic: "tills", GroupID: group})
	go func() {
		for {
			m, err := reader.ReadMessage(ctx) // want R-KFK-IDEM-3
			if err != nil {
				return
			}
			keep(ctx, db, m)
		}
	}()
}

// aisles has a reader for each topic.
type aisles struct {
	readers []*kafka.Reader
	db      *sql.DB
}

func newAisles(db *sql.DB, topics []string) *aisles {
	var rs []*kafka.Reader
	for _, t := range topics {
		rs = append(rs, kafka.NewReader(kafka.ReaderConfig{Brokers: []string{"localhost:9092"}, Topic: t, GroupID: "aisles"}))
	}
	return &aisles{readers: rs, db: db}
}

func (a *aisles) start(ctx context.Context) {
	for _, r := range a.readers {
		go a.read(ctx, r)
	}
}

func (a *aisles) read(ctx context.Context, r *kafka.Reader) {
	for {
		m, err := r.ReadMessage(ctx) // want R-KFK-IDEM-3
		if err != nil {
			return
		}
		keep(ctx, a.db, m)
	}
}

func keep(ctx context.Context, db *sql.DB, m kafka.Message) {
	if _, err := db.ExecContext(ctx, `INSERT INTO seen (key, body) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET body = excluded.body`, m.Key, m.Value); err != nil {
		log.Print(err)
	}
}
