package lint

import (
	"bytes"
	"testing"
)

func TestEachPackageThatIsDoneIsCounted(t *testing.T) {
	const text = "{\n\t\"m/a\": {\n\t\t\"x\": [\n\t\t\t{\n\t\t\t}\n\t\t]\n\t}\n}\n{}\n{\n\t\"m/b\": {}\n}\n"
	for _, step := range []int{1, 3, len(text)} {
		n := 0
		var to bytes.Buffer
		u := &unitCounter{to: &to, each: func() { n++ }}
		for i := 0; i < len(text); i += step {
			if _, err := u.Write([]byte(text[i:min(i+step, len(text))])); err != nil {
				t.Fatal(err)
			}
		}
		if n != 3 || to.String() != text {
			t.Errorf("%d bytes at a time: %d packages, passed on:\n%s", step, n, to.String())
		}
	}
}
