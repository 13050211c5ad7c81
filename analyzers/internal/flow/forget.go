package flow

// What a function has made for itself is over with it. Its variables stay in memory, since a second call finds its own
// again, though two ways out that differ in nothing else are one: what follows cannot tell them apart.

// forget leaves out of a state's key what its function has made and nothing refers to any more. Objects from an id on
// were made since the function began.
func (in *interp) forget(fr *frame, st *state, vals, env []*Value, from int) {
	own := make(map[int]bool)
	live := func(id int) {
		if m := st.heap.objs[id]; m != nil && !m.over && len(m.m) > 0 {
			own[id] = true
		}
	}
	for _, id := range in.made[fr.hash] {
		live(id)
	}
	if in.nextID-from < len(st.heap.objs) { // most functions make next to nothing
		for id := from + 1; id <= in.nextID && id < wireFirst; id++ {
			live(id)
		}
	} else {
		for id := range st.heap.objs {
			if id > from && id < wireFirst {
				live(id)
			}
		}
	}
	if len(own) == 0 {
		return
	}
	r := walkOver{st: st, own: own}
	for _, v := range vals {
		r.value(v, 0)
	}
	n := min(len(fr.fn.Params)+len(fr.free), len(env))
	for _, v := range env[:n] {
		r.value(v, 0)
	}
	for _, d := range st.defs {
		if d.fr == fr {
			continue
		}
		r.value(d.fun, 0)
		for _, a := range d.args {
			r.value(a, 0)
		}
	}
	for id, m := range st.heap.objs {
		if own[id] || m.over || len(own) == 0 {
			continue
		}
		for _, v := range m.m {
			r.value(v, 0)
		}
	}
	for id := range own {
		st.over(id)
	}
}

// walkOver takes out of own what is reached.
type walkOver struct {
	st  *state
	own map[int]bool
}

const reachDepth = 24

func (r *walkOver) value(v *Value, depth int) {
	if v == nil || depth > reachDepth || len(r.own) == 0 {
		return
	}
	for _, e := range v.Elems {
		r.value(e, depth+1)
	}
	for _, e := range v.alts {
		r.value(e, depth+1)
	}
	if v.from != nil {
		r.value(v.from, depth+1)
	}
	if v.Row != nil {
		r.value(v.Row.value, depth+1)
	}
	o := v.O
	if o == nil {
		return
	}
	if r.own[o.id] {
		delete(r.own, o.id)
		if m := r.st.heap.objs[o.id]; m != nil {
			for _, x := range m.m {
				r.value(x, depth+1)
			}
		}
	}
	for c := o.Ctx; c != nil; c = c.up {
		if c.val != nil && c.val.O != nil && r.own[c.val.O.id] {
			r.value(c.val, depth+1)
		}
	}
	if o.Err != nil && o.Err.O != nil {
		r.value(o.Err, depth+1)
	}
	if ch := o.Chain; ch != nil {
		if ch.root != nil && ch.root.O != nil && r.own[ch.root.O.id] {
			r.value(ch.root, depth+1)
		}
		for _, s := range ch.steps {
			for _, a := range s.args {
				r.value(a, depth+1)
			}
		}
		for _, b := range ch.binds {
			r.value(b, depth+1)
		}
	}
}

// over takes an object's memory out of the key.
func (s *state) over(obj int) {
	m := s.own(obj)
	for p, v := range m.m {
		s.heap.hash ^= s.cellHash(cell{obj, p}, v)
	}
	m.over = true
}

// revive puts it back, when the object is used once more.
func (s *state) revive(obj int, m *mem) {
	for p, v := range m.m {
		s.heap.hash ^= s.cellHash(cell{obj, p}, v)
	}
	m.over = false
}
