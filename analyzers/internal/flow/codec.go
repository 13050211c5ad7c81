package flow

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

// codecVersion changes whenever the form of an encoded unit does.
const codecVersion = 6

// A coder reads or writes units. Each method takes a pointer and does the one or the other, so that the two
// directions cannot drift apart. Strings are written once.
type coder struct {
	write bool
	buf   []byte
	at    int
	strs  []string
	ids   map[string]uint64
	types []*Type
	tids  map[Type]uint64
	err   error
}

var errShort = errors.New("summary is cut short")

// EncodeUnits packs units for a fact or an index payload.
func EncodeUnits(units []*Unit) ([]byte, error) {
	c := &coder{write: true, ids: make(map[string]uint64), tids: make(map[Type]uint64)}
	c.units(&units)
	var head []byte
	head = binary.AppendUvarint(head, codecVersion)
	head = binary.AppendUvarint(head, uint64(len(c.strs)))
	for _, s := range c.strs {
		head = binary.AppendUvarint(head, uint64(len(s)))
		head = append(head, s...)
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("encode summaries: %w", err)
	}
	if _, err := w.Write(head); err != nil {
		return nil, fmt.Errorf("encode summaries: %w", err)
	}
	if _, err := w.Write(c.buf); err != nil {
		return nil, fmt.Errorf("encode summaries: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("encode summaries: %w", err)
	}
	return out.Bytes(), nil
}

// DecodeUnits unpacks what [EncodeUnits] packed.
func DecodeUnits(data []byte) ([]*Unit, error) {
	if len(data) == 0 {
		return nil, nil
	}
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(data)))
	if err != nil {
		return nil, fmt.Errorf("decode summaries: %w", err)
	}
	all := string(raw)
	c := &coder{buf: raw}
	if v := c.uvarint(); v != codecVersion {
		return nil, fmt.Errorf("decode summaries: version %d, want %d", v, codecVersion)
	}
	n := c.uvarint()
	for range n {
		l := int(c.uvarint())
		if c.err != nil || c.at+l > len(raw) {
			return nil, fmt.Errorf("decode summaries: %w", errShort)
		}
		c.strs = append(c.strs, all[c.at:c.at+l])
		c.at += l
	}
	var units []*Unit
	c.units(&units)
	if c.err != nil {
		return nil, fmt.Errorf("decode summaries: %w", c.err)
	}
	return units, nil
}

func (c *coder) uvarint() uint64 {
	if c.err != nil {
		return 0
	}
	v, n := binary.Uvarint(c.buf[c.at:])
	if n <= 0 {
		c.err = errShort
		return 0
	}
	c.at += n
	return v
}

