// Package config finds and reads the configuration file. What may stand in it is what the analyzers have flags for: a
// key is a flag's name, and a value goes through the flag, so that the file and the command line cannot differ.
package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// File is the name of the configuration file.
const File = ".idemlint.yml"

// misnamed is the name by which it is not read, so that there is one and no other.
const misnamed = ".idemlint.yaml"

// ErrMisnamed is the error for a file that is named so.
func ErrMisnamed(shown string) error {
	return fmt.Errorf("%s is not read; name it %s", shown, File)
}

// Off stands for no file where a file's name is expected.
const Off = "off"

// A Setting is a value that a file gives to an option.
type Setting struct {
	Name, Value string
	Bool        bool
	Line        int
}

// Read reads a file and sets the options. Settings are in the order of the file; a list gives one for each of its values.
// The error of a file that cannot be read as it should be names the file as it is to be shown, the line, and what to write.
func Read(file, shown string, options []*flag.Flag) ([]Setting, error) {
	settings, err := Parse(file, shown, options)
	if err != nil {
		return nil, err
	}
	for _, s := range settings {
		i := slices.IndexFunc(options, func(f *flag.Flag) bool { return f.Name == s.Name })
		if err := options[i].Value.Set(s.Value); err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", shown, s.Line, s.Name, err)
		}
	}
	return settings, nil
}

// Parse is [Read] for a file that is for others: no option is set, and of a list's values those are checked that an option
// can check.
func Parse(file, shown string, options []*flag.Flag) ([]Setting, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	r := reader{file: shown, options: make(map[string]*flag.Flag)}
	for _, f := range options {
		r.options[f.Name] = f
		r.names = append(r.names, f.Name)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, r.syntax(data, err)
	}
	if err := decoder.Decode(new(yaml.Node)); err == nil {
		return nil, r.fault(&doc, "a second document; put all keys into one")
	} else if !errors.Is(err, io.EOF) {
		return nil, r.syntax(data, err)
	}
	if err := r.document(doc.Content[0]); err != nil {
		return nil, err
	}
	return r.settings, nil
}

type reader struct {
	file     string
	options  map[string]*flag.Flag
	names    []string
	settings []Setting
}

func (r *reader) fault(at *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", r.file, at.Line, fmt.Sprintf(format, args...))
}

// syntax words what the parser says. Its own line is the one above, or that of what it was in the middle of; the line to
// look at is the one after the last with which what stands above is whole.
func (r *reader) syntax(data []byte, err error) error {
	what := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(what, "line "); ok {
		if _, after, ok := strings.Cut(rest, ": "); ok {
			what = after
		}
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	n := min(len(lines), maxLines) - 1
	for n > 0 && yaml.Unmarshal(bytes.Join(lines[:n], nil), new(yaml.Node)) != nil {
		n--
	}
	return fmt.Errorf("%s:%d: not YAML: %s; write KEY: VALUE, and lists as lines of \"  - VALUE\"", r.file, n+1, what)
}

// maxLines is how many lines are looked through for the faulty one.
const maxLines = 500

func (r *reader) document(root *yaml.Node) error {
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		return r.fault(root, "want KEY: VALUE; the keys are %s", strings.Join(r.names, ", "))
	}
	lines := make(map[string]int)
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		option := r.options[key.Value]
		if option == nil {
			return r.unknown(key)
		}
		if line, ok := lines[key.Value]; ok {
			return r.fault(key, "%s stands in line %d already; put its values together", key.Value, line)
		}
		lines[key.Value] = key.Line
		if err := r.set(option, value); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) unknown(key *yaml.Node) error {
	if near, ok := rules.Nearest(key.Value, r.names); ok {
		return r.fault(key, "unknown key %q; did you mean %q?", key.Value, near)
	}
	return r.fault(key, "unknown key %q; the keys are %s", key.Value, strings.Join(r.names, ", "))
}

// set notes a value, or each of a list, for an option.
func (r *reader) set(option *flag.Flag, value *yaml.Node) error {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	b, ok := option.Value.(interface{ IsBoolFlag() bool })
	isBool := ok && b.IsBoolFlag()
	l, ok := option.Value.(interface{ IsList() bool })
	isList := ok && l.IsList()
	values := []*yaml.Node{value}
	switch {
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		return nil
	case value.Kind == yaml.SequenceNode && isList:
		values = value.Content
	case value.Kind != yaml.ScalarNode && isList:
		return r.fault(value, "%s wants a list: one \"  - VALUE\" a line", option.Name)
	case value.Kind != yaml.ScalarNode, isBool && value.Tag != "!!bool":
		what := "one value"
		if isBool {
			what = "true or false"
		}
		return r.fault(value, "%s wants %s", option.Name, what)
	}
	for _, v := range values {
		if v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
			return r.fault(v, "%s wants a list of plain values: one \"  - VALUE\" a line", option.Name)
		}
		if c, ok := option.Value.(interface{ Check(string) error }); ok {
			if err := c.Check(v.Value); err != nil {
				return r.fault(v, "%s: %v", option.Name, err)
			}
		}
		r.settings = append(r.settings, Setting{option.Name, v.Value, isBool, v.Line})
	}
	return nil
}
