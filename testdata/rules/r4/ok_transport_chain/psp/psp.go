// Package psp builds the client of the payment provider.
package psp

import (
	"context"
	"net/http"
	"time"
)

type keyOf struct{}

// WithKey gives the calls made with the context a key.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOf{}, key)
}

type logging struct{ next http.RoundTripper }

func (l logging) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	resp, err := l.next.RoundTrip(req)
	_ = time.Since(start)
	return resp, err
}

type keyed struct {
	header string
	next   http.RoundTripper
}

func (k keyed) RoundTrip(req *http.Request) (*http.Response, error) {
	if key, ok := req.Context().Value(keyOf{}).(string); ok {
		req = req.Clone(req.Context())
		req.Header.Set(k.header, key)
	}
	return k.next.RoundTrip(req)
}

// NewHTTP makes the client.
func NewHTTP() *http.Client {
	return &http.Client{Transport: logging{next: keyed{header: "Idempotency-Key", next: http.DefaultTransport}}, Timeout: time.Second}
}
