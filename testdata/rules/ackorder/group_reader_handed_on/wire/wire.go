// Package wire makes readers for the services.
package wire

import "github.com/segmentio/kafka-go"

func NewReader(topic, group string) *kafka.Reader {
	return kafka.NewReader(kafka.ReaderConfig{Brokers: []string{"localhost:9092"}, Topic: topic, GroupID: group})
}
