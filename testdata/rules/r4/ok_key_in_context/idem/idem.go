// Package idem carries the idempotency key in the context.
package idem

import (
	"context"
	"net/http"
)

type ctxKey struct{}

// WithKey returns a context that carries the key.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, ctxKey{}, key)
}

// Key of the context, if any.
func Key(ctx context.Context) (string, bool) {
	k, ok := ctx.Value(ctxKey{}).(string)
	return k, ok && k != ""
}

// Transport sets the Idempotency-Key header.
type Transport struct{ Base http.RoundTripper }

func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if key, ok := Key(req.Context()); ok {
		req = req.Clone(req.Context())
		req.Header.Set("Idempotency-Key", key)
	}
	return t.Base.RoundTrip(req)
}
