package analyzers

import (
	"fmt"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/flow"
	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/names"
)

// Named reads a value of an option, which the option has accepted. ok is false for options whose values name nothing.
func Named(option, value string) (n names.Name, ok bool) {
	switch option {
	case "guards":
		return funcNamed(names.Func, value)
	case "clients":
		fn, _, _ := strings.Cut(value, "=")
		return funcNamed(names.Func, fn)
	case "handlers":
		return funcNamed(names.Handler, value)
	case "messages":
		value = strings.TrimPrefix(value, "*")
		_, name, err := know.ParseType(value)
		return names.Name{Kind: names.Type, Package: strings.TrimSuffix(value, "."+name), Type: name}, err == nil
	case "trust", "skip":
		return names.Name{Kind: names.Package, Package: strings.TrimSuffix(value, "/...")}, true
	case "dedup-tables":
		return names.Name{Kind: names.Table, Word: value}, true
	case "event-ids", "money-words":
		return names.Name{Kind: names.Word, Word: value}, true
	}
	return names.Name{}, false
}

func funcNamed(kind names.Kind, value string) (names.Name, bool) {
	sym, err := know.ParseFunc(value)
	n := names.Name{Kind: kind, Type: sym.Recv, Func: sym.Name}
	if pkg, _, method := strings.Cut(value, ".("); method {
		n.Package = pkg
	} else {
		n.Package = strings.TrimSuffix(value, "."+sym.Name)
		if sym.Recv != "" {
			n.Package = strings.TrimSuffix(n.Package, "."+sym.Recv)
		}
	}
	return n, err == nil
}

// Canonical is an import path without what does not count when names are compared: major versions, and the former homes
// of libraries.
func Canonical(path string) string { return know.Normal(path) }

// Mentioned returns which of the tables and words some package's payload mentions.
func Mentioned(payloads []string, wanted []names.Name) (map[names.Name]bool, error) {
	found := make(map[names.Name]bool)
	for _, p := range payloads {
		texts, err := flow.Texts(p)
		if err != nil {
			return nil, fmt.Errorf("look for names: %w", err)
		}
		for _, n := range wanted {
			found[n] = found[n] || n.In(texts)
		}
	}
	return found, nil
}
