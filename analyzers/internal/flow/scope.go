package flow

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// An Own is what a configuration says that holds in a package's module, as it was when the package was looked at.
type Own struct {
	Root   string // the module's directory
	Names  know.Config
	Strict bool
}

// own is the configuration that is kept with a package: none, unless the options are those of its module.
func (o *Options) own() *Own {
	if o.Own == "" {
		return nil
	}
	return &Own{Root: o.Own, Names: o.Names, Strict: o.Strict}
}

// A scope is a configuration with the tables that it extends. It holds in the packages of a module; in packages of which no
// configuration is known that of whoever calls into them does, else that of the program.
type scope struct {
	*know.Tables
	strict bool
	root   string // the module's directory, "" for the program
}

// addScope notes the configuration that goes with a unit.
func (p *Program) addScope(u *Unit) {
	if u.Own == nil {
		return
	}
	key := fmt.Sprintf("%#v", *u.Own)
	s := p.scoped[key]
	if s == nil {
		tables, err := know.Extend(u.Own.Names)
		if err != nil {
			return // the options were read before
		}
		s = &scope{Tables: tables, strict: u.Own.Strict, root: u.Own.Root}
		p.scoped[key] = s
	}
	p.scopes[u.Path] = s
}

// everywhere are the scopes of the program, its own first.
func (p *Program) everywhere() []*scope {
	out := []*scope{&p.base}
	for _, key := range slices.Sorted(maps.Keys(p.scoped)) {
		out = append(out, p.scoped[key])
	}
	return out
}

// scopeIn is the scope of a package's code, whoever calls it.
func (p *Program) scopeIn(pkg string) *scope {
	if s := p.scopes[pkg]; s != nil {
		return s
	}
	return &p.base
}

// scopeOf is the scope of what happens in a call.
func (p *Program) scopeOf(fr *frame) *scope {
	if len(p.scopes) == 0 {
		return &p.base
	}
	for ; fr != nil; fr = fr.up {
		if s := p.scopes[fr.fn.Pkg]; s != nil {
			return s
		}
	}
	return &p.base
}

// scopeAt is the scope of a file.
func (p *Program) scopeAt(file string) *scope {
	best := &p.base
	for _, s := range p.scoped {
		if len(s.root) > len(best.root) && strings.HasPrefix(file, s.root+string(filepath.Separator)) {
			best = s
		}
	}
	return best
}

func (w *walker) scope() *scope { return w.in.prog.scopeOf(w.fr) }

// know are the tables that hold where the walker is.
func (w *walker) know() *know.Tables { return w.scope().Tables }

func (w *walker) dedupTable(name string) bool { return w.scope().dedupTable(name) }

func (w *walker) configured(table string) bool { return w.scope().configured(table) }
