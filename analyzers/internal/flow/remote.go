package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// remote does what a function of an HTTP or gRPC library does. A request is an object that keeps what was set on it:
// its method, URL, context, body, and in its field Header the headers, so that where it is sent the state tells, for
// this path, what it carries.
func (w *walker) remote(ins *Instr, row *know.Row, full []*Value, recv *Value, args []*Value) []exit {
	c := ins.Call
	one := func(vs ...*Value) []exit { return []exit{{vs, w.st}} }
	self := func(name string, v *Value) []exit {
		if recv != nil {
			w.st.set(cell{w.objAt(recv).id, join(w.pathAt(recv), name)}, v)
			return one(fit(c, recv, nilVal)...)
		}
		return w.quiet(ins)
	}
	switch row.Kind {
	case know.HTTPNew, know.HTTPMake:
		return one(fit(c, w.newRequest(ins, row, args), nilVal)...)
	case know.HTTPHeader:
		name, val := at(args, row.Arg), at(args, row.Arg2)
		w.in.sink(Sink{Kind: SinkHeader, Name: name.S, Pos: c.At, Known: name.S}, val, w)
		w.setHeader1(row, recv, name, val)
		return one(fit(c, recv, nilVal)...)
	case know.HTTPDel:
		if name := at(args, row.Arg); name.K == VStr && recv != nil {
			w.st.clear(w.objAt(recv), join(w.pathAt(recv), "{"+name.S+"}"))
		}
		return w.quiet(ins)
	case know.HTTPHeaders:
		o, p := w.headersOf(recv)
		w.copyCells(at(args, row.Arg), o, p)
		return one(fit(c, recv, nilVal)...)
	case know.HTTPCopy:
		if row.Arg >= 0 && recv != nil {
			w.st.set(cell{w.objAt(recv).id, join(w.pathAt(recv), "{ctx}")}, at(args, row.Arg))
		}
		return one(fit(c, recv, nilVal)...)
	case know.RestContext:
		return self("{ctx}", at(args, row.Arg))
	case know.HTTPCtx:
		if v := w.kept(recv, "{ctx}"); v != nil {
			return one(v)
		}
		return one(top)
	case know.HTTPMethod:
		return w.onRequest(ins, recv, "{method}", at(args, row.Arg))
	case know.HTTPURL:
		return w.onRequest(ins, recv, "{url}", at(args, row.Arg))
	case know.HTTPBody:
		return self("{body}", at(args, row.Arg))
	case know.RestStep:
		if recv != nil {
			return one(fit(c, recv, nilVal)...)
		}
		return w.library(ins, full)
	case know.RestClient, know.RestNew, know.RestHook, know.RestTransport, know.RestBase, know.RestSend:
		return w.rest(ins, row, recv, args)
	case know.HTTPSend:
		return w.httpSend(ins, recv, at(args, row.Arg))
	case know.HTTPPost:
		return w.httpPost(ins, recv, at(args, row.Arg))
	case know.URLText, know.URLJoin:
		return w.url(ins, row, recv, args)
	}
	return w.rpc(ins, row, full, recv, args)
}

// kept is what a model keeps under a name on an object.
func (w *walker) kept(v *Value, name string) *Value {
	if v == nil || v.O == nil {
		return nil
	}
	if x := w.st.get(cell{v.O.id, join(w.pathAt(v), name)}); x != nil {
		return x
	}
	return w.find(v.O, join(w.pathAt(v), name), nil, 0)
}

func (w *walker) newRequest(ins *Instr, row *know.Row, args []*Value) *Value {
	o := w.in.object(w.fr, ins, 5, nil)
	w.st.clear(o, "")
	o.Name = "http.Request"
	if row.Kind == know.HTTPMake {
		return &Value{K: VRef, O: o}
	}
	w.st.set(cell{o.id, "{method}"}, at(args, row.Arg))
	w.st.set(cell{o.id, "Method"}, at(args, row.Arg))
	w.st.set(cell{o.id, "{url}"}, at(args, row.Arg2))
	if row.Arg > 0 {
		w.st.set(cell{o.id, "{ctx}"}, at(args, 0))
	}
	if body := at(args, row.Arg2+1); body != top {
		w.st.set(cell{o.id, "{body}"}, body)
	}
	return &Value{K: VRef, O: o}
}

