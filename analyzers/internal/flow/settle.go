package flow

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

// index is what a package hands to the stand-alone command.
type index struct {
	Units      []byte
	Directives []*rule.Directive
}

// Payload is the package's summary as one line of ASCII.
func (r *Result) Payload() (string, error) {
	data, err := EncodeUnits([]*Unit{r.Unit})
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(index{Units: data, Directives: r.dirs})
	if err != nil {
		return "", fmt.Errorf("encode the index of %s: %w", r.Unit.Path, err)
	}
	return base64.StdEncoding.EncodeToString(raw), nil
}

// decodeIndex unpacks a payload.
func decodeIndex(payload string) (index, error) {
	var ix index
	raw, err := base64.StdEncoding.DecodeString(payload)
	if err != nil {
		return ix, fmt.Errorf("decode a package's index: %w", err)
	}
	if err := json.Unmarshal(raw, &ix); err != nil {
		return ix, fmt.Errorf("decode a package's index: %w", err)
	}
	return ix, nil
}

// A Whole is all packages together, as the stand-alone command sees them.
type Whole struct {
	Prog       *Program
	Directives []*rule.Directive
	Pkgs       map[string]bool
	silent     map[string]bool // directories of packages in which nothing is reported
}

// Join puts the packages' payloads together.
func Join(payloads []string) (*Whole, error) {
	tables, err := Opts.tables()
	if err != nil {
		return nil, err
	}
	w := &Whole{Pkgs: make(map[string]bool), silent: make(map[string]bool)}
	var units []*Unit
	for _, p := range payloads {
		ix, err := decodeIndex(p)
		if err != nil {
			return nil, err
		}
		us, err := DecodeUnits(ix.Units)
		if err != nil {
			return nil, err
		}
		for _, u := range us {
			if !w.Pkgs[u.Path] {
				w.Pkgs[u.Path] = true
				units = append(units, u)
			}
		}
		w.Directives = append(w.Directives, ix.Directives...)
	}
	w.Prog = NewProgram(units, w.Pkgs, tables, Opts.Strict)
	w.Prog.Whole = true
	for _, u := range units {
		if w.Prog.scopeIn(u.Path).Skipped(u.Path) {
			for _, f := range u.Funcs {
				w.silent[filepath.Dir(f.Pos.File)] = true
			}
			for i := range u.SQL {
				w.silent[filepath.Dir(u.SQL[i].Pos.File)] = true
			}
		}
	}
	return w, nil
}

// Reportable is [Reportable], and false in the directories of packages in which the configuration wants nothing reported.
func (w *Whole) Reportable(p Pos) bool { return Reportable(p) && !w.silent[filepath.Dir(p.File)] }
