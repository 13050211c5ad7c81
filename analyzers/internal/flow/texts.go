package flow

import (
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// Statements are put together in builders and buffers, and kept in maps and in fields of structs. What they are made of
// can be seen there.

// builderText is the place in a builder or buffer that holds the text written to it, and who wrote it.
const builderText = "{text}"

// writesText adds a piece to the text in a builder. What a loop writes over and over is not followed: after the first
// round it may be any text.
func (w *walker) writesText(ins *Instr, dst *Value, piece string) {
	v := &Value{K: VStr}
	c, ok := w.textCell(dst)
	if !ok {
		return
	}
	if from := dst.from; from != nil && from.K == VStr {
		v.S = from.S // of bytes.NewBufferString
	}
	if old := w.st.get(c); old != nil {
		cp := *old
		v = &cp
	}
	at := ins.Pos
	again := slices.ContainsFunc(v.Elems, func(x *Value) bool { return x.Ref == at })
	switch {
	case again && strings.HasSuffix(v.S, holeText):
		return
	case again:
		v.S += holeText
	case len(v.S)+len(piece) > maxText:
		return
	default:
		v.S += piece
		v.Elems = append(slices.Clip(v.Elems), &Value{K: VNil, Ref: at})
	}
	w.st.set(c, v)
}

// maxText bounds the texts that are known, in bytes: one that is added to itself in a loop doubles each time round.
const maxText = 1 << 16

// maxJoined bounds those that are put together as the program runs, in bytes. Each path has its own, and where functions
// that add a text to itself call one another there are many: a thousand of maxText are 64 MB.
const maxJoined = 1 << 13

// textCell is the place of the text in a builder that was made in sight.
func (w *walker) textCell(b *Value) (cell, bool) {
	switch {
	case b == nil:
	case b.K == VRef && b.O != nil && b.O.Local:
		return cell{b.O.id, join(b.Path, builderText)}, true
	case b.K == VNotNil && b.from != nil:
		return cell{w.in.objOf(b, nil).id, builderText}, true
	}
	return cell{}, false
}

// writtenText is the text in a builder, nil when it is not known to be SQL.
func (w *walker) writtenText(b *Value) *Value {
	c, ok := w.textCell(b)
	if !ok {
		return nil
	}
	v := w.st.get(c)
	if v == nil || !sqltext.MayBeSQL(v.S) {
		return nil
	}
	return strVal(v.S, w.deep(b))
}

// pieceOf is a value as it is written to a builder: a byte or rune as the character that it is.
func pieceOf(name string, v *Value) string {
	if v.K == VInt && (name == "WriteByte" || name == "WriteRune") {
		return string(rune(v.I))
	}
	return text(v)
}

// textOp is a function of package strings that gives a text made of SQL, or of what an error says.
func (w *walker) textOp(ins *Instr, full, args []*Value) []exit {
	s := at(args, 0)
	if strings.HasPrefix(s.Path, errorText) {
		return []exit{{[]*Value{s}, w.st}} // it says what went wrong, in whatever letters
	}
	if name := ins.Call.Name; name == "ToLower" || name == "ToUpper" {
		return w.library(ins, full)
	}
	if s.K != VStr || !sqltext.MayBeSQL(s.S) {
		return w.library(ins, full)
	}
	cut := text(at(args, 1))
	out := s.S
	open := strings.HasSuffix(out, holeText) || strings.Contains(cut, holeText)
	switch ins.Call.Name {
	case "TrimSpace":
		out = strings.TrimSpace(out)
	case "Trim", "TrimRight":
		if !open {
			out = strings.TrimRight(out, cut)
		}
	case "TrimSuffix":
		if !open {
			out = strings.TrimSuffix(out, cut)
		}
	case "ReplaceAll", "Replace":
		if hasHole(cut) {
			return w.library(ins, full)
		}
		n := -1
		if v := at(args, 3); ins.Call.Name == "Replace" && v.K == VInt {
			n = int(v.I)
		}
		out = strings.Replace(out, cut, text(at(args, 2)), n)
	}
	v := *s
	v.S, v.T = out, s.T.join(w.deep(at(args, 2)))
	return []exit{{[]*Value{&v}, w.st}}
}

// joined is what strings.Join gives of texts that are known.
func (w *walker) joined(list, sep *Value, t Taint) *Value {
	if w.holdsNothing(list) {
		return strVal("", t)
	}
	all := w.elements(list)
	if len(all) == 0 || sep.K != VStr || len(all) != len(w.st.paths(list.O, list.Path)) {
		return taintVal(t)
	}
	parts := make([]string, len(all))
	for i, v := range all {
		parts[i] = text(v)
	}
	return strVal(strings.Join(parts, sep.S), t)
}

// textOf is the text of a statement that is kept in a field or package variable: the only one that is put there.
func (w *walker) textOf(v *Value) *Value {
	if v.K == VStr && !sqltext.MayBeSQL(v.S) {
		if s := w.in.prog.preparedAs(w.fn.Pkg, v.S); s != "" {
			return strVal(s, v.T)
		}
	}
	if v.K != VTop || v.Slot == "" || v.Slot[0] != 'F' && v.Slot[0] != 'G' {
		return v
	}
	if s, ok := w.in.prog.textIn(v.Slot); ok {
		return strVal(s, v.T)
	}
	return v
}

// slotText is what is put into a slot for texts.
type slotText struct {
	text string
	more bool // other texts, too, or one that is not known
}

// textIn is the only text that is put into a slot in sight, when it may be SQL.
func (p *Program) textIn(slot string) (string, bool) {
	if p.texts == nil {
		p.findTexts()
	}
	s := p.texts[slot]
	if s == nil || s.more || !sqltext.MayBeSQL(s.text) {
		return "", false
	}
	return s.text, true
}

// findTexts indexes the texts that are stored in fields, package variables, and maps that are kept there.
func (p *Program) findTexts() {
	p.texts = make(map[string]*slotText)
	for _, id := range p.sortedIDs() {
		f := p.funcs[id]
		if f.Test {
			continue
		}
		p.textsOf(f)
	}
}

func (p *Program) textsOf(f *Func) {
	at := make(map[int32]*Instr) // fields and maps
	slot := func(addr int32) string {
		if addr < 0 {
			return storeSlot(f, addr)
		}
		if d := at[addr]; d != nil && d.Op == OpFieldAddr {
			return "F|" + d.S2 + "|" + d.S
		}
		return ""
	}
	kept := make(map[int32]string) // maps that are stored in a slot
	for round := range 2 {
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				switch in := &f.Blocks[bi].Instrs[ii]; {
				case in.Op == OpFieldAddr, in.Op == OpMake && in.T != nil && in.T.Kind == KMap:
					at[in.Dst] = in
				case in.Op == OpStore && round == 0:
					p.putText(slot(in.A), f, in.B)
					if d := at[in.B]; in.B >= 0 && d != nil && d.Op == OpMake {
						kept[in.B] = slot(in.A)
					}
				case in.Op == OpMapUpdate && round == 1:
					if k, ok := f.constText(in.B); ok && kept[in.A] != "" {
						p.putText(kept[in.A]+"{"+k+"}", f, in.Args[0])
					}
				}
			}
		}
	}
}

