package runtime_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/runtimetest"
)

// keyLog is a server that notes the key of each request, and answers as it is told.
type keyLog struct {
	*httptest.Server
	mu     sync.Mutex
	keys   []string
	header string
	answer func(w http.ResponseWriter, r *http.Request, n int)
}

func newKeyLog(t *testing.T) *keyLog {
	l := &keyLog{header: "Idempotency-Key"}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		l.mu.Lock()
		l.keys = append(l.keys, r.Header.Get(l.header))
		n := len(l.keys)
		l.mu.Unlock()
		if l.answer != nil {
			l.answer(w, r, n)
		}
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *keyLog) taken() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.keys)
}

// client is one whose transport wraps the server's.
func (l *keyLog) client() *http.Client {
	return &http.Client{Transport: &runtime.KeyTransport{Base: l.Server.Client().Transport}}
}

// send sends one request and closes its answer.
func (l *keyLog) send(t *testing.T, ctx context.Context, method, path, body string, change ...func(*http.Request)) error {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, l.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(req)
	}
	resp, err := l.client().Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

var someEvent = uuid.MustParse("01932c07-5d1a-7bbb-8f3e-6f1f0a3b9c2d")

func eventContext(t *testing.T) context.Context {
	return runtimetest.WithEvent(t.Context(), "billing-service", someEvent)
}

func keyOf(t *testing.T, step string) string {
	t.Helper()
	key, err := runtime.IdempotencyKey(eventContext(t), step)
	if err != nil {
		t.Fatal(err)
	}
	return key.String()
}

func TestAMutatingRequestGetsTheKeyOfItsStep(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "TRANSFER"} {
		l := newKeyLog(t)
		if err := l.send(t, runtime.WithStep(eventContext(t), "refund"), method, "/", "10"); err != nil {
			t.Fatal(err)
		}
		if got := l.taken(); !slices.Equal(got, []string{keyOf(t, "refund")}) {
			t.Errorf("%s had keys %q, want that of the step", method, got)
		}
	}
}

func TestARequestThatChangesNothingPassesWithoutAKey(t *testing.T) {
	l := newKeyLog(t)
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE", ""} {
		if err := l.send(t, t.Context(), method, "/", ""); err != nil {
			t.Errorf("%q: %v", method, err)
		}
	}
	if got := strings.Join(l.taken(), ""); got != "" {
		t.Errorf("they had keys %q", got)
	}
}

func TestAMutatingRequestOutsideOfAHandlerIsNotSent(t *testing.T) {
	l := newKeyLog(t)
	if err := l.send(t, t.Context(), "POST", "/", "10"); !errors.Is(err, runtime.ErrNoEvent) {
		t.Errorf("it failed with %v, want ErrNoEvent", err)
	}
	if got := l.taken(); len(got) != 0 {
		t.Errorf("%d requests were sent", len(got))
	}
}

