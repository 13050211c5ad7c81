package runtime

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// errorType classifies an error for metrics and spans: a SQLSTATE, the name of a Kafka
// error, or one of a few words, so that it has few values whatever the error says.
func errorType(err error) attribute.KeyValue {
	if code, ok := sqlState(err); ok {
		return semconv.ErrorTypeKey.String(code)
	}
	var kafka *kerr.Error
	var pool *poolError
	var panicked *PanicError
	var swallowed *SwallowedError
	switch {
	case errors.As(err, &kafka):
		return semconv.ErrorTypeKey.String(kafka.Message)
	case errors.As(err, &pool):
		return semconv.ErrorTypeKey.String("pool_exhausted")
	case errors.Is(err, ErrTransactionControl):
		return semconv.ErrorTypeKey.String("transaction_control")
	case errors.As(err, &swallowed):
		return semconv.ErrorTypeKey.String("swallowed")
	case errors.As(err, &panicked):
		return semconv.ErrorTypeKey.String("panic")
	case errors.Is(err, errRevoked):
		return semconv.ErrorTypeKey.String("revoked")
	case errors.Is(err, context.DeadlineExceeded):
		return semconv.ErrorTypeKey.String("timeout")
	case errors.Is(err, context.Canceled):
		return semconv.ErrorTypeKey.String("canceled")
	case isConnectionError(err):
		return semconv.ErrorTypeKey.String("connection")
	default:
		return semconv.ErrorTypeOther
	}
}
