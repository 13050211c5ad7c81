package flow

import "github.com/idemlint/idemlint/analyzers/internal/know"

// Makers of ids that are handed over as functions: a constructor's argument, a field, an option. The place that decides
// is where the maker is named and handed over, not the call of what was handed over.

// handOver notes where functions are handed over as arguments.
func (w *walker) handOver(c *Call, args []*Value) {
	if !w.in.ids {
		return
	}
	for _, a := range c.Funcs {
		if a.Index < len(args) {
			args[a.Index] = args[a.Index].handedAt(a.Pos)
		}
	}
}

// handStored is what a store writes. A function that is put into anything but a package variable is handed over there.
func (w *walker) handStored(ins *Instr) *Value {
	v := w.val(ins.B)
	if !w.in.ids || v.K != VFunc || ins.Pos.File != w.fn.Pos.File {
		return v
	}
	if a := w.val(ins.A); a.O != nil && a.O.Name != "" && a.O.Slot == "G|"+a.O.Name {
		return v
	}
	v = v.handedAt(ins.Pos)
	w.makesIDs(w.val(ins.A), v, ins)
	return v
}

// makesIDs is a function that a library's field takes as the maker of messages' ids.
func (w *walker) makesIDs(addr, f *Value, ins *Instr) {
	if addr.fa == nil {
		return
	}
	pkg, typ := splitType(addr.fa.S2)
	if know.FieldRole(know.Normal(pkg), typ, addr.fa.S) != know.RoleNewID {
		return
	}
	sub := *w
	sub.st = w.st.fork()
	call := &Instr{Op: OpCall, Dst: -1, Pos: ins.Pos, Call: &Call{Kind: CallDynamic, Res: []*Type{{Kind: KString}}}}
	out, _ := sub.callValue(call, f, nil, nil)
	for _, e := range out {
		if len(e.vals) > 0 {
			w.in.sink(Sink{Kind: SinkMessageID, Name: typ + "." + addr.fa.S, Pos: ins.Pos}, e.vals[0], w)
		}
	}
}

// handedAt is a function value that was handed over at a place, unless it had been before.
func (v *Value) handedAt(at Pos) *Value {
	if v.K != VFunc || v.Ref.IsValid() || !at.IsValid() {
		return v
	}
	c := *v
	c.Ref = at
	return &c
}

// handed moves the random ids that a function value returned to where it was handed over.
func (w *walker) handed(out []exit, ins *Instr, fun *Value) {
	if !w.in.ids || !fun.Ref.IsValid() {
		return
	}
	for i := range out {
		for j, v := range out[i].vals {
			if v == nil {
				continue
			}
			var srcs []*Src
			for k, s := range v.T.Srcs {
				if s.Bit != FromV4 || s.depth != w.fr.depth || s.Enter != ins.Pos || s.Ref.IsValid() {
					continue
				}
				if srcs == nil {
					srcs = append(srcs, v.T.Srcs...)
				}
				n := *s
				n.Ref, n.Enter = fun.Ref, fun.Ref
				srcs[k] = &n
			}
			if srcs != nil {
				c := *v
				c.T.Srcs = srcs
				out[i].vals[j] = &c
			}
		}
	}
}

// makers calls the functions that a value may hold, one for every place at which one was handed over.
func (w *walker) makers(ins *Instr, fun *Value, args []*Value) []exit {
	if !w.in.ids {
		return nil
	}
	var out []exit
	for _, h := range w.in.prog.handedIn(fun.Slot, w.in.slotHint(fun)) {
		sub := *w
		sub.st = w.st.fork()
		v := &Value{K: VFunc, S: h.fn, Bound: h.method, Ref: h.at}
		if h.method {
			v.Elems = []*Value{{K: VTop}}
		}
		if res, ok := sub.callValue(ins, v, args, h.edge); ok {
			out = append(out, res...)
		}
	}
	return out
}

// handing is a function that may be in a slot, and where it was handed over; nowhere when a package variable that is
// called holds it.
type handing struct {
	fn     string
	method bool
	at     Pos
	edge   *Edge
}

// handedIn finds the functions in a slot with the places of all hand-overs, none when there are too many.
func (p *Program) handedIn(slot, hint string) []handing {
	for _, s := range [...]string{slot, hint} {
		if s == "" {
			continue
		}
		if out := p.handings(s); len(out) > 0 {
			return out
		}
	}
	return nil
}

// maxHandings bounds how many hand-overs of one slot are told apart.
const maxHandings = 8

