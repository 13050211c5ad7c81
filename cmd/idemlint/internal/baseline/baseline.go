// Package baseline is the file of findings that a project has accepted for now: they are not reported, and what is new
// is. A finding is known by its rule, package, function and message, and not by its line, so that other changes to a
// file leave the baseline as it is.
package baseline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

// version is of the file's form.
const version = 1

// An Entry is a finding that is known, and how often it is there.
type Entry struct {
	Rule     string `json:"rule"`
	Package  string `json:"package"`
	Function string `json:"function,omitempty"`
	Message  string `json:"message"`
	Count    int    `json:"count"`
}

func (e Entry) key() finding.Key {
	return finding.Key{Rule: e.Rule, Package: e.Package, Function: e.Function, Message: e.Message}
}

func (e Entry) compare(o Entry) int {
	return cmp.Or(cmp.Compare(e.Package, o.Package), cmp.Compare(e.Function, o.Function),
		cmp.Compare(e.Rule, o.Rule), cmp.Compare(e.Message, o.Message))
}

// A Baseline is the entries, sorted.
type Baseline struct {
	Entries []Entry
}

// Of is the baseline of the findings.
func Of(findings []finding.Finding) *Baseline {
	count := make(map[finding.Key]int)
	for _, f := range findings {
		count[f.Key()]++
	}
	b := new(Baseline)
	for k, n := range count {
		b.Entries = append(b.Entries, Entry{k.Rule, k.Package, k.Function, k.Message, n})
	}
	slices.SortFunc(b.Entries, Entry.compare)
	return b
}

// New returns the findings that the baseline does not know, and the entries that are stale: there are fewer findings of
// them than their Count, by which they are returned. Of more findings than Count, the last in order are new.
func (b *Baseline) New(findings []finding.Finding) (fresh []finding.Finding, stale []Entry) {
	known := make(map[finding.Key]int)
	for _, e := range b.Entries {
		known[e.key()] += e.Count
	}
	for _, f := range findings {
		if k := f.Key(); known[k] > 0 {
			known[k]--
		} else {
			fresh = append(fresh, f)
		}
	}
	for _, e := range b.Entries {
		if left := known[e.key()]; left > 0 {
			e.Count = left
			known[e.key()] = 0
			stale = append(stale, e)
		}
	}
	return fresh, stale
}

// With is the baseline together with the entries of another that are wanted.
func (b *Baseline) With(other *Baseline, wanted func(Entry) bool) *Baseline {
	all := slices.Clone(b.Entries)
	for _, e := range other.Entries {
		if wanted(e) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, Entry.compare)
	return &Baseline{Entries: all}
}

type file struct {
	Version  int     `json:"version"`
	Findings []Entry `json:"findings"`
}

// Read reads a baseline. A file that does not exist is an error that [fs.ErrNotExist] matches.
func Read(name string) (*Baseline, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading the baseline: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var f file
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("reading the baseline %s: %w", name, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the baseline %s: more follows the first value", name)
	}
	if f.Version != version {
		return nil, fmt.Errorf("reading the baseline %s: it is of version %d, this idemlint reads version %d: remove it, and write it anew with -baseline-update",
			name, f.Version, version)
	}
	for i, e := range f.Findings {
		if e.Rule == "" || e.Message == "" || e.Count < 1 {
			return nil, fmt.Errorf("reading the baseline %s: entry %d lacks a rule, a message or a count", name, i+1)
		}
	}
	return &Baseline{Entries: f.Findings}, nil
}

// ReadIfThere is [Read], of a file that need not exist.
func ReadIfThere(name string) (*Baseline, error) {
	b, err := Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return new(Baseline), nil
	}
	return b, err
}

// Write writes the baseline, one member a line, so that a changed finding is a changed line in a diff.
func (b *Baseline) Write(name string) error {
	entries := b.Entries
	if entries == nil {
		entries = []Entry{}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(file{version, entries}); err != nil {
		return fmt.Errorf("writing the baseline: %w", err)
	}
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the baseline: %w", err)
	}
	return nil
}
