package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// Health is how a consumer is. Its JSON is what the handlers of Consumer.Liveness and
// Consumer.Readiness answer with.
type Health struct {
	// Live is false when a restart of the process would help, and only then: the poll
	// loop does not move, a handler, decoder, quarantine or dead letter does not
	// return although its time is up, or Run has returned. It stays true before Run,
	// while Run waits for the database or a broker, while batches are tried again,
	// while partitions are stopped, during rebalances, and until a shutdown is done.
	Live bool `json:"live"`
	// NotLive says why.
	NotLive []string `json:"not_live,omitempty"`
	// Ready is true while the consumer can do its work: the group has admitted it
	// (with or without partitions: there may be more members than partitions), the
	// database answers, the tables are there, and processed_event has a partition for
	// the present. It does not become false for a stopped partition, which no other
	// process would fare better with, nor for a rebalance.
	Ready bool `json:"ready"`
	// NotReady says why.
	NotReady []string `json:"not_ready,omitempty"`
	// Assigned are the partitions held, by topic, and Stopped those of them that have
	// stopped until a person has looked, as AlarmPartitionStopped told.
	Assigned map[string][]int32 `json:"assigned"`
	Stopped  map[string][]int32 `json:"stopped,omitempty"`
}

const (
	// pollTick is the longest time that a poll waits for records before the loop
	// shows that it moves.
	pollTick = 5 * time.Second
	// pollStall is how long the poll loop may not move, beyond what a rebalance may
	// make it wait for.
	pollStall = time.Minute
	// probePatience bounds the question whether the database answers. It is within the
	// time that probes usually have when they are told to wait longer than a second.
	probePatience = 2 * time.Second
	// databaseSeen is how long a commit is proof that the database answers.
	databaseSeen = 5 * time.Second
)

// The stages of Run.
const (
	stageNew int32 = iota
	stagePreparing
	stageRunning
	stageDraining
	stageEnded
)

// pulse is what the consumer's goroutines tell of themselves for Health. Times are on
// the consumer's clock.
type pulse struct {
	pollTick   time.Duration
	stage      atomic.Int32
	moved      atomic.Int64 // when the poll loop moved last, or restsOnLanes
	stuck      atomic.Int64 // calls of user code that do not return
	joined     atomic.Bool  // the group has given an assignment, be it an empty one
	lastCommit atomic.Int64 // of the database, 0 for none
}

// restsOnLanes stands for a poll loop that waits for lanes to need records. It is
// theirs to move, and what keeps them is told otherwise.
const restsOnLanes = math.MaxInt64

// Health tells how the consumer is. If there was no commit within the last seconds it
// asks the database, through the pool and for at most two seconds: a pool needs a
// connection more than there are batches at a time.
func (c *Consumer) Health(ctx context.Context) Health {
	h := c.liveness()
	h.NotReady = c.notReady(ctx)
	h.Ready = len(h.NotReady) == 0
	return h
}

// liveness fills in all but the readiness, without asking anyone.
func (c *Consumer) liveness() Health {
	h := Health{Assigned: map[string][]int32{}, Stopped: map[string][]int32{}}
	for _, a := range c.held() {
		h.Assigned[a.topic] = append(h.Assigned[a.topic], a.id)
		if a.standing().state == stateStopped {
			h.Stopped[a.topic] = append(h.Stopped[a.topic], a.id)
		}
	}
	for _, of := range []map[string][]int32{h.Assigned, h.Stopped} {
		for _, ids := range of {
			slices.Sort(ids)
		}
	}
	switch c.stage.Load() {
	case stageRunning:
		limit := pollStall + c.cfg.RevokeTimeout + offsetCommitTimeout
		if still := c.clock() - time.Duration(c.moved.Load()); still > limit {
			h.NotLive = append(h.NotLive, fmt.Sprintf("the poll loop has not moved for %s", still.Round(time.Second)))
		}
	case stageEnded:
		h.NotLive = append(h.NotLive, "Run has returned")
	}
	if n := c.stuck.Load(); n > 0 {
		h.NotLive = append(h.NotLive, fmt.Sprintf("%d calls of a handler, decoder, quarantine or dead letter do not return although their time is up", n))
	}
	h.Live = len(h.NotLive) == 0
	return h
}

func (c *Consumer) notReady(ctx context.Context) []string {
	var why []string
	refuse := func(bad bool, reason string) {
		if bad {
			why = append(why, reason)
		}
	}
	stage := c.stage.Load()
	refuse(stage == stageNew, "Run has not been called")
	refuse(stage == stagePreparing, "the tables, or their partitions, are not ready, or the database does not answer")
	refuse(stage == stageDraining || stage == stageEnded, "the consumer is shutting down")
	if stage != stageRunning {
		return why
	}
	refuse(!c.joined.Load(), "the group has not admitted this member")
	if status := c.maintainer.Status(); c.cfg.Layout == Partitioned {
		refuse(status.AheadUntil.IsZero(), "processed_event has no partition for the present")
	}
	if err := c.askDatabase(ctx); err != nil {
		why = append(why, fmt.Sprintf("asking the database: %v", err))
	}
	return why
}

// askDatabase answers nil if the database has committed a batch a moment ago or
// answers now.
func (c *Consumer) askDatabase(ctx context.Context) error {
	if at := c.lastCommit.Load(); at > 0 && c.clock()-time.Duration(at) < databaseSeen {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	err := c.pool.Ping(ctx)
	if stat := c.pool.Stat(); err != nil && stat.AcquiredConns() >= stat.MaxConns() {
		return fmt.Errorf("no connection is free, all %d of the pool are in use: %w", stat.MaxConns(), err)
	}
	return err
}

// Liveness answers liveness probes: 200 while Health's Live is true, else 503, either
// with a Health as JSON that says nothing of readiness. It asks neither the database
// nor a broker.
func (c *Consumer) Liveness() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := c.liveness()
		answer(w, h.Live, struct {
			Live     bool               `json:"live"`
			NotLive  []string           `json:"not_live,omitempty"`
			Assigned map[string][]int32 `json:"assigned"`
			Stopped  map[string][]int32 `json:"stopped,omitempty"`
		}{h.Live, h.NotLive, h.Assigned, h.Stopped})
	})
}

// Readiness answers readiness probes: 200 while Health's Ready is true, else 503, either
// with the Health as JSON. It may take two seconds when the database does not answer:
// give the probe a timeout of three.
func (c *Consumer) Readiness() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := c.Health(r.Context())
		answer(w, h.Ready, h)
	})
}

func answer(w http.ResponseWriter, ok bool, body any) {
	w.Header().Set("Content-Type", "application/json")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(body) // the prober has gone away
}
