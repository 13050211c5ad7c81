package flow

import (
	"go/types"
	"reflect"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// tableTag is under which name the table of a model is kept that a tag names.
func tableTag(typ string) string { return typ + "#table" }

// taggedTable is the table that a tag of a model names, of bun's base that it embeds or of go-pg's field tableName; ""
// for other types.
func taggedTable(n *types.Named) string {
	st, ok := n.Underlying().(*types.Struct)
	if !ok {
		return ""
	}
	for i := range st.NumFields() {
		f := st.Field(i)
		pkg, base := splitType(typeName(f.Type()))
		if f.Name() != "tableName" && !(f.Embedded() && base == "BaseModel" && know.Under(know.Normal(pkg), "github.com/uptrace/bun")) {
			continue
		}
		tag := reflect.StructTag(st.Tag(i))
		for _, key := range [...]string{"bun", "pg", "sql"} {
			for j, opt := range strings.Split(tag.Get(key), ",") {
				name, said := strings.CutPrefix(strings.TrimSpace(opt), "table:")
				if name = strings.Trim(name, "'\""); name != "" && (said || j == 0 && !strings.Contains(opt, ":")) {
					return name
				}
			}
		}
	}
	return ""
}