// setHeader1 sets a header on a header itself, or on the request or client that has it.
func (w *walker) setHeader1(row *know.Row, recv, name, val *Value) {
	if recv == nil {
		return
	}
	if row.Recv == "Header" || row.Recv == "RequestHeader" {
		w.setHeader(w.objAt(recv), w.pathAt(recv), name, val)
		return
	}
	o, p := w.headersOf(recv)
	w.setHeader(o, p, name, val)
}

// onRequest sets something on a request, or on the request whose header a call was made on.
func (w *walker) onRequest(ins *Instr, recv *Value, name string, v *Value) []exit {
	if recv == nil {
		return w.quiet(ins)
	}
	path := strings.TrimSuffix(strings.TrimSuffix(w.pathAt(recv), "Header"), ".")
	w.st.set(cell{w.objAt(recv).id, join(path, name)}, v)
	return []exit{{fit(ins.Call, recv, nilVal), w.st}}
}

// url is a URL, or its text, in another form.
func (w *walker) url(ins *Instr, row *know.Row, recv *Value, args []*Value) []exit {
	first, rest := recv, args
	if row.Arg >= 0 {
		first, rest = at(args, row.Arg), args[min(row.Arg+1, len(args)):]
	}
	if first == nil {
		first = top
	}
	var t Taint
	for _, a := range append([]*Value{first}, rest...) {
		t = t.join(w.deep(a))
	}
	out := &Value{K: VNotNil, T: t}
	if first.K == VStr || first.K == VTop {
		out = strVal(text(first), t)
		out.base = baseOf(first)
	}
	if row.Kind == know.URLJoin {
		for _, a := range w.variadic(rest, 0) {
			sep := ""
			if !strings.HasPrefix(text(a), "/") {
				sep = "/"
			}
			out = strVal(out.S+sep+text(a), t)
		}
		out.base = baseOf(first)
	}
	if len(ins.Call.Res) == 0 {
		return w.quiet(ins)
	}
	return []exit{{fit(ins.Call, out, nilVal), w.st}}
}

// requestLine is a request's method and URL as far as they are known.
func (w *walker) requestLine(req *Value) (method string, url *Value) {
	url = top
	for _, f := range [...]string{"{method}", "Method", "Request.Method"} {
		if m := w.kept(req, f); m != nil && m.K == VStr && method == "" {
			method = m.S
		}
	}
	for _, f := range [...]string{"{url}", "URL", "RawURL", "Request.URL"} {
		if u := w.kept(req, f); u != nil && (u.K == VStr || u.Slot != "" || u.base != "") && url == top {
			url = u
		}
	}
	return method, url
}

// changes reports whether an HTTP method changes something. A request made elsewhere, by a method that is not seen,
// is not taken for a change.
func changes(method string) bool {
	switch strings.ToUpper(method) {
	case "GET", "HEAD", "OPTIONS", "TRACE", "":
		return false
	}
	return true
}

// repeats reports whether an HTTP method does its work again when it is repeated.
func repeats(method string) bool {
	m := strings.ToUpper(method)
	return m == "POST" || m == "PATCH"
}

// httpSend sends a request.
func (w *walker) httpSend(ins *Instr, recv, req *Value) []exit {
	method, url := w.requestLine(req)
	if changes(method) {
		w.effect(ins, EffHTTP, "HTTP "+method+" "+shown(url), nil)
	}
	if w.in.money == nil || w.in.money.watch != nil || !w.st.msg {
		return w.quiet(ins)
	}
	outside := ""
	if recv != nil && know.Lookup(know.Sym{Pkg: ins.Call.Pkg, Recv: ins.Call.Recv, Name: "RoundTrip"}) == nil {
		clients := w.clients(recv)
		if out := w.transported(ins, clients, recv, req); out != nil {
			return out
		}
		if len(clients) == 0 {
			outside = clientName(recv)
		}
	}
	return w.leaves(ins, method, url, req, outside)
}

