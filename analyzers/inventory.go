package analyzers

import (
	"cmp"
	"slices"

	"github.com/idemlint/idemlint/analyzers/internal/flow"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
	"github.com/idemlint/idemlint/analyzers/inventory"
)

// Inventory joins the packages' payloads, as [Settle] does, and lists the handlers of the packages: by package, file
// and line. Their verdicts are those of the findings: of an unguarded handler R-KFK-IDEM-X1 is reported at its position,
// unless a directive accepts it.
func Inventory(payloads []string) ([]inventory.Handler, error) {
	w, err := flow.Join(payloads)
	if err != nil {
		return nil, err
	}
	var out []inventory.Handler
	for _, h := range w.Prog.Inventory(w.Pkgs, w.Prog.JudgeAll(w.Pkgs)) {
		if !w.Reportable(h.Pos) {
			continue
		}
		d := describe(h)
		if d.Verdict == inventory.Unguarded {
			for _, dir := range w.Directives {
				if dir.Covers(rule.X1, "dedupcheck", h.Pos.File, int(h.Pos.Line)) {
					d.Accepted = cmp.Or(dir.Reason, "no reason given")
				}
			}
		}
		out = append(out, d)
	}
	return out, nil
}

func describe(h *flow.Handler) inventory.Handler {
	d := inventory.Handler{Name: h.Fn.Name, Package: h.Fn.Pkg, Position: h.Pos.String(),
		Client: h.Source.Client, Topics: h.Source.Topics, Group: h.Source.Group}
	d.Verdict, d.Reason = verdict(h)
	for _, g := range h.Guards {
		d.Guards = append(d.Guards, guard(g))
	}
	for _, m := range h.Effects {
		d.Effects = append(d.Effects, effect(h, m))
	}
	d.Transaction = transaction(h)
	d.Acks = acks(h, d.Client)
	for _, c := range h.Money {
		d.Money = append(d.Money, inventory.MoneyCall{What: c.Desc, Position: c.Pos.String(), Key: key(c), Fault: c.Fault != flow.KeyFine})
	}
	d.Flow = steps(h, d)
	return d
}

// verdict is the worst that can be said of a handler, and why.
func verdict(h *flow.Handler) (inventory.Verdict, string) {
	effects, natural := 0, 0
	for _, m := range h.Effects {
		if effects++; m.Natural {
			natural++
		}
	}
	switch {
	case h.Unguarded != nil:
		return inventory.Unguarded, unguarded(h.Unguarded)
	case h.GaveUp:
		return inventory.GivenUp, "it is too large to be looked at whole"
	case h.Loses != nil:
		return inventory.AtMostOnce, "the mark stays when " + h.Loses.Desc + " has failed: the next delivery does not do it either"
	case effects > 0 && slices.ContainsFunc(h.Guards, func(g flow.Guard) bool { return g.State == flow.GuardDecides }):
		return inventory.Guarded, ""
	case effects > natural:
		return inventory.Guarded, "no check decides by itself: a repeat runs into what the first delivery left"
	case effects > 0:
		return inventory.Idempotent, "what it writes is there already when it writes again"
	}
	// What cannot be seen is no effect that could be reported, though it may well be one.
	if len(h.Money) > 0 {
		return inventory.GivenUp, "nothing in sight shows what " + h.Money[0].Desc + " does"
	}
	if len(h.Open) > 0 {
		return inventory.GivenUp, "nothing in sight implements " + h.Open[0].Name
	}
	return inventory.NoEffect, ""
}

func unguarded(u *flow.Unguarded) string {
	check, _ := u.CheckDesc()
	switch u.Reason {
	case flow.LateCheck:
		return u.Effect.Desc + " comes before the check " + check
	case flow.Ignored:
		return u.Effect.Desc + " is reached whatever the check " + check + " answers"
	case flow.FailsOpen:
		return u.Effect.Desc + " is reached when the check " + check + " fails"
	case flow.Forgets:
		return u.Effect.Desc + " is guarded by memory only"
	}
	return u.Effect.Desc + " is reached with no processed-event check"
}

func guard(g flow.Guard) inventory.Guard {
	out := inventory.Guard{What: g.Desc, Position: g.Pos.String(), Store: g.Store, Table: g.Table}
	switch g.Store {
	case "name":
		out.Store = ""
	case "state":
		out.Store = "sql"
	}
	out.State = map[flow.GuardState]inventory.GuardState{flow.GuardDecides: inventory.Decides, flow.GuardIgnored: inventory.Ignored,
		flow.GuardFailsOpen: inventory.FailsOpen, flow.GuardLate: inventory.Late, flow.GuardForgets: inventory.Forgets}[g.State]
	return out
}

var effectKinds = map[flow.EffectKind]string{flow.EffDB: "database", flow.EffHTTP: "http", flow.EffGRPC: "grpc", flow.EffProduce: "kafka",
	flow.EffMail: "mail", flow.EffRedis: "redis", flow.EffMongo: "mongo", flow.EffFile: "file"}

func effect(h *flow.Handler, m flow.Moment) inventory.Effect {
	return inventory.Effect{Kind: cmp.Or(effectKinds[m.Kind], "other"), What: m.Desc, Position: m.Pos.String(), Repeated: m.Again,
		Idempotent: m.Natural, InTx: m.InTx,
		Money: slices.ContainsFunc(h.Money, func(c *flow.MoneyCall) bool { return c.Call == m.Pos || c.Pos == m.Pos })}
}

