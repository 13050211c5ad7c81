// Package bells remembers in Redis, by commands, which event was there.
package bells

import (
	"context"
	"encoding/json"
	"errors"
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

func tell(r ring) error {
	return smtp.SendMail("mx", nil, "tower@example.com", []string{r.Tower}, nil)
}

func ByError(ctx context.Context, pool *redis.Pool, rec *kgo.Record) error {
	r, err := decode(rec)
	if err != nil {
		return err
	}
	conn, err := pool.GetContext(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = redis.String(redis.DoContext(conn, ctx, "SET", "rung:"+r.EventID, 1, "NX", "EX", 86400))
	if errors.Is(err, redis.ErrNil) {
		return nil
	}
	if err != nil {
		return err
	}
	return tell(r)
}

func ByReply(ctx context.Context, conn redis.Conn, rec *kgo.Record) error {
	r, err := decode(rec)
	if err != nil {
		return err
	}
	reply, err := conn.Do("SET", "rung:"+r.EventID, 1, "EX", 86400, "NX")
	if err != nil || reply == nil {
		return err
	}
	return tell(r)
}

func ByBool(ctx context.Context, conn redis.Conn, rec *kgo.Record) error {
	r, err := decode(rec)
	if err != nil {
		return err
	}
	first, err := redis.Bool(conn.Do("SETNX", "rung:"+r.EventID, 1))
	if err != nil || !first {
		return err
	}
	return tell(r)
}

func ByMember(ctx context.Context, conn redis.Conn, rec *kgo.Record) error {
	r, err := decode(rec)
	if err != nil {
		return err
	}
	n, err := redis.Int(conn.Do("SADD", "rung", r.EventID))
	if err != nil || n == 0 {
		return err
	}
	return tell(r)
}

func ByLook(ctx context.Context, conn redis.Conn, rec *kgo.Record) error {
	r, err := decode(rec)
	if err != nil {
		return err
	}
	key := "rung:" + r.EventID
	there, err := redis.Bool(conn.Do("EXISTS", key))
	if err != nil || there {
		return err
	}
	if err := tell(r); err != nil {
		return err
	}
	_, err = conn.Do("SETEX", key, 86400, 1)
	return err
}

// Last lands on the same state.
func Last(ctx context.Context, conn redis.Conn, rec *kgo.Record) error {
	r, err := decode(rec)
	if err != nil {
		return err
	}
	_, err = conn.Do("HSET", "last", r.Tower, r.EventID)
	return err
}