func (p *Program) handings(slot string) []handing {
	type step struct {
		slot string
		from *Edge // the package variable that was handed over
	}
	var out []handing
	seen := map[string]bool{slot: true}
	work := []step{{slot: slot}}
	for len(work) > 0 && len(seen) < 400 && len(out) <= maxHandings {
		s := work[0]
		work = work[1:]
		for _, e := range p.into(s.slot) {
			if e.Src[0] == 'f' || e.Src[0] == 'm' {
				h := handing{fn: e.Src[2:], method: e.Src[0] == 'm', at: e.Pos, edge: e}
				switch {
				case s.from != nil:
					h.at, h.edge = s.from.Pos, s.from
				case s.slot[0] == 'G':
					h.at = Pos{}
				}
				out = append(out, h)
				continue
			}
			from := s.from
			if from == nil && e.Src[0] == 'G' && s.slot[0] != 'G' {
				from = e
			}
			for _, n := range p.through(e.Src) {
				key := n
				if from != nil {
					key += "@" + from.Pos.String()
				}
				if !seen[key] {
					seen[key] = true
					work = append(work, step{n, from})
				}
			}
		}
		for _, n := range p.calls(s.slot) {
			if !seen[n] {
				seen[n] = true
				work = append(work, step{n, s.from})
			}
		}
	}
	if len(out) > maxHandings {
		return nil
	}
	return out
}

// givenMaker reports whether a function of another package calls a maker that the package under analysis hands over.
func (p *Program) givenMaker(f *Func, makers map[string]bool) bool {
	for bi := range f.Blocks {
		for ii := range f.Blocks[bi].Instrs {
			c := f.Blocks[bi].Instrs[ii].Call
			if c == nil || c.Kind != CallDynamic {
				continue
			}
			slot := p.slotAt(f, c.Fun)
			if slot == "" {
				continue
			}
			for _, h := range p.handings(slot) {
				if p.own[h.edge] && (makers[h.fn] || p.isV4(h.fn)) {
					return true
				}
			}
		}
	}
	return false
}

// mayFail adds the outcome in which a library's call fails, where random ids are looked for: what is said of a failure
// has an id, too. That making a sorted id fails is not asked: a random one may stand in for it.
func (w *walker) mayFail(c *Call, exits []exit) []exit {
	if !w.in.ids || len(exits) == 0 || len(c.Res) == 0 {
		return exits
	}
	last := len(c.Res) - 1
	if r := c.Res[last]; r == nil || r.Kind != KError || c.Kind == CallStatic && w.in.prog.fn(c.Fn) != nil {
		return exits
	}
	row := know.Lookup(know.Sym{Pkg: c.Pkg, Recv: c.Recv, Name: c.Name})
	if row == nil {
		return exits
	}
	switch row.Kind {
	case know.V4, know.V7, know.NameID, know.Digest, know.IDText, know.FreshValue, know.ClockPart:
		return exits
	}
	for _, e := range exits {
		if last >= len(e.vals) || e.vals[last] == nil || e.vals[last].K != VNil {
			return exits
		}
	}
	e := exits[0]
	vals := append([]*Value(nil), e.vals...)
	vals[last] = errVal(errAny, Taint{})
	return append(exits, exit{vals, e.st.fork()})
}

// getsEventID reports whether a method that is named as an event's id returns the field: then the field is one, whatever
// it is called.
func (p *Program) getsEventID(owner, field string) bool {
	if p.getters == nil {
		p.getters = make(map[string]bool)
		for _, f := range p.funcs {
			if _, name := splitType(f.Name); !f.Test && f.Method && p.scopeIn(f.Pkg).EventID(name) {
				if s := f.getter(); s != "" {
					p.getters[s] = true
				}
			}
		}
	}
	return p.getters[owner+"|"+field]
}

// getter is the field that a method does nothing but return, possibly as a text, "" for any other method.
func (f *Func) getter() string {
	if len(f.Blocks) != 1 || len(f.Params) != 1 {
		return ""
	}
	f.prepare()
	ins := f.Blocks[0].Instrs
	ret := &ins[len(ins)-1]
	if ret.Op != OpReturn || len(ret.Args) != 1 {
		return ""
	}
	v := ret.Args[0]
	for range 6 {
		d := f.def(v)
		if v < 0 || d == nil {
			return ""
		}
		switch d.Op {
		case OpCopy, OpLoad:
			v = d.A
		case OpCall:
			row := know.Lookup(know.Sym{Pkg: d.Call.Pkg, Recv: d.Call.Recv, Name: d.Call.Name})
			if row == nil || row.Kind != know.IDText || len(d.Call.Args) != 1 {
				return ""
			}
			v = d.Call.Args[0]
		case OpField, OpFieldAddr:
			return d.S2 + "|" + d.S
		default:
			return ""
		}
	}
	return ""
}
