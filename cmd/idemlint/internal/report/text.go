package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

// Text writes findings for people: the place and the message, the source line with the place marked, the related
// places and the rule's page, with an empty line between findings. Paths are relative to Base where that is shorter.
// A source line that cannot be read is left out.
func Text(w io.Writer, r *Report) error {
	out := bufio.NewWriter(w)
	source := make(sources)
	for i, f := range r.Findings {
		if i > 0 {
			fmt.Fprintln(out)
		}
		r.head(out, f)
		source.quote(out, f, r.Color)
		for _, rel := range f.Related {
			fmt.Fprintf(out, "    %s: %s\n", r.paint(faint, Place(r.Base, rel.Position)), rel.Message)
		}
		if f.URL != "" {
			fmt.Fprintf(out, "    %s\n", r.paint(faint, f.URL))
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the findings: %w", err)
	}
	return nil
}

// The colours are those of the terminal's own palette, which its user has chosen to be legible.
const (
	bold   = "1"
	faint  = "2"
	red    = "1;31"
	green  = "32"
	yellow = "1;33"
	cyan   = "1;36"
)

func (r *Report) paint(style, text string) string { return paint(r.Color, style, text) }

func paint(on bool, style, text string) string {
	if !on || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// head writes the first line of a finding, which has the colour of its severity on the rule's id.
func (r *Report) head(out io.Writer, f finding.Finding) {
	message := f.Message
	if rest, ok := strings.CutPrefix(message, f.Rule+": "); ok {
		style := map[string]string{failure: red, warning: yellow}[r.page(f).Severity]
		if style == "" {
			style = cyan
		}
		message = r.paint(style, f.Rule+":") + " " + rest
	}
	fmt.Fprintf(out, "%s %s\n", r.paint(bold, Place(r.Base, f.Position)+":"), message)
}

// quote writes the line that a finding stands on, and below it a caret under its column; the mark goes on to the
// finding's end where that is on the same line.
func (s sources) quote(out io.Writer, f finding.Finding, color bool) {
	line, ok := s.line(f.Position)
	if !ok || strings.TrimSpace(line) == "" {
		return
	}
	gutter := fmt.Sprintf("%6d | ", f.Position.Line)
	fmt.Fprintf(out, "%s%s\n", paint(color, faint, gutter), line)
	start := f.Position.Column - 1
	if start < 0 || start > len(line) {
		return
	}
	mark := "^"
	if ends(f) && f.End.Line == f.Position.Line {
		end := min(f.End.Column-1, len(line))
		mark += strings.Repeat("~", max(0, utf8.RuneCountInString(line[start:end])-1))
	}
	fmt.Fprintf(out, "%s%s%s\n", paint(color, faint, strings.Repeat(" ", len(gutter)-2)+"| "), blank(line[:start]), paint(color, green, mark))
}

// blank is text as wide as s: a tab stays, since its width is the terminal's to choose.
func blank(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, s)
}
