package report

import (
	"bufio"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/idemlint/idemlint/analyzers/inventory"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

//go:embed handlers.tmpl
var handlersPage string

// manyHandlers is from how many handlers on the page shows only those that need work opened.
const manyHandlers = 20

// HandlersHTML writes the inventory as one page that needs nothing else, as [HTML] does: each handler with its flow drawn,
// and filters by verdict, package and text.
func HandlersHTML(w io.Writer, r *Report, handlers []inventory.Handler) error {
	page, err := template.New("handlers").Parse(handlersPage)
	if err != nil {
		return fmt.Errorf("reading the template of the inventory: %w", err)
	}
	out := bufio.NewWriter(w)
	if err := page.Execute(out, r.handlersView(r.placed(handlers))); err != nil {
		return fmt.Errorf("writing the inventory as HTML: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the inventory as HTML: %w", err)
	}
	return nil
}

// The parts of the page, as the template takes them.
type (
	handlersView struct {
		Version, Summary string
		Problems         []htmlPlace
		Verdicts         []verdictView
		Packages         []packageView
	}

	verdictView struct {
		Name  string
		Class string
		Count int
	}

	packageView struct {
		Path     string
		Handlers []handlerView
	}

	handlerView struct {
		inventory.Handler
		Class string
		Open  bool
		Facts []fact
		Flow  []node
		Lane  bool // the unguarded way passes something by
	}

	fact struct {
		Name, Value string
		Bad         bool
	}

	// A node is one or several steps of the same kind.
	node struct {
		Kind  string
		Class string // of the colour: good, bad, dim, or none
		Lane  string // of the unguarded way: start, mid, end, or none
		Cut   bool   // the way to the next node has no check on it
		Items []item
	}

	item struct{ What, Place, Note string }
)

// Short is a place without its directories and column: a box of the flow has little room.
func (handlersView) Short(place string) string {
	p := finding.ParsePosition(place)
	return path.Base(filepath.ToSlash(p.File)) + ":" + strconv.Itoa(p.Line)
}

var verdictClasses = map[inventory.Verdict]string{inventory.Unguarded: "bad", inventory.AtMostOnce: "warn", inventory.GivenUp: "warn",
	inventory.Guarded: "good", inventory.Idempotent: "good", inventory.NoEffect: "dim"}

func (r *Report) handlersView(handlers []inventory.Handler) handlersView {
	v := handlersView{Version: r.Version, Summary: "No handlers."}
	if len(handlers) > 0 {
		v.Summary = tally(handlers)
	}
	for _, p := range r.Problems {
		at := ""
		if p.Position.Line > 0 {
			at = Place(r.Base, p.Position)
		}
		v.Problems = append(v.Problems, htmlPlace{at, p.Message})
	}
	count := make(map[inventory.Verdict]int)
	at := make(map[string]int)
	for _, h := range handlers {
		count[h.Verdict]++
		n, ok := at[h.Package]
		if !ok {
			n = len(v.Packages)
			at[h.Package] = n
			v.Packages = append(v.Packages, packageView{Path: h.Package})
		}
		hv := handlerView{Handler: h, Class: verdictClasses[h.Verdict], Facts: facts(h), Flow: nodes(h.Flow), Open: len(handlers) <= manyHandlers}
		for _, n := range hv.Flow {
			hv.Lane = hv.Lane || n.Lane != ""
		}
		v.Packages[n].Handlers = append(v.Packages[n].Handlers, hv)
	}
	for _, name := range inventory.Verdicts() {
		if count[name] > 0 {
			v.Verdicts = append(v.Verdicts, verdictView{string(name), verdictClasses[name], count[name]})
		}
	}
	return v
}

// facts are what is said of a handler beside its flow.
func facts(h inventory.Handler) []fact {
	out := []fact{{Name: "client", Value: h.Client}, {Name: "topic", Value: strings.Join(h.Topics, ", ")}, {Name: "group", Value: h.Group},
		{Name: "guard", Value: guardCell(h), Bad: h.Verdict == inventory.Unguarded}, {Name: "transaction", Value: string(h.Transaction), Bad: h.Transaction == inventory.Split}}
	ack := fact{Name: "ack", Value: ackCell(h)}
	for _, a := range h.Acks {
		ack.Bad = ack.Bad || a.Fault != ""
	}
	out = append(out, ack)
	for _, m := range h.Money {
		out = append(out, fact{Name: "money", Value: m.What + ", key: " + m.Key, Bad: m.Fault})
	}
	for i := range out {
		if out[i].Value == "" {
			out[i].Value = "–"
		}
	}
	return out
}

// nodes draw the steps: neighbours of one kind in one node, and the unguarded way past those that it passes by.
func nodes(steps []inventory.Step) []node {
	var out []node
	bypassed := false
	for i, s := range steps {
		n := node{Kind: s.Kind, Class: stepClass(s), Items: []item{{What: s.What, Place: s.Position, Note: stepNote(s)}}}
		if s.Bypassed {
			n.Lane, bypassed = "mid", true
		}
		if s.Bypass {
			n.Lane = "end"
		}
		if last := len(out) - 1; i > 0 && out[last].Kind == n.Kind && out[last].Class == n.Class && (out[last].Lane == n.Lane || n.Lane == "") {
			out[last].Items = append(out[last].Items, n.Items...)
			continue
		}
		out = append(out, n)
	}
	for i := range out {
		switch {
		case i+1 == len(out) || out[i].Lane != "" || out[i+1].Lane == "":
		case bypassed:
			out[i].Lane = "start"
		default:
			out[i].Cut, out[i+1].Lane = true, "" // straight into the effect
		}
	}
	return out
}

func stepClass(s inventory.Step) string {
	switch {
	case s.Kind == inventory.StepGuard && s.State == string(inventory.Decides):
		return "good"
	case s.Kind == inventory.StepGuard, s.Kind == inventory.StepAck && s.State != "", s.State == "repeated":
		return "bad"
	case s.State == "idempotent":
		return "dim"
	}
	return ""
}

func stepNote(s inventory.Step) string {
	switch {
	case s.Kind == inventory.StepGuard && s.State == string(inventory.Decides):
		return "there already: done"
	case s.State == "repeated":
		return "again on every delivery"
	case s.State == "idempotent":
		return "the same when repeated"
	}
	return s.State
}
