package runtime

import "errors"

// isolate processes items after failure, which is a record's fault, in transactions
// like any other but of ever fewer records, so that the guilty ones fail alone. Where
// it is known whose handler failed, that one gets a transaction of its own after all
// that come before; else the run is halved. One that fails by itself is tried again while
// that may help (Config.MaxAttempts). Without a dead letter the run ends before the first
// guilty record.
//
// Savepoints in one transaction would not do: settings that a handler makes (its
// role, its search_path, when constraints are checked) outlast them, up to taking
// back the marks of the guilty.
func (l *lane) isolate(items []*item, failure *txFailure) (*outcome, error) {
	a := l.assignment
	total := &outcome{}
	limit, suspect := narrow(len(items), failure)
	alone := 0 // failed attempts at items[0] by itself
	if len(items) == 1 {
		alone = 1
	}
	if park(failure) {
		alone = 0
	}
	for len(items) > 0 {
		switch {
		case alone == 0:
		case !l.mayTryAgain(failure, alone):
			if !l.giveUp(total, items[0], alone, failure) {
				return total, nil
			}
			items, alone = items[1:], 0
			continue
		case !l.waitAlone(items[0], failure, alone):
			return nil, errEnding
		}
		n := min(limit, len(items))
		if at := indexOf(items[:n], suspect); at >= 0 {
			n = max(1, at) // what comes before it, or itself
		}
		if alone > 0 {
			n = 1
		}
		out, err := l.attempt(items[:n])
		switch {
		case err == nil:
			total.add(out)
			if out.stop != nil {
				return total, nil
			}
			limit *= 2
			items, alone = items[n:], 0
		case !errors.As(err, &failure) || failure.verdict != guilty || a.ctx.Err() != nil:
			return nil, err
		case n > 1:
			limit, suspect = narrow(n, failure)
			park(failure)
		case park(failure):
			alone = 0
		default:
			alone++
		}
	}
	return total, nil
}

// errEnding says that a lane ended while a record of it waited for another attempt.
var errEnding = errors.New("the assignment ends")

// mayTryAgain tells whether a record that has failed by itself is worth another attempt.
func (l *lane) mayTryAgain(failure *txFailure, attempt int) bool {
	return attempt < l.assignment.consumer.cfg.MaxAttempts && mayPass(failure.err)
}

// waitAlone waits before another attempt at a record. It is false if the assignment ends.
func (l *lane) waitAlone(it *item, failure *txFailure, attempt int) bool {
	c := l.assignment.consumer
	c.stats.recordRetries.Add(1)
	c.cfg.Logger.Warn("record failed; trying again", "group", c.cfg.Group, "topic", it.rec.Topic, "partition", it.rec.Partition,
		"offset", it.rec.Offset, "attempt", attempt, "error", failure.err)
	return l.backOff(attempt)
}

// failed is the record after its last attempts here.
func (it *item) failed(group string, attempts int, err error) FailedRecord {
	f := FailedRecord{Record: it.source(), Group: group, Attempt: attempts, Err: err, delivered: it.rec}
	if it.origin != nil {
		f.Attempt, f.tier = f.Attempt+it.origin.attempt, it.origin.tier
	}
	return f
}

// giveUp adds a record that has failed for good to what becomes of the run. It is false
// if that is the end of the partition.
func (l *lane) giveUp(total *outcome, it *item, attempt int, failure *txFailure) bool {
	c := l.assignment.consumer
	failed := it.failed(c.cfg.Group, attempt, failure.err)
	failed.EventID, failed.hopeless = failure.eventID, !mayPass(failure.err)
	if c.cfg.DeadLetter == nil {
		total.stop = &failed
		return false
	}
	total.add(&outcome{items: []*item{it}, failed: []FailedRecord{failed}})
	return true
}

// narrow returns how many records to try after n have failed, and the one that is
// suspected. Halving even with a suspect keeps the work for a run of nothing but
// guilty ones in proportion.
func narrow(n int, failure *txFailure) (limit int, suspect *item) {
	return max(1, n/2), failure.item
}

func indexOf(items []*item, of *item) int {
	for i, it := range items {
		if it == of {
			return i
		}
	}
	return -1
}

// park sees to it that a record whose event is too old for its idempotency key goes
// to the quarantine with the next attempt. It is false if that is not what failed.
func park(failure *txFailure) bool {
	var expired *KeyExpiredError
	if failure.item == nil || failure.item.parked != nil || !errors.As(failure.err, &expired) {
		return false
	}
	failure.item.parked = expired
	return true
}
