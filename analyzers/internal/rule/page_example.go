package rule

import (
	"embed"
	"fmt"
	"strings"

	"golang.org/x/tools/txtar"
)

// The examples are cut out of the fixtures, from which the messages come as well.
//
//go:embed examples/*.txtar
var exampleFiles embed.FS

// Printed is the ending, after the name of an example, of the file that holds what is printed for it.
const Printed = ".printed"

// An Example is code of a page.
type Example struct {
	Name    string // of the file: bad/… or good/…
	Good    bool
	Text    string
	Printed string // the messages, one a line; empty for a good example
}

// examples reads the examples of an analyzer's page. Each bad one stands before the good ones.
func examples(analyzer string) ([]Example, error) {
	name := "examples/" + analyzer + ".txtar"
	data, err := exampleFiles.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the examples of %s: %w", analyzer, err)
	}
	var out []Example
	for _, f := range txtar.Parse(data).Files {
		if of, ok := strings.CutSuffix(f.Name, Printed); ok {
			if len(out) == 0 || out[len(out)-1].Name != of {
				return nil, fmt.Errorf("read %s: %s does not follow its example", name, f.Name)
			}
			out[len(out)-1].Printed = string(f.Data)
			continue
		}
		out = append(out, Example{Name: f.Name, Good: strings.HasPrefix(f.Name, "good/"), Text: string(f.Data)})
	}
	return out, nil
}
