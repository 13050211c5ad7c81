package testpg

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Proxy is a network between clients and a PostgreSQL server that a test can make slow or break. It carries every
// connection unchanged until it is told otherwise.
type Proxy struct {
	// URL is the connection string through the proxy.
	URL string

	target   string
	listener net.Listener
	done     sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	refuse  bool
	delay   time.Duration
	lose    int // answers to COMMIT still to be dropped
	swallow int // answers to COMMIT still to be held back
	cutting int // commits still to be kept from the server
	lost    chan struct{}
	links   map[*link]struct{}
}

// NewProxy opens a proxy to the server of conn, a connection string, and closes it when the test ends.
func NewProxy(tb testing.TB, conn string) *Proxy {
	tb.Helper()
	config, err := pgconn.ParseConfig(conn)
	if err != nil {
		tb.Fatalf("testpg: parse connection string: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("testpg: open proxy: %v", err)
	}
	host, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		tb.Fatalf("testpg: open proxy: %v", err)
	}
	through, err := withAddress(conn, host, port)
	if err != nil {
		tb.Fatalf("testpg: open proxy: %v", err)
	}
	p := &Proxy{
		URL:      through,
		target:   net.JoinHostPort(config.Host, fmt.Sprint(config.Port)),
		listener: listener,
		lost:     make(chan struct{}, 1024),
		links:    map[*link]struct{}{},
	}
	p.done.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// SetRoundTrip makes every message take half of d in each direction.
func (p *Proxy) SetRoundTrip(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d / 2
}

// Refuse closes every new connection at once while on.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}

// Cut breaks all connections and answers how many there were.
func (p *Proxy) Cut() int {
	p.mu.Lock()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		l.cut()
	}
	return len(links)
}

// LoseCommitAnswers breaks the connection at each of the next n commits, after the server made the transaction
// durable and before the client learns it.
func (p *Proxy) LoseCommitAnswers(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = n
}

// SwallowCommitAnswers holds back the server's answer to each of the next n commits and leaves the connection
// open: the client waits until its own deadline.
func (p *Proxy) SwallowCommitAnswers(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallow = n
}

// CutBeforeCommit breaks the connection at each of the next n commits before the server sees them, so that it
// rolls back. A client cannot tell this from LoseCommitAnswers.
func (p *Proxy) CutBeforeCommit(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutting = n
}

// Lost receives once for every commit that LoseCommitAnswers, SwallowCommitAnswers or CutBeforeCommit hit.
func (p *Proxy) Lost() <-chan struct{} { return p.lost }

func (p *Proxy) take(counter *int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if *counter <= 0 {
		return false
	}
	*counter--
	select {
	case p.lost <- struct{}{}:
	default: // nobody has read a thousand of them
	}
	return true
}

func (p *Proxy) latency() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refuse := p.refuse || p.closed
		p.mu.Unlock()
		if refuse {
			_ = client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.carry(&link{client: client, server: server})
	}
}

func (p *Proxy) carry(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.cut()
		return
	}
	p.links[l] = struct{}{}
	p.done.Go(func() {
		defer p.forget(l)
		var both sync.WaitGroup
		both.Go(func() { p.pump(l, l.client, l.server, p.fromClient) })
		both.Go(func() { p.pump(l, l.server, l.client, p.fromServer) })
		both.Wait()
	})
}

func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.Cut()
	p.done.Wait()
}

// link is one connection of a client carried to the server.
type link struct {
	client, server net.Conn
	once           sync.Once
}

