package flow

import (
	"go/types"
	"reflect"
	"strings"
)

// tableTag is under which name the table of a model is kept that a tag names.
func tableTag(typ string) string { return typ + "#table" }

// taggedTable is the table of bun's that a model names beside the base it embeds, "" for other types.
func taggedTable(n *types.Named) string {
	st, ok := n.Underlying().(*types.Struct)
	if !ok {
		return ""
	}
	for i := range st.NumFields() {
		if !st.Field(i).Embedded() || !strings.HasSuffix(typeName(st.Field(i).Type()), "uptrace/bun/schema.BaseModel") && !strings.HasSuffix(typeName(st.Field(i).Type()), "uptrace/bun.BaseModel") {
			continue
		}
		for _, opt := range strings.Split(reflect.StructTag(st.Tag(i)).Get("bun"), ",") {
			if t, ok := strings.CutPrefix(strings.TrimSpace(opt), "table:"); ok {
				return t
			}
		}
	}
	return ""
}
