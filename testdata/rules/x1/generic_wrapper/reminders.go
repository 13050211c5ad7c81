// Package reminders sends a reminder for every invoice that is due: the wrapper is generic and of another package, the
// handler knows no Kafka type.
package reminders

import (
	"context"
	"fmt"
	"net/smtp"

	"github.com/segmentio/kafka-go"

	"example.com/fixtures/x1/generic_wrapper/bus"
)

type InvoiceDue struct {
	EventID string `json:"event_id"`
	Email   string `json:"email"`
	Number  string `json:"number"`
}

type Service struct {
	relay string
	from  string
}

func (s *Service) Start(ctx context.Context, r *kafka.Reader) error {
	return bus.Subscribe(ctx, r, s.remind)
}

func (s *Service) remind(_ context.Context, evt InvoiceDue) error { // want R-KFK-IDEM-X1
	body := fmt.Sprintf("Subject: invoice %s is due\r\n\r\n", evt.Number)
	return smtp.SendMail(s.relay, nil, s.from, []string{evt.Email}, []byte(body))
}
