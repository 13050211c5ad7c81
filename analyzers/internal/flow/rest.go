package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// rest does what a function of a client in the manner of resty does: a client makes requests, and what is set on the
// client goes with each of them.
func (w *walker) rest(ins *Instr, row *know.Row, recv *Value, args []*Value) []exit {
	c := ins.Call
	one := func(vs ...*Value) []exit { return []exit{{vs, w.st}} }
	set := func(name string, v *Value) []exit {
		if recv == nil {
			return w.quiet(ins)
		}
		w.st.set(cell{w.objAt(recv).id, join(w.pathAt(recv), name)}, v)
		return one(fit(c, recv, nilVal)...)
	}
	switch row.Kind {
	case know.RestClient:
		o := w.in.object(w.fr, ins, 9, nil)
		w.st.clear(o, "")
		w.st.set(cell{o.id, "{made}"}, vTrue)
		if row.Arg >= 0 {
			if rt := w.kept(at(args, row.Arg), "Transport"); rt != nil {
				w.st.set(cell{o.id, "{transport}"}, rt)
			}
		}
		return one(&Value{K: VRef, O: o})
	case know.RestNew:
		o := w.in.object(w.fr, ins, 5, nil)
		w.st.clear(o, "")
		if recv != nil {
			w.st.set(cell{o.id, "{client}"}, recv)
		}
		return one(&Value{K: VRef, O: o})
	case know.RestHook:
		var list []*Value
		if old := w.kept(recv, "{hooks}"); old != nil {
			list = append(list, old.Elems...)
		}
		return set("{hooks}", &Value{K: VTuple, Elems: append(list, at(args, row.Arg))})
	case know.RestTransport:
		return set("{transport}", at(args, row.Arg))
	case know.RestBase:
		return set("{base}", at(args, row.Arg))
	}
	return w.restSend(ins, row, recv, args)
}

// restSend sends a request of a client in the manner of resty.
func (w *walker) restSend(ins *Instr, row *know.Row, req *Value, args []*Value) []exit {
	method, url := strings.ToUpper(strings.TrimPrefix(ins.Call.Name, "Must")), at(args, row.Arg)
	switch {
	case row.Arg2 >= 0:
		method = strings.ToUpper(text(at(args, row.Arg2)))
	case row.Arg < 0:
		method, url = w.requestLine(req)
	}
	if changes(method) {
		w.effect(ins, EffHTTP, "HTTP "+method+" "+shown(url), nil)
	}
	if w.in.money == nil || w.in.money.watch != nil || !w.st.msg || req == nil {
		return w.quiet(ins)
	}
	client := w.kept(req, "{client}")
	made := w.clients(client)
	outside := ""
	if len(made) == 0 {
		outside = "its client"
		if client != nil {
			outside = clientName(client)
		}
	}
	made = w.customised(made)
	if len(made) == 0 {
		made = []*Value{nil}
	}
	var out []exit
	for _, cl := range made {
		sub := *w
		sub.st = w.st.fork()
		out = append(out, sub.restSendBy(ins, cl, method, url, req, outside)...)
	}
	return out
}

// customised are the clients that add something to what they send, when there are any.
func (w *walker) customised(cs []*Value) []*Value {
	var out []*Value
	for _, c := range cs {
		if w.kept(c, "{hooks}") != nil || w.headerKey(c) != nil || w.kept(c, "{transport}") != nil {
			out = append(out, c)
		}
	}
	if len(out) > 0 {
		return out
	}
	return cs[:min(1, len(cs))]
}

func (w *walker) restSendBy(ins *Instr, client *Value, method string, url, req *Value, outside string) []exit {
	if client != nil {
		if base := w.kept(client, "{base}"); base != nil && !strings.Contains(text(url), "://") {
			url = w.concat(base, url, w.deep(url))
		}
		if o, p := w.headersOf(client); o != nil {
			if w.headerKey(req) == nil {
				ho, hp := w.headersOf(req)
				w.copyCells(&Value{K: VRef, O: o, Path: p}, ho, hp)
			}
		}
	}
	w.st.set(cell{w.objAt(req).id, join(w.pathAt(req), "{url}")}, url)
	w.st.set(cell{w.objAt(req).id, join(w.pathAt(req), "{method}")}, strVal(method, Taint{}))
	states := []*state{w.st}
	if hooks := w.kept(client, "{hooks}"); hooks != nil {
		states = w.hooked(ins, hooks.Elems, client, req)
	}
	var out []exit
	for _, st := range states {
		sub := *w
		sub.st = st
		if client != nil {
			if res := sub.transported(ins, []*Value{client}, client, req); res != nil {
				out = append(out, res...)
				continue
			}
		}
		out = append(out, sub.leaves(ins, method, url, req, outside)...)
	}
	return out
}

// hooked runs a client's hooks on a request, and gives the states in which none of them failed.
func (w *walker) hooked(ins *Instr, hooks []*Value, client, req *Value) []*state {
	states := []*state{w.st}
	for _, h := range hooks {
		var next []*state
		for _, st := range states {
			sub := *w
			sub.st = st
			call := *ins.Call
			call.Kind, call.Res = CallDynamic, []*Type{{Kind: KError}}
			as := *ins
			as.Call = &call
			outs, ok := sub.behalf(ins, func(s *walker) ([]exit, bool) { return s.callValue(&as, h, []*Value{client, req}, nil) })
			if !ok {
				next = append(next, st)
				continue
			}
			for _, e := range outs {
				if len(e.vals) > 0 && len(next) < 8 {
					if isNil, known := e.vals[len(e.vals)-1].isNil(); known && !isNil {
						continue
					}
				}
				next = append(next, e.st)
			}
		}
		states = next
	}
	return states
}
