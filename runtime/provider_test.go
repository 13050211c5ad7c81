package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/idemlint/idemlint/runtime"
)

// charge is what a payment provider is asked for.
type charge struct {
	Order  uuid.UUID `json:"order"`
	Amount int       `json:"amount"`
}

// slip is what it answers.
type slip struct {
	ID     int `json:"id"`
	Amount int `json:"amount"`
}

// A mischief is what a provider does to one request.
type mischief int

const (
	none     mischief = iota
	drop              // moves the money and closes the connection
	late              // moves the money and answers when nobody waits any more
	garbled           // moves the money and answers half of it
	failed            // moves the money and answers 500
	busy              // answers 503 and moves nothing
	declined          // answers 402 and moves nothing, now and for this key ever after
)

// provider moves money, once for a key as long as it remembers that.
type provider struct {
	*httptest.Server
	testing.TB

	mu       sync.Mutex
	mischief func(n int, c charge) mischief // n counts requests from 1
	requests int
	asks     map[uuid.UUID]int // requests by order
	keys     map[string]answer
	moved    map[uuid.UUID]int // movements by order
	inFlight map[string]bool
	meet     func(charge) // called for each request before it is looked at
}

type answer struct {
	request string
	status  int
	body    []byte
}

func newProvider(tb testing.TB) *provider {
	p := &provider{TB: tb, asks: make(map[uuid.UUID]int), keys: make(map[string]answer), moved: make(map[uuid.UUID]int), inFlight: make(map[string]bool)}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	tb.Cleanup(p.Close)
	return p
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var c charge
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	key := r.Header.Get(runtime.IdempotencyKeyHeader)
	if err != nil || key == "" {
		http.Error(w, "no charge or no key", http.StatusBadRequest)
		return
	}
	if p.meet != nil {
		p.meet(c)
	}
	found, how := p.decide(key, string(body), c)
	if how == late {
		<-r.Context().Done()
	}
	p.mu.Lock()
	delete(p.inFlight, key)
	p.mu.Unlock()
	switch how {
	case drop, late:
		panic(http.ErrAbortHandler)
	case garbled:
		w.Header().Set("Content-Length", fmt.Sprint(len(found.body)))
		_, _ = w.Write(found.body[:len(found.body)/2])
		panic(http.ErrAbortHandler)
	case failed:
		w.WriteHeader(http.StatusInternalServerError)
	default:
		w.WriteHeader(found.status)
		_, _ = w.Write(found.body)
	}
}

// decide moves the money, or finds that it is moved, and says what the client is to see.
func (p *provider) decide(key, request string, c charge) (answer, mischief) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	p.asks[c.Order]++
	how := none
	if p.mischief != nil {
		how = p.mischief(p.requests, c)
	}
	found, known := p.keys[key]
	switch {
	case p.inFlight[key]:
		return answer{status: http.StatusConflict}, none
	case known && found.request != request:
		p.Errorf("key %s came with %s and then with %s", key, found.request, request)
		return answer{status: http.StatusUnprocessableEntity}, none
	case known:
	case how == busy:
		return answer{status: http.StatusServiceUnavailable}, how
	case how == declined:
		found = answer{request: request, status: http.StatusPaymentRequired}
		p.keys[key] = found
	default:
		p.moved[c.Order]++
		body, err := json.Marshal(slip{ID: len(p.moved), Amount: c.Amount})
		if err != nil {
			p.Error(err)
		}
		found = answer{request: request, status: http.StatusOK, body: body}
		p.keys[key] = found
	}
	p.inFlight[key] = true
	return found, how
}

// forget makes the provider forget every key, as it does after a while.
func (p *provider) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.keys)
}

func (p *provider) seen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// asked answers how often it was asked for the charge of an order.
func (p *provider) asked(order uuid.UUID) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asks[order]
}

// movedOnce asserts that money moved once for each of n orders, and prints the count.
func (p *provider) movedOnce(n int) {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	movements := 0
	for _, times := range p.moved {
		movements += times
	}
	p.Logf("money moved %d times for %d of %d orders, in %d requests", movements, len(p.moved), n, p.requests)
	if movements != n || len(p.moved) != n {
		p.Errorf("money moved %d times for %d orders, want once for each of %d", movements, len(p.moved), n)
	}
}

var errDeclined = errors.New("declined")

// charge asks for a charge and reads the receipt.
func (p *provider) charge(ctx context.Context, c charge) (slip, error) {
	return chargeAt(ctx, p.URL, p.Client().Transport, c)
}

// chargeAt asks a provider for a charge with the key of the context's event.
func chargeAt(ctx context.Context, provider string, base http.RoundTripper, c charge) (slip, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return slip{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, provider+"/charges", bytes.NewReader(body))
	if err != nil {
		return slip{}, err
	}
	client := &http.Client{Transport: &runtime.KeyTransport{Base: base}}
	resp, err := client.Do(req)
	if err != nil {
		return slip{}, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusPaymentRequired:
		return slip{}, runtime.Definite(errDeclined)
	default:
		return slip{}, fmt.Errorf("charging order %s: %s", c.Order, resp.Status)
	}
	var got slip
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		return slip{}, fmt.Errorf("reading the receipt of order %s: %w", c.Order, err)
	}
	return got, nil
}
