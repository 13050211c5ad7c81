package flow

import (
	"sort"
	"strconv"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// A binding is something that a slot may hold.
type binding struct {
	Func   string // a function
	Method bool   // with a receiver
	Type   string // a concrete type
	Reader string // a reader of a client: the function that makes it and where
	SQL    string // the text of a prepared statement, after the type that prepared it
	Edge   *Edge  // where it was handed over
}

// bound finds what may be in a slot: functions for a function value, concrete types for an interface value. Where the
// slot tells nothing, every type that is converted to the interface in sight may be in it.
func (p *Program) bound(slot, iface, hint string) []binding {
	for _, s := range [...]string{slot, hint} {
		if s == "" {
			continue
		}
		var out []binding
		for _, b := range p.sources(s) {
			if iface != "" && b.Type != "" || iface == "" && b.Func != "" {
				out = append(out, b)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	if iface == "" {
		return nil
	}
	var out []binding
	for _, b := range p.sources("N|" + iface) {
		if b.Type != "" {
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		return p.implementers(iface)
	}
	return out
}

// sources follows the edges into a slot to their leaves.
func (p *Program) sources(slot string) []binding {
	if out, ok := p.bcache[slot]; ok {
		return out
	}
	var out []binding
	have := make(map[string]bool)
	seen := map[string]bool{slot: true}
	work := []string{slot}
	for len(work) > 0 && len(seen) < 400 {
		s := work[0]
		work = work[1:]
		for _, e := range p.into(s) {
			p.leaf(e.Src, e, have, &out)
			for _, n := range p.through(e.Src) {
				if !seen[n] {
					seen[n] = true
					work = append(work, n)
				}
			}
		}
		for _, n := range p.calls(s) {
			if !seen[n] {
				seen[n] = true
				work = append(work, n)
			}
		}
	}
	p.bcache[slot] = out
	return out
}

// into are the edges into a slot. Where what is in it was wrapped, what is in it is the wrapper; "U|slot" asks for what
// was there before, too.
func (p *Program) into(s string) []*Edge {
	if bare, ok := strings.CutPrefix(s, "U|"); ok {
		return p.edges[bare]
	}
	if w := p.edges["W|"+s]; len(w) > 0 {
		return w
	}
	return p.edges[s]
}

func (p *Program) leaf(src string, e *Edge, have map[string]bool, out *[]binding) {
	if have[src] {
		return
	}
	switch src[0] {
	case 'f':
		have[src] = true
		*out = append(*out, binding{Func: src[2:], Edge: e})
	case 'm':
		have[src] = true
		*out = append(*out, binding{Func: src[2:], Method: true, Edge: e})
	case 't':
		have[src] = true
		*out = append(*out, binding{Type: src[2:], Edge: e})
	case 'k':
		have[src] = true
		*out = append(*out, binding{Reader: src[2:], Edge: e})
	case 'q':
		have[src] = true
		*out = append(*out, binding{SQL: src[2:], Edge: e})
	}
}

// through resolves a source that is not a plain slot: the result of a function that a slot holds, the method of an
// interface value, a result of a function that cannot be seen.
func (p *Program) through(src string) []string {
	switch src[0] {
	case 'f', 'm', 't', 'k', 'q':
		return nil
	case 'C': // C|slot|i: the result of calling what the slot holds
		body := src[2:]
		i := strings.LastIndexByte(body, '|')
		var out []string
		for _, b := range p.direct(body[:i]) {
			if b.Func != "" {
				out = append(out, "R|"+b.Func+body[i:])
			}
		}
		return out
	case 'I': // I|slot|method|i
		body := src[2:]
		i := strings.LastIndexByte(body, '|')
		j := strings.LastIndexByte(body[:i], '|')
		var out []string
		for _, b := range p.direct(body[:j]) {
			if m := p.method(b.Type, body[j+1:i]); b.Type != "" && m != nil && m.Fn != "" {
				out = append(out, "R|"+m.Fn+body[i:])
			}
		}
		return out
	case 'R':
		// A function that cannot be seen may give back what it is given.
		body := src[2:]
		i := strings.LastIndexByte(body, '|')
		if p.funcs[body[:i]] == nil {
			var out []string
			for n := range 8 {
				if s := slotN("P", body[:i], n); len(p.edges[s]) > 0 {
					out = append(out, s)
				}
			}
			return out
		}
	}
	return []string{src}
}

// direct is what a slot or leaf holds, one step deep for leaves.
func (p *Program) direct(s string) []binding {
	switch s[0] {
	case 'f':
		return []binding{{Func: s[2:]}}
	case 'm':
		return []binding{{Func: s[2:], Method: true}}
	case 't':
		return []binding{{Type: s[2:]}}
	}
	if len(p.bcache) > 1<<16 {
		return nil
	}
	if out, ok := p.bcache[s]; ok {
		return out
	}
	p.bcache[s] = nil // a cycle finds nothing more
	delete(p.bcache, s)
	return p.shallow(s, 0)
}

func (p *Program) shallow(s string, depth int) []binding {
	if depth > 6 {
		return nil
	}
	var out []binding
	have := make(map[string]bool)
	for _, e := range p.edges[s] {
		p.leaf(e.Src, e, have, &out)
		switch e.Src[0] {
		case 'f', 'm', 't', 'k', 'q', 'C', 'I':
		default:
			out = append(out, p.shallow(e.Src, depth+1)...)
		}
	}
	return out
}

// calls are the further slots that feed a parameter: what is handed over where the function is called through an
// interface or a function value.
func (p *Program) calls(slot string) []string {
	if slot == "" || slot[0] != 'P' {
		return nil
	}
	p.indexUses()
	i := strings.LastIndexByte(slot, '|')
	fn, n := slot[2:i], slot[i+1:]
	var out []string
	for _, u := range p.uses[fn] {
		k := n
		if u.method {
			// The receiver is the first parameter of the method, and no argument of the call.
			v, err := strconv.Atoi(n)
			if err != nil || v == 0 {
				continue
			}
			k = strconv.Itoa(v - 1)
		}
		if s := u.slot + "|" + k; len(p.edges[s]) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// reach is a way by which a function is called that its callers do not name.
type reach struct {
	slot   string
	method bool
}

// indexUses finds for each function the interfaces and slots through which it may be called.
func (p *Program) indexUses() {
	if p.uses != nil {
		return
	}
	p.uses = make(map[string][]reach)
	var dsts []string
	for dst := range p.edges {
		dsts = append(dsts, dst)
	}
	sort.Strings(dsts)
	after := make(map[string][]string)
	for _, dst := range dsts {
		for _, e := range p.edges[dst] {
			after[e.Src] = append(after[e.Src], dst)
		}
	}
	for _, dst := range dsts {
		for _, e := range p.edges[dst] {
			switch e.Src[0] {
			case 't':
				if dst[0] != 'N' {
					continue
				}
				var names []string
				for name := range p.methods[e.Src[2:]] {
					names = append(names, name)
				}
				sort.Strings(names)
				for _, name := range names {
					if m := p.methods[e.Src[2:]][name]; m.Fn != "" {
						p.uses[m.Fn] = append(p.uses[m.Fn], reach{"Q|" + dst[2:] + "|" + name, true})
					}
				}
			case 'f', 'm':
				for _, to := range p.onward(dst, after) {
					p.uses[e.Src[2:]] = append(p.uses[e.Src[2:]], reach{"A|" + to, e.Src[0] == 'm'})
				}
			}
		}
	}
}

// functions are what a slot holds when it holds nothing but functions, up to the number of times a loop is counted.
func (p *Program) functions(slot string) []binding {
	all := p.bound(slot, "", "")
	if len(all) > maxCount {
		return nil
	}
	return all
}

// value is a bound function as a value.
func (b binding) value() *Value {
	v := &Value{K: VFunc, S: b.Func, Bound: b.Method}
	if b.Edge != nil {
		v.Ref = b.Edge.Pos
	}
	if b.Method {
		v.Elems = []*Value{{K: VTop}}
	}
	return v
}

// onward are a slot and those that what is in it goes on to.
func (p *Program) onward(slot string, after map[string][]string) []string {
	out := []string{slot}
	seen := map[string]bool{slot: true}
	for i := 0; i < len(out) && len(out) < 64; i++ {
		for _, n := range after[out[i]] {
			if !seen[n] && n[0] != 'A' && n[0] != 'Q' && n[0] != 'W' {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}

// implementers are the types of the module that have an interface's methods, where nothing in sight binds one: what a
// container binds by reflection. It answers only where the whole module is seen, and only when there is one.
func (p *Program) implementers(iface string) []binding {
	if !p.Whole {
		return nil
	}
	want := p.methods[iface]
	if len(want) == 0 {
		return nil
	}
	if out, ok := p.impls[iface]; ok {
		return out
	}
	var out []binding
	var names []string
	for t := range p.methods {
		names = append(names, t)
	}
	sort.Strings(names)
	for _, t := range names {
		if t == iface || mockName(t) {
			continue
		}
		ok := true
		for name, m := range want {
			if have := p.methods[t][name]; have == nil || have.Sig != m.Sig || p.fn(have.Fn) == nil {
				ok = false
				break
			}
		}
		if ok {
			out = append(out, binding{Type: t, Edge: &Edge{}})
		}
	}
	if len(out) != 1 {
		out = nil
	}
	if p.impls == nil {
		p.impls = make(map[string][]binding)
	}
	p.impls[iface] = out
	return out
}

func mockName(typ string) bool {
	for _, w := range know.Words(typ[strings.LastIndexByte(typ, '/')+1:]) {
		switch w {
		case "mock", "mocks", "fake", "fakes", "stub", "noop", "dummy", "test", "testing", "inmemory", "memory", "mem":
			return true
		}
	}
	return false
}
