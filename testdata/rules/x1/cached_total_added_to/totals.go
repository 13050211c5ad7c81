// Package totals reads a total out of a cache, adds to it and writes it back, under a key that the total itself holds.
package totals

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
)

type profile struct {
	User  string `json:"user"`
	Total int64  `json:"total"`
	At    time.Time
}

type repo struct{ c *redis.Client }

func (r *repo) get(ctx context.Context, user string) (profile, error) {
	data, err := r.c.Get(ctx, "profile:"+user).Bytes()
	if err == redis.Nil {
		return profile{}, errors.New("none")
	}
	if err != nil {
		return profile{}, err
	}
	var p profile
	if err := json.Unmarshal(data, &p); err != nil {
		return profile{}, err
	}
	return p, nil
}

func (r *repo) put(ctx context.Context, p profile) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return r.c.Set(ctx, "profile:"+p.User, data, time.Hour).Err()
}

// U adds up.
type U struct{ r *repo }

func (u *U) handle(ctx context.Context, rec *kgo.Record) { // want R-KFK-IDEM-X1
	var e struct {
		User  string `json:"user"`
		Cents int64  `json:"cents"`
	}
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return
	}
	p, err := u.r.get(ctx, e.User)
	if err != nil {
		p = profile{User: e.User}
	}
	p.Total += e.Cents
	if err := u.r.put(ctx, p); err != nil {
		return
	}
}

// Run adds up.
func (u *U) Run(ctx context.Context, cl *kgo.Client) {
	for {
		f := cl.PollFetches(ctx)
		f.EachRecord(func(r *kgo.Record) { u.handle(ctx, r) })
		cl.CommitUncommittedOffsets(ctx) // want R-KFK-IDEM-3
	}
}