func TestARefusedRequestsBodyIsClosed(t *testing.T) {
	body := &closing{Reader: strings.NewReader("10")}
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/", body)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := (&runtime.KeyTransport{}).RoundTrip(req); err == nil {
		resp.Body.Close()
		t.Error("it was sent")
	}
	if !body.closed {
		t.Error("its body is open")
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

func TestAKeyOfTheCallersOwnIsLeftAlone(t *testing.T) {
	own := func(r *http.Request) { r.Header.Set("Idempotency-Key", "my own") }
	for name, ctx := range map[string]context.Context{"in a handler": eventContext(t), "outside": t.Context()} {
		l := newKeyLog(t)
		if err := l.send(t, ctx, "POST", "/", "10", own); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := l.taken(); !slices.Equal(got, []string{"my own"}) {
			t.Errorf("%s the key became %q", name, got)
		}
	}
}

func TestTheHeaderOfTheKeyCanBeNamed(t *testing.T) {
	l := newKeyLog(t)
	l.header = "PayPal-Request-Id"
	client := &http.Client{Transport: &runtime.KeyTransport{Header: "PayPal-Request-Id"}}
	req, err := http.NewRequestWithContext(runtime.WithStep(eventContext(t), "pay"), "POST", l.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := l.taken(); !slices.Equal(got, []string{keyOf(t, "pay")}) {
		t.Errorf("PayPal-Request-Id was %q", got)
	}
	if req.Header.Get("PayPal-Request-Id") != "" {
		t.Error("the caller's request was changed")
	}
}

// TestTwoCallsOfOneEventDoNotShareAKey tries pairs of calls in one attempt.
func TestTwoCallsOfOneEventDoNotShareAKey(t *testing.T) {
	type call struct{ step, method, path, body string }
	for name, tc := range map[string]struct {
		first, second call
		failed        bool // the first is answered with 503
		refused       bool
	}{
		"other content":                    {call{"", "POST", "/a", "1"}, call{"", "POST", "/a", "2"}, false, true},
		"another address":                  {call{"", "POST", "/a", "1"}, call{"", "POST", "/b", "1"}, false, true},
		"another method":                   {call{"", "POST", "/a", "1"}, call{"", "PUT", "/a", "1"}, false, true},
		"the same again after a success":   {call{"", "POST", "/a", "1"}, call{"", "POST", "/a", "1"}, false, true},
		"the same again after a failure":   {call{"", "POST", "/a", "1"}, call{"", "POST", "/a", "1"}, true, false},
		"other content after a failure":    {call{"", "POST", "/a", "1"}, call{"", "POST", "/a", "2"}, true, true},
		"steps of their own":               {call{"x", "POST", "/a", "1"}, call{"y", "POST", "/a", "1"}, false, false},
		"one of them in a step":            {call{"", "POST", "/a", "1"}, call{"y", "POST", "/a", "1"}, false, false},
		"other content in one step":        {call{"x", "POST", "/a", "1"}, call{"x", "POST", "/a", "2"}, false, true},
		"the same in one step":             {call{"x", "POST", "/a", "1"}, call{"x", "POST", "/a", "1"}, false, false},
		"other content in a step, failure": {call{"x", "POST", "/a", "1"}, call{"x", "POST", "/a", "2"}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newKeyLog(t)
			if tc.failed {
				l.answer = func(w http.ResponseWriter, _ *http.Request, n int) {
					if n == 1 {
						w.WriteHeader(http.StatusServiceUnavailable)
					}
				}
			}
			ctx := eventContext(t)
			if err := l.send(t, runtime.WithStep(ctx, tc.first.step), tc.first.method, tc.first.path, tc.first.body); err != nil {
				t.Fatal(err)
			}
			err := l.send(t, runtime.WithStep(ctx, tc.second.step), tc.second.method, tc.second.path, tc.second.body)
			if refused := errors.Is(err, runtime.ErrSharedKey); refused != tc.refused || !refused && err != nil {
				t.Errorf("the second call returned %v, want it refused: %v", err, tc.refused)
			}
			keys := l.taken()
			if want := map[bool]int{true: 1, false: 2}[tc.refused]; len(keys) != want {
				t.Fatalf("%d requests were sent, want %d", len(keys), want)
			}
			if one := tc.first.step == tc.second.step; !tc.refused && (keys[0] == keys[1]) != one {
				t.Errorf("keys are %q, want one: %v", keys, one)
			}
		})
	}
}

func TestABodyThatCannotBeReadTwiceIsNeverTakenForARetry(t *testing.T) {
	l := newKeyLog(t)
	l.answer = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusServiceUnavailable) }
	ctx := eventContext(t)
	once := func(r *http.Request) { r.GetBody = nil }
	if err := l.send(t, ctx, "POST", "/", "1", once); err != nil {
		t.Fatal(err)
	}
	if err := l.send(t, ctx, "POST", "/", "1", once); !errors.Is(err, runtime.ErrSharedKey) {
		t.Errorf("the second call returned %v, want ErrSharedKey", err)
	}
}

func TestANewAttemptMayMakeItsCallAgain(t *testing.T) {
	l := newKeyLog(t)
	for range 2 {
		if err := l.send(t, eventContext(t), "POST", "/", "1"); err != nil {
			t.Fatal(err)
		}
	}
	if keys := l.taken(); len(keys) != 2 || keys[0] != keys[1] || keys[0] == "" {
		t.Errorf("the keys of two attempts are %q, want one", keys)
	}
}

// TestARetryOfTheTransportKeepsTheKey closes the connection that the second request
// comes on, which net/http then sends on another.
func TestARetryOfTheTransportKeepsTheKey(t *testing.T) {
	l := newKeyLog(t)
	l.answer = func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 2 {
			panic(http.ErrAbortHandler)
		}
	}
	ctx := eventContext(t)
	if err := l.send(t, runtime.WithStep(ctx, "first"), "POST", "/", "1"); err != nil {
		t.Fatal(err)
	}
	if err := l.send(t, runtime.WithStep(ctx, "second"), "POST", "/", "1"); err != nil {
		t.Fatal(err)
	}
	if got, want := l.taken(), []string{keyOf(t, "first"), keyOf(t, "second"), keyOf(t, "second")}; !slices.Equal(got, want) {
		t.Errorf("keys are %q, want %q", got, want)
	}
}

func TestARedirectKeepsTheKey(t *testing.T) {
	l := newKeyLog(t)
	l.answer = func(w http.ResponseWriter, r *http.Request, n int) {
		if n < 3 {
			http.Redirect(w, r, "/moved", http.StatusPermanentRedirect)
		}
	}
	if err := l.send(t, runtime.WithStep(eventContext(t), "pay"), "POST", "/", "1"); err != nil {
		t.Fatal(err)
	}
	want := keyOf(t, "pay")
	if got := l.taken(); !slices.Equal(got, []string{want, want, want}) {
		t.Errorf("keys are %q, want %s three times", got, want)
	}
}
