package runtime

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"net/http"

	"github.com/idemlint/idemlint/runtime/internal/idemkey"
)

// IdempotencyKeyHeader is the header that most providers take an idempotency key from
// (IETF draft-ietf-httpapi-idempotency-key-header).
const IdempotencyKeyHeader = "Idempotency-Key"

// A KeyTransport is an http.RoundTripper that gives every mutating request its
// event's idempotency key, and refuses one that it has no key for:
//
//	client := &http.Client{Transport: &runtime.KeyTransport{}}
//	req, err := http.NewRequestWithContext(ctx, http.MethodPost, …) // the handler's ctx
//
// The request's context must be that of a handler, or one made from it; else the
// request fails with ErrNoEvent and is not sent. The key is that of IdempotencyKey
// for the context's step (WithStep). Without a step an event may make one call in an
// attempt: a second one fails with ErrSharedKey and is not sent, unless it is the
// first one again (same method, address and body) after that has failed. In a named
// step only a request that differs is refused. Redirects are the same call and keep
// the key; so do a wrapped or wrapping transport's retries of a request whose body
// can be rewound (http.Request.GetBody).
//
// A request that has the header already is sent as it is. GET, HEAD, OPTIONS and
// TRACE, which change nothing (RFC 9110, section 9.2.1), pass.
//
// The zero value is ready. It is safe for concurrent use if Base is.
type KeyTransport struct {
	// Base sends the requests, http.DefaultTransport if nil.
	Base http.RoundTripper
	// Header is where the key goes, IdempotencyKeyHeader if empty; for PayPal, for
	// example, it is PayPal-Request-Id.
	Header string
}

// RoundTrip implements http.RoundTripper. Errors that it refuses a request with wrap
// ErrNoEvent or ErrSharedKey, or are a *KeyExpiredError.
func (t *KeyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	header := t.Header
	if header == "" {
		header = IdempotencyKeyHeader
	}
	if isSafe(req.Method) || req.Header.Get(header) != "" {
		return t.base().RoundTrip(req)
	}
	if key := redirectedKey(req, header); key != "" {
		return t.base().RoundTrip(withHeader(req, header, key))
	}
	key, call, err := t.begin(req)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper must, whatever it returns
		}
		return nil, err
	}
	failed := true
	defer func() { call.Ended(failed) }()
	sent := withHeader(req, header, key)
	resp, err := t.base().RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	failed = resp.StatusCode >= http.StatusBadRequest
	if resp.Request == nil {
		resp.Request = sent
	}
	return resp, nil
}

// CloseIdleConnections closes those of Base, if it knows how, for
// http.Client.CloseIdleConnections.
func (t *KeyTransport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

func (t *KeyTransport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

func isSafe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

func (t *KeyTransport) begin(req *http.Request) (string, *idemkey.Call, error) {
	target := req.Method + " " + req.URL.Redacted()
	scope, err := idemkey.From(req.Context())
	if err != nil {
		return "", nil, fmt.Errorf("%s not sent, for want of an idempotency key: %w", target, err)
	}
	body, err := digest(req)
	if err != nil {
		return "", nil, fmt.Errorf("%s not sent: reading its body: %w", target, err)
	}
	key, call, err := scope.Begin(idemkey.Step(req.Context()), target, body)
	if err != nil {
		return "", nil, fmt.Errorf("%s not sent: %w", target, err)
	}
	return key.String(), call, nil
}

// digest returns the digest of what req sends, nil if that cannot be read twice.
func digest(req *http.Request) (*[sha256.Size]byte, error) {
	h := sha256.New()
	switch {
	case req.Body == nil || req.Body == http.NoBody:
	case req.GetBody == nil:
		return nil, nil
	default:
		if err := readBody(h, req); err != nil {
			return nil, err
		}
	}
	return (*[sha256.Size]byte)(h.Sum(nil)), nil
}

func readBody(h hash.Hash, req *http.Request) error {
	body, err := req.GetBody()
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(h, body)
	return err
}

// redirectedKey returns the key of the request whose answer led to req, empty if there
// is none. A redirect that keeps the method is the same call at another address, and
// http.Client makes it from the request as it was before it had the key.
func redirectedKey(req *http.Request, header string) string {
	if req.Response == nil || req.Response.Request == nil {
		return ""
	}
	return req.Response.Request.Header.Get(header)
}

// withHeader returns a copy: a RoundTripper must not change its request.
func withHeader(req *http.Request, name, value string) *http.Request {
	sent := *req
	sent.Header = req.Header.Clone()
	if sent.Header == nil {
		sent.Header = make(http.Header)
	}
	sent.Header.Set(name, value)
	return &sent
}
