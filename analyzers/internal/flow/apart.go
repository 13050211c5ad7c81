package flow

import "strings"

// A state machine is often a table: transitions of a type with two fields, where from and where to. Which of them it is
// the code finds out, but in none do the two fields hold the same.

// fieldRead is the slot of the field that a value was read from, "" for none.
func fieldRead(v *Value) string {
	if v.K == VTop && strings.HasPrefix(v.Slot, "F|") {
		return v.Slot
	}
	return ""
}

// apart reports whether two fields of one type hold different constants wherever such a struct is made in sight, and are
// set nowhere else.
func (p *Program) apart(x, y string) bool {
	if x == "" || y == "" || x == y || structOf(x) != structOf(y) {
		return false
	}
	if p.pairs == nil {
		p.pairs = make(map[string]bool)
	}
	key := x + " " + y
	known, ok := p.pairs[key]
	if !ok {
		known = p.findApart(x, y)
		p.pairs[key] = known
	}
	return known
}

func structOf(slot string) string { return slot[:strings.LastIndexByte(slot, '|')] }

func (p *Program) findApart(x, y string) bool {
	some := false
	for _, f := range p.funcs {
		if f.Test {
			continue
		}
		fields := make(map[int32]*Instr)
		held := make(map[string][2]string) // by the struct whose fields are set
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				in := &f.Blocks[bi].Instrs[ii]
				if in.Op == OpFieldAddr {
					fields[in.Dst] = in
				}
				fa := fields[in.A]
				if in.Op != OpStore || fa == nil {
					continue
				}
				slot := "F|" + fa.S2 + "|" + fa.S
				if slot != x && slot != y {
					continue
				}
				text, ok := f.constText(in.B)
				if !ok {
					return false
				}
				base := itoa(int(fa.A))
				pair := held[base]
				if slot == x {
					pair[0] = text
				} else {
					pair[1] = text
				}
				held[base] = pair
			}
		}
		for _, pair := range held {
			if pair[0] == pair[1] {
				return false
			}
			some = true
		}
	}
	return some
}
