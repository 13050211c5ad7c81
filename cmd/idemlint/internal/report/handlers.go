package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/idemlint/idemlint/analyzers/inventory"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

// A HandlersFormat is one way to render the inventory.
type HandlersFormat struct {
	Name  string
	Write func(io.Writer, *Report, []inventory.Handler) error
}

// HandlerFormat is the format of the inventory with the name of one of [Formats], if there is such.
func HandlerFormat(name string) (HandlersFormat, bool) {
	all := []HandlersFormat{{"text", HandlersTable}, {"json", HandlersJSON}, {"html", HandlersHTML}}
	i := slices.IndexFunc(all, func(f HandlersFormat) bool { return f.Name == name })
	if i < 0 {
		return HandlersFormat{}, false
	}
	return all[i], true
}

// placed is the handlers with positions as people see them: relative to Base where that is shorter.
func (r *Report) placed(handlers []inventory.Handler) []inventory.Handler {
	place := func(posn *string) {
		if *posn != "" {
			*posn = Place(r.Base, finding.ParsePosition(*posn))
		}
	}
	out := slices.Clone(handlers)
	for i := range out {
		h := &out[i]
		h.Guards, h.Effects, h.Acks = slices.Clone(h.Guards), slices.Clone(h.Effects), slices.Clone(h.Acks)
		h.Money, h.Flow = slices.Clone(h.Money), slices.Clone(h.Flow)
		place(&h.Position)
		for j := range h.Guards {
			place(&h.Guards[j].Position)
		}
		for j := range h.Effects {
			place(&h.Effects[j].Position)
		}
		for j := range h.Acks {
			place(&h.Acks[j].Position)
		}
		for j := range h.Money {
			place(&h.Money[j].Position)
		}
		for j := range h.Flow {
			place(&h.Flow[j].Position)
		}
	}
	return out
}

// HandlersJSON writes an object with the handlers and with what could not be analysed. Positions are relative to Base
// where that is shorter.
func HandlersJSON(w io.Writer, r *Report, handlers []inventory.Handler) error {
	doc := struct {
		Handlers []inventory.Handler `json:"handlers"`
		Problems []string            `json:"problems,omitempty"`
	}{Handlers: r.placed(handlers)}
	if doc.Handlers == nil {
		doc.Handlers = []inventory.Handler{}
	}
	for _, p := range r.Problems {
		doc.Problems = append(doc.Problems, p.Message)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "\t")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("writing the inventory as JSON: %w", err)
	}
	return nil
}

var verdictColors = map[inventory.Verdict]string{inventory.Unguarded: red, inventory.AtMostOnce: yellow, inventory.GivenUp: yellow, inventory.Guarded: green,
	inventory.Idempotent: green, inventory.NoEffect: faint}

// HandlersTable writes a line for each handler, by package, and how many have which verdict.
func HandlersTable(w io.Writer, r *Report, handlers []inventory.Handler) error {
	out := bufio.NewWriter(w)
	if len(handlers) == 0 {
		fmt.Fprintln(out, "No handlers.")
	}
	var rows strings.Builder
	table := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
	pkg := ""
	placed := r.placed(handlers)
	if len(placed) > 0 {
		fmt.Fprintln(table, strings.Join([]string{"VERDICT", "HANDLER", "CLIENT", "TOPIC", "GROUP", "GUARD", "TRANSACTION", "ACK", "MONEY", "PLACE"}, "\t"))
	}
	for _, h := range placed {
		verdict := string(h.Verdict)
		if h.Accepted != "" {
			verdict += " (accepted)"
		}
		fmt.Fprintln(table, strings.Join([]string{verdict, h.Name, dash(h.Client), dash(strings.Join(h.Topics, ",")), dash(h.Group),
			dash(guardCell(h)), dash(string(h.Transaction)), dash(ackCell(h)), dash(moneyCell(h)), h.Position}, "\t"))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the inventory: %w", err)
	}
	// Colours go in when the columns are as wide as they are to be.
	lines := strings.SplitAfter(rows.String(), "\n")
	for i, line := range lines {
		if i == 0 {
			fmt.Fprint(out, line)
			continue
		}
		if i-1 >= len(placed) {
			break
		}
		h := placed[i-1]
		if h.Package != pkg {
			pkg = h.Package
			fmt.Fprintf(out, "\n%s\n", paint(r.Color, bold, pkg))
		}
		fmt.Fprint(out, strings.Replace(line, string(h.Verdict), paint(r.Color, verdictColors[h.Verdict], string(h.Verdict)), 1))
	}
	if len(placed) > 0 {
		fmt.Fprintf(out, "\n%s\n", tally(placed))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the inventory: %w", err)
	}
	return nil
}

// tally is how many handlers there are, and how many of each verdict.
func tally(handlers []inventory.Handler) string {
	n := make(map[inventory.Verdict]int)
	for _, h := range handlers {
		n[h.Verdict]++
	}
	var parts []string
	for _, v := range inventory.Verdicts() {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	noun := "handlers"
	if len(handlers) == 1 {
		noun = "handler"
	}
	return fmt.Sprintf("%d %s: %s", len(handlers), noun, strings.Join(parts, ", "))
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// guardCell is the table of the check that decides, or what is the matter with the one that does not.
func guardCell(h inventory.Handler) string {
	for _, g := range h.Guards {
		if g.State == inventory.Decides {
			return guardName(g)
		}
	}
	if len(h.Guards) > 0 {
		return guardName(h.Guards[0]) + " " + string(h.Guards[0].State)
	}
	return ""
}

func guardName(g inventory.Guard) string {
	switch {
	case g.Table != "":
		return g.Table
	case g.Store != "":
		return g.Store
	}
	return g.What
}

func ackCell(h inventory.Handler) string {
	var parts []string
	for _, a := range h.Acks {
		s := a.What
		if a.Fault != "" {
			s += " " + a.Fault
		}
		if !slices.Contains(parts, s) {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "; ")
}

func moneyCell(h inventory.Handler) string {
	bad := 0
	for _, m := range h.Money {
		if m.Fault {
			bad++
		}
	}
	switch {
	case len(h.Money) == 0:
		return ""
	case bad > 0:
		return fmt.Sprintf("%d, %d without a right key", len(h.Money), bad)
	}
	return fmt.Sprintf("%d, keyed", len(h.Money))
}