func (c *coder) u(v *uint64) {
	if c.write {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	*v = c.uvarint()
}

func (c *coder) i64(v *int64) {
	if c.write {
		c.buf = binary.AppendVarint(c.buf, *v)
		return
	}
	if c.err != nil {
		return
	}
	x, n := binary.Varint(c.buf[c.at:])
	if n <= 0 {
		c.err = errShort
		return
	}
	c.at += n
	*v = x
}

func (c *coder) i32(v *int32) {
	x := int64(*v)
	c.i64(&x)
	*v = int32(x)
}

func (c *coder) num(v *int) {
	x := int64(*v)
	c.i64(&x)
	*v = int(x)
}

func (c *coder) str(s *string) {
	if c.write {
		id, ok := c.ids[*s]
		if !ok {
			id = uint64(len(c.strs))
			c.ids[*s] = id
			c.strs = append(c.strs, strings.Clone(*s))
		}
		c.u(&id)
		return
	}
	id := c.uvarint()
	if id >= uint64(len(c.strs)) {
		if c.err == nil {
			c.err = errShort
		}
		return
	}
	*s = c.strs[id]
}

// flags packs up to eight booleans into a byte.
func (c *coder) flags(bs ...*bool) {
	var x uint64
	if c.write {
		for i, b := range bs {
			if *b {
				x |= 1 << i
			}
		}
		c.u(&x)
		return
	}
	x = c.uvarint()
	for i, b := range bs {
		*b = x&(1<<i) != 0
	}
}

func (c *coder) pos(p *Pos) {
	if c.write && !p.IsValid() {
		z := int32(0)
		c.i32(&z)
		return
	}
	c.i32(&p.Line)
	if p.Line == 0 {
		return
	}
	c.i32(&p.Col)
	c.str(&p.File)
}

// list codes a slice through a function for its elements.
func list[T any](c *coder, s *[]T, each func(*T)) {
	n := uint64(len(*s))
	c.u(&n)
	if !c.write {
		if c.err != nil || n > uint64(len(c.buf)-c.at)+1 {
			if c.err == nil {
				c.err = errShort
			}
			return
		}
		if n > 0 {
			*s = make([]T, n)
		}
	}
	for i := range *s {
		each(&(*s)[i])
		if c.err != nil {
			return
		}
	}
}

func (c *coder) typ(t **Type) {
	if c.write {
		if *t == nil {
			z := uint64(0)
			c.u(&z)
			return
		}
		if id, ok := c.tids[**t]; ok {
			c.u(&id)
			return
		}
		id := uint64(len(c.tids)) + 1
		c.tids[**t] = id
		c.u(&id)
		c.typeBody(*t)
		return
	}
	id := c.uvarint()
	switch {
	case id == 0:
		*t = nil
	case id <= uint64(len(c.types)):
		*t = c.types[id-1]
	default:
		nt := &Type{}
		c.types = append(c.types, nt)
		c.typeBody(nt)
		*t = nt
	}
}

func (c *coder) typeBody(t *Type) {
	c.str(&t.Name)
	k := uint64(t.Kind)
	c.u(&k)
	t.Kind = TypeKind(k)
	c.flags(&t.Ptr, &t.Msg, &t.Batch)
	c.str(&t.Elem)
}

func (c *coder) units(us *[]*Unit) {
	list(c, us, func(u **Unit) {
		if !c.write {
			*u = &Unit{}
		}
		c.unit(*u)
	})
}

func (c *coder) own(o **Own) {
	has := *o != nil
	c.flags(&has)
	if !has {
		return
	}
	if !c.write {
		*o = new(Own)
	}
	c.str(&(*o).Root)
	c.flags(&(*o).Strict)
	n := &(*o).Names
	for _, names := range [...]*[]string{&n.Guards, &n.DedupTables, &n.Messages, &n.Handlers, &n.Clients, &n.MoneyWords, &n.EventIDs, &n.Trust, &n.Skip} {
		list(c, names, func(s *string) { c.str(s) })
	}
}

func (c *coder) unit(u *Unit) {
	c.str(&u.Path)
	c.own(&u.Own)
	list(c, &u.Funcs, func(f **Func) {
		if !c.write {
			*f = &Func{}
		}
		c.fn(*f)
	})
	list(c, &u.Types, func(t *TypeDecl) {
		c.str(&t.Name)
		c.flags(&t.Iface)
		list(c, &t.Methods, func(m *Method) {
			c.str(&m.Name)
			c.str(&m.Fn)
			c.str(&m.Path)
			c.flags(&m.Guard)
			c.str(&m.Sig)
		})
	})
	list(c, &u.Edges, func(e *Edge) {
		c.str(&e.Dst)
		c.str(&e.Src)
		c.pos(&e.Pos)
	})
	list(c, &u.Globals, func(g *Global) {
		c.str(&g.Name)
		c.constant(&g.C)
		c.flags(&g.Err)
	})
	list(c, &u.SQL, func(s *SQLText) {
		c.str(&s.Text)
		c.pos(&s.Pos)
		c.str(&s.Fn)
		c.str(&s.Name)
		c.pos(&s.From)
		c.pos(&s.To)
		c.flags(&s.Gen)
	})
	list(c, &u.Handed, func(h *Handed) {
		c.str(&h.Iface)
		c.str(&h.Fn)
	})
	list(c, &u.Bare, func(s *string) { c.str(s) })
	list(c, &u.Ignores, func(d **rule.Directive) {
		if !c.write {
			*d = &rule.Directive{}
		}
		c.str(&(*d).File)
		c.num(&(*d).Line)
		c.str(&(*d).Rule)
		c.str(&(*d).Name)
		c.flags(&(*d).NoLint)
	})
}

func (c *coder) constant(k *Const) {
	kind := uint64(k.Kind)
	c.u(&kind)
	k.Kind = ConstKind(kind)
	c.str(&k.S)
	c.i64(&k.I)
	c.typ(&k.T)
}

func (c *coder) ints(s *[]int32) { list(c, s, c.i32) }

func (c *coder) fn(f *Func) {
	c.str(&f.ID)
	c.str(&f.Name)
	c.str(&f.Pkg)
	c.str(&f.Recv)
	c.str(&f.Parent)
	list(c, &f.Params, func(p *Param) {
		c.str(&p.Name)
		c.typ(&p.T)
	})
	c.num(&f.Free)
	list(c, &f.Results, c.typ)
	c.i32(&f.Values)
	list(c, &f.Consts, c.constant)
	c.pos(&f.Pos)
	c.flags(&f.Exported, &f.Test, &f.Gen, &f.Guard, &f.Literal, &f.Method)
	list(c, &f.Blocks, func(b *Block) {
		c.ints(&b.Succs)
		c.ints(&b.Preds)
		list(c, &b.Instrs, c.instr)
	})
}

func (c *coder) instr(in *Instr) {
	op := uint64(in.Op)
	c.u(&op)
	in.Op = Op(op)
	c.i32(&in.Dst)
	c.i32(&in.A)
	c.i32(&in.B)
	c.i64(&in.N)
	c.ints(&in.Args)
	c.str(&in.S)
	c.str(&in.S2)
	c.typ(&in.T)
	c.pos(&in.Pos)
	has := in.Call != nil
	c.flags(&has)
	if !has {
		return
	}
	if !c.write {
		in.Call = &Call{}
	}
	k := in.Call
	kind := uint64(k.Kind)
	c.u(&kind)
	k.Kind = CallKind(kind)
	c.str(&k.Fn)
	c.str(&k.Iface)
	c.str(&k.TypeParam)
	c.str(&k.Pkg)
	c.str(&k.Recv)
	c.str(&k.Name)
	c.i32(&k.Fun)
	c.ints(&k.Args)
	list(c, &k.Res, c.typ)
	list(c, &k.Funcs, func(p *FuncArg) {
		c.num(&p.Index)
		c.pos(&p.Pos)
	})
	list(c, &k.KeyParams, func(p *KeyParam) {
		c.num(&p.Index)
		c.str(&p.Name)
	})
	c.flags(&k.Guard, &k.Method, &k.RPC)
	c.pos(&k.End)
	c.pos(&k.At)
	c.str(&k.Fix)
}

// Texts are all the texts of the code in a payload, one a line: names, constants, SQL.
func Texts(payload string) (string, error) {
	ix, err := decodeIndex(payload)
	if err != nil {
		return "", err
	}
	units, err := DecodeUnits(ix.Units)
	if err != nil {
		return "", err
	}
	for _, u := range units {
		u.Own = nil
	}
	c := &coder{write: true, ids: make(map[string]uint64), tids: make(map[Type]uint64)}
	c.units(&units)
	return strings.Join(c.strs, "\n"), nil
}
