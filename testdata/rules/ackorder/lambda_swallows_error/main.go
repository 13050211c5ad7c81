// Command lambda_swallows_error stores scores. The function returns nil though one of the records failed.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/jackc/pgx/v5/pgxpool"
)

type Score struct {
	Player string `json:"player"`
	Points int    `json:"points"`
}

type app struct {
	pool *pgxpool.Pool
}

func (a *app) handle(ctx context.Context, evt events.KafkaEvent) error {
	for _, recs := range evt.Records {
		for _, rec := range recs {
			raw, err := base64.StdEncoding.DecodeString(rec.Value)
			if err != nil {
				return err
			}
			var s Score
			if err := json.Unmarshal(raw, &s); err != nil {
				return err
			}
			if _, err := a.pool.Exec(ctx, `INSERT INTO scores (player, points) VALUES ($1, $2) ON CONFLICT (player) DO UPDATE SET points = excluded.points`, s.Player, s.Points); err != nil { // want R-KFK-IDEM-3
				log.Println("score not stored", err)
			}
		}
	}
	return nil
}

func main() {
	pool, err := pgxpool.New(context.Background(), "postgres://localhost/scores")
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start((&app{pool: pool}).handle)
}