func (l *link) cut() {
	l.once.Do(func() {
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

// parcel is a message on its way, and when it arrives.
type parcel struct {
	data []byte
	due  time.Time
}

// pump carries one direction. Reading and writing are apart, so that messages sent together arrive together after
// one delay, as on a wire, and not one delay after the other. A nil message from next ends the connection.
func (p *Proxy) pump(l *link, from, to net.Conn, next func(*stream) ([]byte, error)) {
	defer l.cut()
	wire := make(chan parcel, 1024)
	var writer sync.WaitGroup
	writer.Go(func() {
		defer l.cut()
		deliver(wire, to)
	})
	defer writer.Wait()
	defer close(wire)
	in := &stream{r: bufio.NewReaderSize(from, 64<<10)}
	for {
		message, err := next(in)
		if err != nil {
			return
		}
		if message != nil {
			wire <- parcel{message, time.Now().Add(p.latency())}
		}
	}
}

// deliver writes parcels when they are due, those that are due together in one write, until wire closes.
func deliver(wire <-chan parcel, to io.Writer) {
	failed := false
	var buffer bytes.Buffer
	for first := range wire {
		if failed {
			continue // drain, so that the reader does not block
		}
		if wait := time.Until(first.due); wait > 0 {
			time.Sleep(wait)
		}
		buffer.Reset()
		buffer.Write(first.data)
	together:
		for buffer.Len() < 256<<10 {
			select {
			case more, open := <-wire:
				if !open {
					break together
				}
				if wait := time.Until(more.due); wait > 0 {
					_, err := to.Write(buffer.Bytes())
					failed = failed || err != nil
					buffer.Reset()
					time.Sleep(wait)
				}
				buffer.Write(more.data)
			default:
				break together
			}
		}
		_, err := to.Write(buffer.Bytes())
		failed = failed || err != nil
	}
}

// stream reads messages of the PostgreSQL protocol: a type byte and a length that counts itself, except for the
// client's first one, which has no type. There is no request for TLS before it, as Proxy.URL disables that.
// https://www.postgresql.org/docs/current/protocol-message-formats.html
type stream struct {
	r       *bufio.Reader
	started bool
}

const (
	maxMessage     = 1 << 30
	commandDone    = 'C'
	simpleQuery    = 'Q'
	parseStatement = 'P'
)

func (s *stream) read(typed bool) ([]byte, error) {
	prefix := 4
	if typed {
		prefix = 5
	}
	head, err := s.r.Peek(prefix)
	if err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(head[prefix-4:]))
	if length < 4 || length > maxMessage {
		return nil, fmt.Errorf("message of %d bytes", length)
	}
	// A length is only believed as far as bytes follow.
	size := int64(prefix - 4 + length)
	var message bytes.Buffer
	message.Grow(int(min(size, 64<<10)))
	if _, err := io.CopyN(&message, s.r, size); err != nil {
		return nil, err
	}
	return message.Bytes(), nil
}

var errCut = errors.New("cut")

func (p *Proxy) fromClient(s *stream) ([]byte, error) {
	if !s.started {
		s.started = true
		return s.read(false)
	}
	message, err := s.read(true)
	if err != nil {
		return nil, err
	}
	if isCommit(message) && p.take(&p.cutting) {
		return nil, errCut
	}
	return message, nil
}

func (p *Proxy) fromServer(s *stream) ([]byte, error) {
	message, err := s.read(true)
	if err != nil {
		return nil, err
	}
	if message[0] != commandDone || string(message[5:]) != "COMMIT\x00" {
		return message, nil
	}
	if p.take(&p.lose) {
		return nil, errCut
	}
	if p.take(&p.swallow) {
		return nil, p.silence(s)
	}
	return message, nil
}

// silence reads what the server still says and keeps it, until the client goes away.
func (p *Proxy) silence(s *stream) error {
	_, err := io.Copy(io.Discard, s.r)
	return errors.Join(err, errCut)
}

// isCommit tells whether a client's message is a statement that begins with COMMIT, or several the last of which does.
func isCommit(message []byte) bool {
	body := message[5:]
	switch message[0] {
	case parseStatement:
		_, statement, found := bytes.Cut(body, []byte{0})
		if !found {
			return false
		}
		body = statement
	case simpleQuery:
	default:
		return false
	}
	body = bytes.TrimRight(body, "; \t\r\n\x00")
	if message[0] == simpleQuery {
		body = body[bytes.LastIndexByte(body, ';')+1:]
	}
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) >= 6 && bytes.EqualFold(body[:6], []byte("commit"))
}
