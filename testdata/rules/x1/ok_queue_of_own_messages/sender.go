// Package outbound queues messages in memory and writes them.
package outbound

import (
	"context"
	"log"

	"github.com/segmentio/kafka-go"
)

type Sender struct {
	w  *kafka.Writer
	ch chan kafka.Message
}

func New(w *kafka.Writer) *Sender {
	s := &Sender{w: w, ch: make(chan kafka.Message, 100)}
	go s.loop()
	return s
}

func (s *Sender) Send(key, body []byte) { s.ch <- kafka.Message{Key: key, Value: body} }

func (s *Sender) loop() {
	for m := range s.ch {
		if err := s.w.WriteMessages(context.Background(), m); err != nil {
			log.Print(err)
		}
	}
}

func Local(w *kafka.Writer, bodies [][]byte) {
	ch := make(chan kafka.Message, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m := range ch {
			if err := w.WriteMessages(context.Background(), m); err != nil {
				log.Print(err)
			}
		}
	}()
	for _, b := range bodies {
		ch <- kafka.Message{Value: b}
	}
	close(ch)
	<-done
}

// Selected is the same with a way to stop.
type Selected struct {
	w    *kafka.Writer
	ch   chan kafka.Message
	stop chan struct{}
}

func (s *Selected) Send(body []byte) {
	select {
	case s.ch <- message(body):
	case <-s.stop:
	}
}

func message(body []byte) kafka.Message {
	m := kafka.Message{Value: body}
	m.Headers = append(m.Headers, kafka.Header{Key: "v", Value: []byte("1")})
	return m
}

func (s *Selected) Run(ctx context.Context) error {
	for {
		select {
		case m := <-s.ch:
			if err := s.w.WriteMessages(ctx, m); err != nil {
				return err
			}
		case <-s.stop:
			return nil
		}
	}
}