// clientName is what a client that comes from outside is called in the code.
func clientName(v *Value) string {
	if n := lastPart(slotName(v)); n != "" {
		return "its client, in " + n + ","
	}
	return "its client"
}

// clients are the clients that a value can be, as the module builds them.
func (w *walker) clients(v *Value) []*Value {
	switch {
	case v == nil:
		return nil
	case v.O != nil && (v.O.Local || w.kept(v, "{made}") != nil):
		return []*Value{v}
	case strings.HasPrefix(slotName(v), "G|net/http."):
		return []*Value{v}
	}
	if out := w.built(v.Slot); len(out) > 0 {
		return out
	}
	if v.O != nil && v.O.Slot != v.Slot {
		return w.built(v.O.Slot)
	}
	return nil
}

// transported sends a request through the transports that the module's own code puts into the client, or through the
// module's own type behind an interface; nil when there are none.
func (w *walker) transported(ins *Instr, clients []*Value, recv, req *Value) []exit {
	var out []exit
	run := func(v *Value, typ, method string) bool {
		if pkg, _ := splitType(typ); know.Under(know.Normal(pkg), know.Runtime) { // it sets the key itself
			sub := *w
			sub.st = w.st.fork()
			out = append(out, sub.keyed(ins, req)...)
			return true
		}
		m := w.in.prog.method(typ, method)
		if m == nil || m.Fn == "" || w.in.prog.fn(m.Fn) == nil {
			return false
		}
		sub := *w
		sub.st = w.st.fork()
		call := *ins.Call
		call.Kind, call.Fn, call.Iface = CallInvoke, method, "net/http.RoundTripper"
		as := *ins
		as.Call = &call
		res, ok := sub.behalf(ins, func(s *walker) ([]exit, bool) { return s.callMethod(&as, v, m, []*Value{req}, nil) })
		if ok {
			out = append(out, res...)
		}
		return ok
	}
	for _, c := range clients {
		rt := w.kept(c, "Transport")
		if rt == nil {
			rt = w.kept(c, "{transport}")
		}
		if rt == nil || rt.Dyn == "" {
			if c.Dyn != "" && run(c, c.Dyn, ins.Call.Name) {
				continue
			}
			continue
		}
		run(rt, rt.Dyn, "RoundTrip")
	}
	if len(out) == 0 && ins.Call.Kind == CallInvoke && recv.Dyn == "" {
		for _, b := range w.in.prog.bound(recv.Slot, ins.Call.Iface, w.in.slotHint(recv)) {
			run(recv, b.Type, ins.Call.Fn)
		}
	}
	return out
}

// behalf runs code of a transport, hook or interceptor: what it sends, it sends for the call ins.
func (w *walker) behalf(ins *Instr, run func(*walker) ([]exit, bool)) ([]exit, bool) {
	m := w.in.money
	old := m.sender
	if old == nil {
		m.sender = &sender{fr: w.fr, ins: ins}
	}
	out, ok := run(w)
	m.sender = old
	return out, ok
}

// httpPost is a call that makes a request and sends it.
func (w *walker) httpPost(ins *Instr, recv, url *Value) []exit {
	w.effect(ins, EffHTTP, "HTTP "+strings.ToUpper(ins.Call.Name)+" "+shown(url), nil)
	if w.in.money == nil || w.in.money.watch != nil || !w.st.msg {
		return w.quiet(ins)
	}
	o := w.in.object(w.fr, ins, 5, nil)
	w.st.clear(o, "")
	w.st.set(cell{o.id, "{method}"}, strVal("POST", Taint{}))
	w.st.set(cell{o.id, "{url}"}, url)
	req := &Value{K: VRef, O: o}
	outside := ""
	if recv != nil {
		clients := w.clients(recv)
		if out := w.transported(ins, clients, recv, req); out != nil {
			return out
		}
		if len(clients) == 0 {
			outside = clientName(recv)
		}
	}
	return w.leaves(ins, "POST", url, req, outside)
}

