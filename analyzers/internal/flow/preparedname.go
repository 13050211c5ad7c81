package flow

import "github.com/idemlint/idemlint/analyzers/internal/sqltext"

// Statements that pgx has prepared under a name: conn.Prepare(ctx, "mark", sql) when a connection is made, and then
// tx.Exec(ctx, "mark", id). The name stands for the text.

// preparedAs is the text that a name was given to: in the package that runs it, or else anywhere; "" when there is none,
// or more than one.
func (p *Program) preparedAs(pkg, name string) string {
	if p.prepared == nil {
		p.prepared = make(map[string]string)
		if p.preparesByName() {
			for _, id := range p.sortedIDs() {
				if f := p.funcs[id]; !f.Test {
					p.namesTexts(f)
				}
			}
		}
	}
	if text := p.prepared[pkg+"|"+name]; text != "" {
		return text
	}
	return p.prepared["|"+name]
}

func (p *Program) preparesByName() bool {
	for _, f := range p.funcs {
		for bi := range f.Blocks {
			for ii := range f.Blocks[bi].Instrs {
				if c := f.Blocks[bi].Instrs[ii].Call; c != nil && c.Name == "Prepare" && c.Pkg == "github.com/jackc/pgx" {
					return true
				}
			}
		}
	}
	return false
}

// namesTexts collects the names that a function has for texts: side by side in a call, as key and value of a map, in two
// fields of a struct.
func (p *Program) namesTexts(f *Func) {
	fields := make(map[int32]int32)   // the struct whose field's address this is
	names := make(map[int32]string)   // by struct
	inStruct := make(map[int32]int32) // the text in a struct
	for bi := range f.Blocks {
		for ii := range f.Blocks[bi].Instrs {
			switch in := &f.Blocks[bi].Instrs[ii]; {
			case in.Op == OpFieldAddr:
				fields[in.Dst] = in.A
			case in.Op == OpStore:
				base, ok := fields[in.A]
				text, constant := f.constText(in.B)
				if !ok || !constant {
					continue
				}
				if sqltext.MayBeSQL(text) {
					inStruct[base] = in.B
				} else if names[base] == "" {
					names[base] = text
				}
				if t, ok := inStruct[base]; ok && names[base] != "" {
					p.nameText(f, names[base], t)
				}
			case in.Op == OpMapUpdate:
				if name, ok := f.constText(in.B); ok {
					p.nameText(f, name, in.Args[0])
				}
			case in.Call != nil:
				for i := 1; i < len(in.Call.Args); i++ {
					if name, ok := f.constText(in.Call.Args[i-1]); ok {
						p.nameText(f, name, in.Call.Args[i])
					}
				}
			}
		}
	}
}

func (p *Program) nameText(f *Func, name string, v int32) {
	text, ok := f.constText(v)
	if !ok || name == "" || sqltext.MayBeSQL(name) || !sqltext.MayBeSQL(text) {
		return
	}
	for _, key := range [...]string{"|" + name, f.Pkg + "|" + name} {
		if was, ok := p.prepared[key]; ok && was != text {
			p.prepared[key] = "" // of two texts it is not known which
			continue
		}
		p.prepared[key] = text
	}
}
