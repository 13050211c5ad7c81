package lint

import (
	"strings"
	"testing"
)

func FuzzEveryBlockHasALine(f *testing.F) {
	f.Add("# m/b\nb/b.go:1:22: undefined: x\n")
	f.Add("go: warning\n# m/b\n\n# m/c\nidemlint: boom\npanic: x\n\ngoroutine 1 [running]:\nmain.main()\n# m/d\nlast")
	f.Add("#\n# \n#  ")
	f.Fuzz(func(t *testing.T, text string) {
		for _, b := range (Linter{Tool: "/bin/idemlint"}).parseBlocks(text) {
			if len(b.lines) == 0 || b.lines[0] == "" {
				t.Errorf("%q: a block of %q without a cause", text, b.pkg)
			}
			if strings.ContainsAny(strings.Join(b.lines, ""), "\n") {
				t.Errorf("%q: a line that is two: %q", text, b.lines)
			}
		}
	})
}
