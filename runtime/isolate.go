package runtime

import "errors"

// isolate processes items after failure, which is a record's fault, in transactions
// like any other but of ever fewer records, so that the guilty ones fail alone. Where
// it is known whose handler failed, that one gets a transaction of its own after all
// that come before; else the run is halved. Without a dead letter it ends before the
// first guilty record.
//
// Savepoints in one transaction would not do: settings that a handler makes (its
// role, its search_path, when constraints are checked) outlast them, up to taking
// back the marks of the guilty.
func (l *lane) isolate(items []*item, failure *txFailure) (*outcome, error) {
	a := l.assignment
	c := a.consumer
	total := &outcome{}
	limit, suspect := narrow(len(items), failure)
	park(failure)
	for len(items) > 0 {
		n := min(limit, len(items))
		if at := indexOf(items[:n], suspect); at >= 0 {
			n = max(1, at) // what comes before it, or itself
		}
		out, err := l.attempt(items[:n])
		switch {
		case err == nil:
			total.add(out)
			if out.stop != nil {
				return total, nil
			}
			limit *= 2
		case !errors.As(err, &failure) || failure.verdict != guilty || a.ctx.Err() != nil:
			return nil, err
		case n > 1:
			limit, suspect = narrow(n, failure)
			park(failure)
			continue
		case park(failure):
			continue
		default:
			failed := FailedRecord{Record: items[0].rec, Group: c.cfg.Group, EventID: failure.eventID, Err: failure.err}
			if c.cfg.DeadLetter == nil {
				total.stop = &failed
				return total, nil
			}
			total.add(&outcome{items: items[:1], failed: []FailedRecord{failed}})
		}
		items = items[n:]
	}
	return total, nil
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
