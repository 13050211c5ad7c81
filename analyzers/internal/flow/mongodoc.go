package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// docField is a field of a document.
type docField struct {
	name string
	val  *Value
}

// documentKeys are the fields that a filter asks to be equal to a value.
func (w *walker) documentKeys(filter *Value) map[string]*Value {
	keys := make(map[string]*Value)
	fields, _ := w.document(filter)
	for _, f := range fields {
		if ops, _ := w.document(f.val); len(ops) == 0 {
			keys[plainName(strings.TrimPrefix(f.name, "_"))] = f.val
		}
	}
	return keys
}

// document takes a document apart: a bson.M or map, or a bson.D. whole is false where it may have further fields.
func (w *walker) document(v *Value) (fields []docField, whole bool) {
	if v.K != VRef || v.O == nil || !v.O.Local {
		return nil, false
	}
	for i := range 32 {
		at := join(v.Path, "["+itoa(i)+"]")
		key := w.find(v.O, join(at, "Key"), nil, 0)
		if key == nil {
			break
		}
		val := w.find(v.O, join(at, "Value"), nil, 0)
		if key.K != VStr || hasHole(key.S) || val == nil {
			return fields, false
		}
		fields = append(fields, docField{key.S, val})
	}
	if len(fields) > 0 {
		return fields, true
	}
	whole = true
	for _, p := range w.st.paths(v.O, v.Path) {
		rest := strings.TrimPrefix(strings.TrimPrefix(p, v.Path), ".")
		if !strings.HasPrefix(rest, "{") || !strings.HasSuffix(rest, "}") {
			whole = false
			continue
		}
		name := strings.ReplaceAll(rest[1:len(rest)-1], "\u00b7", ".")
		fields = append(fields, docField{name, w.st.get(cell{v.O.id, p})})
	}
	return fields, whole
}

// mayBeUnique reports whether a field or column so named could tell one event's row from another's.
func mayBeUnique(name string) bool {
	words := know.Words(name)
	if len(words) == 0 {
		return true
	}
	switch words[len(words)-1] {
	case "id", "ids", "key", "hash", "uuid", "guid", "ref", "reference", "number", "no", "code", "name", "slug", "email", "token", "offset", "seq", "sequence", "version", "sku", "phone", "url":
		return true
	}
	return sqltext.IsEventIDColumn(name)
}

// mongoRelative reports whether an update document of which not all is seen computes from the present value.
func (w *walker) mongoRelative(doc *Value) bool {
	found := false
	var visit func(v *Value, depth int)
	visit = func(v *Value, depth int) {
		if depth > 5 || found {
			return
		}
		if v.K == VStr {
			switch v.S {
			case "$inc", "$push", "$mul", "$pop", "$bit":
				found = true
			}
		}
		if v.O != nil {
			for _, p := range w.st.paths(v.O, "") {
				if strings.Contains(p, "{$inc}") || strings.Contains(p, "{$push}") || strings.Contains(p, "{$mul}") {
					found = true
				}
			}
			w.cells(v.O, "", func(x *Value) {
				if x != v {
					visit(x, depth+1)
				}
			})
		}
	}
	visit(doc, 0)
	return found
}