func (p *Program) putText(slot string, f *Func, v int32) {
	if slot == "" {
		return
	}
	text, ok := f.constText(v)
	if !ok && v < 0 {
		return // no text at all
	}
	s := p.texts[slot]
	switch {
	case s == nil:
		p.texts[slot] = &slotText{text, !ok}
	case !ok || s.text != text:
		s.more = true
	}
}

// constText is an operand that is a constant text.
func (f *Func) constText(v int32) (string, bool) {
	if i := int(^v); v < 0 && i < len(f.Consts) && f.Consts[i].Kind == CString {
		return f.Consts[i].S, true
	}
	return "", false
}

// endsBeforeRows reports whether a text ends where the rows of an INSERT are due: a database takes it for an error.
func endsBeforeRows(text string) bool {
	t := strings.ToLower(strings.TrimRight(text, " \n\t"))
	return strings.HasPrefix(strings.TrimLeft(t, " \n\t"), "insert") && (strings.HasSuffix(t, " values") || strings.HasSuffix(t, ")values"))
}

// sqlTextMade is a text made of a text and its arguments, which go along: lists are spread over placeholders, names
// become placeholders.
func (w *walker) sqlTextMade(ins *Instr, row *know.Row, args []*Value) []exit {
	txt, binds := at(args, row.Arg), w.variadic(args, row.Arg2)
	name := ins.Call.Name
	if name == "In" && slices.ContainsFunc(binds, w.holdsNothing) {
		return []exit{{failing(ins.Call, errVal(errAny, Taint{})), w.st}} // "empty slice passed to 'in' query"
	}
	if (name == "Named" || name == "BindNamed") && txt.K == VStr && len(binds) > 0 {
		txt, binds = w.unnamed(txt, binds[0])
	}
	return []exit{{w.textArgs(ins, txt, binds), w.st}}
}

// unnamed is a text with placeholders where it had names, and the values that the names had.
func (w *walker) unnamed(txt, from *Value) (*Value, []*Value) {
	stmts := w.in.prog.parse(txt.S)
	if len(stmts) != 1 {
		return txt, []*Value{from}
	}
	c := &sqlCall{w: w, st: &stmts[0], named: from}
	var b strings.Builder
	var binds []*Value
	last := 0
	for _, u := range stmts[0].Uses() {
		end := u.Param.Offset + 1 + len(u.Param.Name)
		if u.Param.Style != sqltext.Named || u.Param.Offset < last || end > len(txt.S) {
			return txt, []*Value{from}
		}
		b.WriteString(txt.S[last:u.Param.Offset] + "?")
		v := c.bind(u.Param)
		if v == nil {
			v = top
		}
		binds, last = append(binds, v), end
	}
	b.WriteString(txt.S[last:])
	return strVal(b.String(), txt.T), binds
}
