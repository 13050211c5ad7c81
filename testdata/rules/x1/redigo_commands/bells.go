// Package bells counts in Redis, by commands, or does not go by what they answer.
package bells

import (
	"context"
	"encoding/json"
	"net/smtp"

	"github.com/gomodule/redigo/redis"
	"github.com/twmb/franz-go/pkg/kgo"
)

type ring struct {
	EventID string `json:"event_id"`
	Tower   string `json:"tower"`
}

func decode(rec *kgo.Record) (r ring, err error) {
	err = json.Unmarshal(rec.Value, &r)
	return r, err
}

func Count(ctx context.Context, conn redis.Conn, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	r, err := decode(rec)
	if err != nil {
		return err
	}
	_, err = conn.Do("HINCRBY", "rings", r.Tower, 1)
	return err
}

func Ignored(ctx context.Context, conn redis.Conn, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	r, err := decode(rec)
	if err != nil {
		return err
	}
	if _, err := conn.Do("SET", "rung:"+r.EventID, 1, "NX", "EX", 86400); err != nil {
		return err
	}
	return smtp.SendMail("mx", nil, "tower@example.com", []string{r.Tower}, nil)
}

func Inverted(ctx context.Context, conn redis.Conn, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	r, err := decode(rec)
	if err != nil {
		return err
	}
	first, err := redis.Bool(conn.Do("SETNX", "rung:"+r.EventID, 1))
	if err != nil || first {
		return err
	}
	return smtp.SendMail("mx", nil, "tower@example.com", []string{r.Tower}, nil)
}
