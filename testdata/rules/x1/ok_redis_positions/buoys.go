// Package buoys keeps where each buoy is, who saw it and which ones are lit: a repeat leaves all of it as it is.
package buoys

import (
	"context"
	"encoding/json"

	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
)

type Seen struct {
	Buoy string  `json:"buoy"`
	No   int64   `json:"no"`
	Ship string  `json:"ship"`
	Lon  float64 `json:"lon"`
	Lat  float64 `json:"lat"`
}

type Chart struct {
	reader *kafka.Reader
	rdb    *redis.Client
}

func (c *Chart) Run(ctx context.Context) error {
	for {
		msg, err := c.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := c.plot(ctx, msg); err != nil {
			return err
		}
		if err := c.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func (c *Chart) plot(ctx context.Context, msg kafka.Message) error {
	var s Seen
	if err := json.Unmarshal(msg.Value, &s); err != nil {
		return err
	}
	if err := c.rdb.GeoAdd(ctx, "buoys", &redis.GeoLocation{Name: s.Buoy, Longitude: s.Lon, Latitude: s.Lat}).Err(); err != nil {
		return err
	}
	if err := c.rdb.PFAdd(ctx, "ships", s.Ship).Err(); err != nil {
		return err
	}
	return c.rdb.SetBit(ctx, "lit", s.No, 1).Err()
}
