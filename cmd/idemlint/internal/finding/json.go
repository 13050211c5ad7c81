package finding

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// A Failure is an analyzer that gave up on a package.
type Failure struct {
	Package  string
	Analyzer string
	Cause    string
}

// A Unit is what the analyzers said of one package.
type Unit struct {
	Package  string
	Findings []Finding
	Failures []Failure
}

type jsonError struct {
	Error string `json:"error"`
}

type jsonRelated struct {
	Posn    string `json:"posn"`
	End     string `json:"end"`
	Message string `json:"message"`
}

type jsonDiagnostic struct {
	Category string        `json:"category,omitempty"`
	Posn     string        `json:"posn"`
	End      string        `json:"end"`
	Message  string        `json:"message"`
	Fixes    []Fix         `json:"suggested_fixes,omitempty"`
	Related  []jsonRelated `json:"related,omitempty"`
}

// ReadUnits reads the analysis JSON objects that follow each other in r, as go vet -json prints them: package id
// to analyzer to diagnostics or error. go vet prints the packages in the order in which they finish; the units
// come back sorted by package, so that one input gives one output.
func ReadUnits(r io.Reader) ([]Unit, error) {
	byID := make(map[string]*Unit)
	for dec := json.NewDecoder(r); ; {
		var tree map[string]map[string]json.RawMessage
		if err := dec.Decode(&tree); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("decoding analysis JSON: %w", err)
		}
		for id, results := range tree {
			unit := byID[id]
			if unit == nil {
				unit = &Unit{Package: id}
				byID[id] = unit
			}
			for _, name := range slices.Sorted(maps.Keys(results)) {
				if err := unit.add(name, results[name]); err != nil {
					return nil, fmt.Errorf("decoding the result of %s on %s: %w", name, id, err)
				}
			}
		}
	}
	units := make([]Unit, 0, len(byID))
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		units = append(units, *byID[id])
	}
	return units, nil
}

// add takes over one analyzer's result: a list of diagnostics, or an object with an error.
func (u *Unit) add(analyzer string, result json.RawMessage) error {
	var diagnostics []jsonDiagnostic
	if err := json.Unmarshal(result, &diagnostics); err != nil {
		var failed jsonError
		if json.Unmarshal(result, &failed) != nil || failed.Error == "" {
			return err
		}
		u.Failures = append(u.Failures, Failure{Package: u.Package, Analyzer: analyzer, Cause: failed.Error})
		return nil
	}
	for _, d := range diagnostics {
		f := Finding{
			Package:  u.Package,
			Analyzer: analyzer,
			Rule:     d.Category,
			Position: ParsePosition(d.Posn),
			End:      ParsePosition(d.End),
			Message:  d.Message,
			Fixes:    d.Fixes,
		}
		for _, r := range d.Related {
			f.Related = append(f.Related, Related{ParsePosition(r.Posn), ParsePosition(r.End), r.Message})
		}
		u.Findings = append(u.Findings, f)
	}
	return nil
}

// WriteJSON writes one analysis JSON object with all findings and failures, the shape that go vet -json uses. No
// finding at all is an empty object. An analyzer that failed on a package has its error in place of its findings,
// as in go vet's.
func WriteJSON(w io.Writer, findings []Finding, failures []Failure) error {
	tree := make(map[string]map[string]any)
	put := func(id, analyzer string, v any) {
		if tree[id] == nil {
			tree[id] = make(map[string]any)
		}
		tree[id][analyzer] = v
	}
	for _, f := range findings {
		list, _ := tree[f.Package][f.Analyzer].([]jsonDiagnostic)
		put(f.Package, f.Analyzer, append(list, f.diagnostic()))
	}
	for _, f := range failures {
		put(f.Package, f.Analyzer, jsonError{f.Cause})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "\t")
	if err := enc.Encode(tree); err != nil {
		return fmt.Errorf("writing analysis JSON: %w", err)
	}
	return nil
}

func (f Finding) diagnostic() jsonDiagnostic {
	d := jsonDiagnostic{
		Category: f.Rule,
		Posn:     f.Position.String(),
		End:      f.End.String(),
		Message:  f.Message,
		Fixes:    f.Fixes,
	}
	for _, r := range f.Related {
		d.Related = append(d.Related, jsonRelated{r.Position.String(), r.End.String(), r.Message})
	}
	return d
}
