package analyzers

import (
	"fmt"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/flow"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// A Module is what the modules of the analysed packages hold beside them. The zero Module is nothing.
type Module struct {
	SQL  []string // .sql files, by the names under which they are reported, sorted
	Rest []string // Go files in directories of which no package was analysed

	// Read returns the content of a file.
	Read func(name string) ([]byte, error)
}

// sql reads the .sql files, and adds their directives to those of the packages.
func (m Module) sql(w *flow.Whole) (*flow.SQLModule, error) {
	out := &flow.SQLModule{Unread: m.unread}
	for _, name := range m.SQL {
		data, err := m.Read(name)
		if err != nil {
			return nil, fmt.Errorf("read the SQL of the module: %w", err)
		}
		text := string(data)
		out.Files = append(out.Files, flow.SQLFile{Name: name, Text: text})
		for _, c := range sqltext.Directives(text) {
			d, ok := rule.ParseDirective(c.Text)
			if !ok {
				continue
			}
			d.File, d.Line = name, c.Line
			d.Col = c.Offset - strings.LastIndexByte(text[:c.Offset], '\n')
			w.Directives = append(w.Directives, &d)
		}
	}
	return out, nil
}

// unread reports whether Go files that were not analysed may remove rows of a table: they mention it, and deleting or
// dropping. A file that cannot be read may do anything.
func (m Module) unread(table string) bool {
	for _, name := range m.Rest {
		data, err := m.Read(name)
		if err != nil {
			return true
		}
		text := strings.ToLower(string(data))
		if strings.Contains(text, strings.ToLower(table)) && (strings.Contains(text, "delete") || strings.Contains(text, "drop")) {
			return true
		}
	}
	return false
}
