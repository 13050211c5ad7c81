package flow

import (
	"slices"
	"strings"
)

// Messages that are acknowledged although their effect failed.

// onePerCause keeps the first of the effects whose failure one function keeps to itself: what has to be changed is that
// function's return.
func onePerCause(acks []*AckFault) []*AckFault {
	seen := make(map[string]bool)
	return slices.DeleteFunc(acks, func(f *AckFault) bool {
		if f.Kind != AckFailed || f.Ack != "" {
			return false
		}
		again := seen[f.Eats]
		seen[f.Eats] = true
		return again
	})
}

// keepsAll reports whether a root returns nothing wrong when an effect has failed.
func (o *Order) keepsAll() bool {
	return slices.ContainsFunc(o.Acks, func(f *AckFault) bool { return f.Kind == AckFailed && f.Ack == "" })
}

// waited reports whether what happened in a goroutine was waited for.
func waited(trace, e *Event, depth int) bool {
	if e.Depth <= depth {
		return true
	}
	for a := trace; a != nil && a != e; a = a.Prev {
		if a.Kind == EvWait && a.Depth < e.Depth {
			return true
		}
	}
	return false
}

// marked reports whether a mark that tells the next delivery to do nothing is committed by then.
func marked(e *Event) bool { return committedMark(e.Prev) != nil }

// committedMark is the last mark on a path whose transaction is over, or that was in none.
func committedMark(trace *Event) *Event {
	over := make(map[*Tx]bool)
	for a := trace; a != nil; a = a.Prev {
		switch {
		case a.Kind == EvCommit && a.Tx != nil:
			over[top1(a.Tx)] = true
		case a.Kind == EvCheck && !a.Site.Look && a.Site.Store != "memory" && a.Outcome == outFresh && (a.Site.Tx == nil || over[top1(a.Site.Tx)]):
			return a
		}
	}
	return nil
}

// unhandled is an effect that failed, when nothing that happened since takes care of the message.
func unhandled(trace *Event, depth int, fresh map[Pos]bool) *Hit {
	for a := trace; a != nil; a = a.Prev {
		switch a.Kind {
		case EvFail:
			if !waited(trace, a, depth) || a.Hit.Kind != EffDB && marked(a) {
				return nil // nobody could know, or the next delivery would not do it either
			}
			return a.Hit
		case EvNack, EvDead, EvUnseen:
			return nil
		case EvEffect:
			if !fresh[a.Pos] {
				return nil // something is done about it
			}
		}
	}
	return nil
}

// returnAcks reports whether the client acknowledges when the root returns.
func (o *ordering) returnAcks() bool {
	if o.root.Kind != RootRegistered {
		return false
	}
	for _, c := range [...]string{"watermill", "goka", "aws-lambda-go", "cloudevents"} {
		if strings.Contains(o.root.Client, c) {
			return true
		}
	}
	return false
}

// fault records a fault, one a place.
func (o *ordering) fault(f *AckFault) {
	if old := o.faults[f.Pos]; old != nil && (old.Kind < f.Kind || old.Kind == f.Kind && !less(f.Effect.Pos, old.Effect.Pos)) {
		return
	}
	u := o.p.attribute(o.root, f.Effect)
	if f.Way = u.Way; f.Handler == "" {
		f.Handler = u.Handler
	}
	o.faults[f.Pos] = f
}

// at is the place of an effect, or of the call in the handler's package that leads there.
func (o *ordering) at(h *Hit) Pos {
	pkg := o.p.attribute(o.root, h).Pkg
	return lifted(h.chain, h.Pos, pkg)
}

// lifted is a place, or the call in the package that leads there.
func lifted(fr *frame, pos Pos, pkg string) Pos {
	for f := fr; f != nil; f = f.up {
		if f.fn.Pkg == pkg {
			return pos
		}
		if f.in != nil {
			pos = f.in.Pos
		}
	}
	return pos
}
