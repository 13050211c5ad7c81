package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// A command that is queued on a Redis pipeline runs when the pipeline does, and it is that which tells whether it failed.

// onPipeline reports whether a call only queues a command.
func onPipeline(c *Call) bool {
	return c.Kind == CallInvoke && strings.HasSuffix(c.Iface, ".Pipeliner") && c.Name != "Exec"
}

// windowed remembers the keys of counters, and of what is told to expire.
func (in *interp) windowed(ins *Instr, key *Value) {
	if !in.traces || key.K != VStr {
		return
	}
	switch name := ins.Call.Name; {
	case strings.HasPrefix(name, "Incr"):
		if in.counts == nil {
			in.counts = make(map[string]string)
		}
		in.counts[siteKey(ins.Call.At)] = key.S
	case strings.Contains(name, "Expire"):
		if in.expire == nil {
			in.expire = make(map[string]bool)
		}
		in.expire[key.S] = true
	}
}

// window reports whether an effect counts what happens in a window of time: a counter that expires. Nothing of a message
// is lost with it.
func (in *interp) window(h *Hit) bool {
	key, ok := in.counts[siteKey(h.Pos)]
	return ok && in.expire[key]
}

// pipeFails is the place that says that a queued command will fail.
func (w *walker) pipeFails() cell { return cell{w.in.globalObj("{pipeline}", nil).id, "{fails}"} }

// pipeline executes what was queued.
func (w *walker) pipeline(ins *Instr, row *know.Row, full, args []*Value) []exit {
	var out []exit
	if row.Arg < 0 {
		out = w.library(ins, full)
	} else {
		out = w.runs(ins, row, args)
	}
	at := w.pipeFails()
	for i := range out {
		e := &out[i]
		if v := e.st.get(at); v == nil || v.K != VErr || w.in.piped == nil || len(e.vals) == 0 || row.Arg >= 0 && e.vals[len(e.vals)-1].K == VErr {
			continue
		}
		e.st.set(at, nilVal)
		vals := append([]*Value(nil), e.vals...)
		vals[len(vals)-1] = &Value{K: VErr, S: errFail}
		sub := *w
		sub.st = e.st
		sub.event(&Event{Kind: EvFail, Pos: w.in.piped.Pos, Hit: w.in.piped})
		e.vals, e.st = vals, sub.st
	}
	return out
}