// keyed sends a request through the companion runtime's transport, which gives it the event's key.
func (w *walker) keyed(ins *Instr, req *Value) []exit {
	method, url := w.kept(req, "{method}"), w.kept(req, "{url}")
	if w.in.money == nil || method == nil || url == nil || !repeats(method.S) || !w.urlMoney(ins, url) {
		return w.quiet(ins)
	}
	at := shownURL(url)
	return w.pays(ins, remoteCall{desc: strings.TrimSpace("HTTP " + strings.ToUpper(method.S) + " " + at), ns: "http " + hostOf(url), op: method.S + " " + at,
		key: &Value{K: VNotNil, T: Taint{Bits: FromEventID | FromPayload}}})
}

// leaves is the moment at which a request leaves.
func (w *walker) leaves(ins *Instr, method string, url *Value, req *Value, outside string) []exit {
	if !repeats(method) || !w.urlMoney(ins, url) {
		return w.quiet(ins)
	}
	key := w.headerKey(req)
	if key == nil {
		if body := w.kept(req, "{body}"); body != nil {
			key = w.keyIn(body, know.KeyField)
		}
	}
	at := shownURL(url)
	return w.pays(ins, remoteCall{desc: strings.TrimSpace("HTTP " + strings.ToUpper(method) + " " + at), ns: "http " + hostOf(url), op: method + " " + at, key: key, outside: outside})
}

func shownURL(v *Value) string {
	if v.K != VStr {
		return ""
	}
	return shown(v)
}

// hostOf is what stands before a URL's path: its host, or where that comes from.
func hostOf(v *Value) string {
	s := text(v)
	if i := strings.Index(s, "://"); i >= 0 {
		if j := strings.IndexByte(s[i+3:], '/'); j >= 0 {
			return s[:i+3+j]
		}
		return s
	}
	return baseOf(v)
}

// urlMoney reports whether a URL's host or path, or the function that sends to it, says money.
func (w *walker) urlMoney(ins *Instr, url *Value) bool {
	say := know.SaysNothing
	if url.K == VStr {
		say = w.know().MoneyPath(url.S, byte(sqltext.Hole))
	}
	if say == know.SaysOther {
		return false
	}
	if say == know.SaysMoney || url.K == VStr && know.ProviderHost(url.S) || w.baseIsProvider(url) {
		return true
	}
	return w.sayMoney()
}

// baseIsProvider reports whether the base of a URL, where the module sets it, is a payment provider's.
func (w *walker) baseIsProvider(url *Value) bool {
	slot := baseOf(url)
	if slot == "" {
		return false
	}
	for _, v := range w.built(slot) {
		if v.K == VStr && know.ProviderHost(v.S) {
			return true
		}
	}
	return false
}

// sayMoney reports whether the function that makes the call says that it moves money; one that only says that it
// sends is named by its caller. So does the method of a remote client, gateway or provider on whose behalf it is made.
func (w *walker) sayMoney() bool {
	fr := w.fr
	if s := w.in.money.sender; s != nil {
		fr = s.fr
	}
	named := true
	for n := 0; fr != nil && n < 8; fr, n = fr.up, n+1 {
		if fr.in != nil && fr.in.Call != nil && fr.in.Call.Kind == CallInvoke && w.know().RemoteMoney(shortName(fr.in.Call.Iface), fr.in.Call.Fn) {
			return true
		}
		_, name := splitType(fr.fn.Name)
		if fr.fn.Literal {
			continue
		}
		if w.know().RemoteMoney(fr.fn.Recv, name) || named && w.know().MoneyName(name) {
			return true
		}
		named = named && know.GenericName(name)
	}
	return false
}