func transaction(h *flow.Handler) inventory.Transaction {
	if slices.ContainsFunc(h.Outside, func(x *flow.Outside) bool { return x.Kind != flow.MarkDropped }) {
		return inventory.Split
	}
	writes, in, pool := 0, 0, 0
	for _, m := range h.Effects {
		if m.Kind != flow.EffDB {
			continue
		}
		writes++
		if m.InTx {
			in++
		} else if m.Pool {
			pool++
		}
	}
	marked := slices.ContainsFunc(h.Guards, func(g flow.Guard) bool { return g.State == flow.GuardDecides && g.InTx })
	switch {
	case writes == 0:
		return ""
	case in == writes && marked:
		return inventory.MarkAndWork
	case in == writes && len(h.Begins) > 1:
		return inventory.Several
	case in == writes:
		return inventory.Work
	case in == 0 && pool == writes:
		return inventory.NoTx
	}
	return inventory.UnknownTx
}

var ackFaults = map[flow.AckKind]string{flow.AckEarly: "before the effect", flow.AckOpenTx: "before the transaction commits",
	flow.AckAsync: "does not wait for the goroutine of the effect", flow.AckFailed: "although the effect failed", flow.AckAuto: "before the effect, by the read itself"}

func acks(h *flow.Handler, client string) []inventory.Ack {
	var out []inventory.Ack
	for _, m := range h.Acks {
		a := inventory.Ack{What: m.Desc, Position: m.Pos.String()}
		for _, f := range h.AckFaults {
			if f.Pos == m.Pos {
				a.Fault = ackFaults[f.Kind]
			}
		}
		out = append(out, a)
	}
	returned := ""
	for _, f := range h.AckFaults {
		if f.Ack == "" {
			returned = ackFaults[f.Kind]
		}
	}
	switch {
	case h.Poll.Auto:
		a := inventory.Ack{What: "the read commits what it returns", Position: h.Poll.Pos.String()}
		if slices.ContainsFunc(h.AckFaults, func(f *flow.AckFault) bool { return f.Kind == flow.AckAuto }) {
			a.Fault = ackFaults[flow.AckAuto]
		}
		out = append(out, a)
	case h.Returns:
		out = append(out, inventory.Ack{What: "by returning", Fault: returned})
	case len(out) == 0 && h.Root.Kind == flow.RootSource && client != "":
		out = append(out, inventory.Ack{What: "by the client, if at all"})
	}
	return out
}

// key says what the idempotency key of a money call is.
func key(c *flow.MoneyCall) string {
	switch c.Fault {
	case flow.KeyMissing:
		return "none"
	case flow.KeyEmpty:
		return "empty"
	case flow.KeyFresh:
		return "made anew each time by " + cmp.Or(c.Maker, "the call")
	case flow.KeyAttempt:
		return "numbered by attempt"
	case flow.KeyConstant:
		return "the same for every event"
	case flow.KeyShared:
		return "shared with another call"
	}
	return "derived from the event"
}

// steps are the way of a record through a handler: what is polled, handed on, asked, done, committed and acknowledged.
func steps(h *flow.Handler, d inventory.Handler) []inventory.Step {
	out := []inventory.Step{{Kind: inventory.StepPoll, What: cmp.Or(d.Client, "the message"), Position: h.Poll.Pos.String()}}
	for _, s := range h.From {
		out = append(out, inventory.Step{Kind: inventory.StepHand, What: s.Name, Position: s.Pos.String()})
	}
	type at struct {
		rank int
		step inventory.Step
	}
	var work []at
	for i, g := range h.Guards {
		work = append(work, at{g.Rank, inventory.Step{Kind: inventory.StepGuard, What: d.Guards[i].What, Position: d.Guards[i].Position, State: string(d.Guards[i].State)}})
	}
	for i, m := range h.Effects {
		e := d.Effects[i]
		s := inventory.Step{Kind: inventory.StepEffect, What: e.What, Position: e.Position}
		switch {
		case e.Repeated:
			s.State = "repeated"
		case e.Idempotent:
			s.State = "idempotent"
		}
		work = append(work, at{m.Rank, s})
	}
	for _, m := range h.Commits {
		work = append(work, at{m.Rank, inventory.Step{Kind: inventory.StepCommit, What: cmp.Or(m.Desc, "commit"), Position: m.Pos.String()}})
	}
	slices.SortStableFunc(work, func(a, b at) int { return cmp.Compare(a.rank, b.rank) })
	for _, w := range work {
		out = append(out, w.step)
	}
	for _, a := range d.Acks {
		out = append(out, inventory.Step{Kind: inventory.StepAck, What: a.What, Position: a.Position, State: a.Fault})
	}
	if d.Verdict == inventory.Unguarded {
		bypass(out)
	}
	return out
}

// bypass marks the way that a repeat takes: past the checks that do not stop it, to the first effect that it does again.
func bypass(steps []inventory.Step) {
	for i := range steps {
		s := &steps[i]
		if s.Kind == inventory.StepEffect && s.State == "repeated" {
			s.Bypass = true
			return
		}
		s.Bypassed = s.Kind == inventory.StepGuard || s.Kind == inventory.StepEffect || s.Kind == inventory.StepCommit
	}
}
