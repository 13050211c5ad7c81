package config

import (
	"flag"
	"fmt"
	"strings"
)

// Template is a file that names every option and sets none.
func Template(options []*flag.Flag) string {
	var b strings.Builder
	b.WriteString("# What idemlint is to know about this module. Take the # from what applies.\n")
	for _, f := range options {
		name, usage := flag.UnquoteUsage(f)
		fmt.Fprintf(&b, "\n# %s\n#%s:", usage, f.Name)
		if l, ok := f.Value.(interface{ IsList() bool }); ok && l.IsList() {
			fmt.Fprintf(&b, "\n#  - %s\n", strings.ToUpper(strings.TrimSuffix(name, "s")))
		} else {
			b.WriteString(" true\n")
		}
	}
	return b.String()
}
