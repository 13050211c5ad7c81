package setup

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// errThere is returned when there is nothing to add.
var errThere = errors.New("there already")

// errOld is returned for a configuration to which nothing can be added before it is written anew.
var errOld = errors.New("it is not one of golangci-lint v2; golangci-lint migrate makes it one")

// A document is a YAML file to which lines are added.
type document struct {
	root   *yaml.Node
	lines  int
	blocks []Block
}

// insert finds out which lines to add to a text. They are checked: with them, the text holds what it held before, and
// what was to be added.
func insert(text string, edit func(*document) error) ([]Block, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, fmt.Errorf("it cannot be read (%w)", err)
	}
	d := &document{lines: strings.Count(strings.TrimRight(text, "\n"), "\n") + 1}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is empty")
	}
	d.root = doc.Content[0]
	if err := edit(d); err != nil {
		return nil, err
	}
	slices.SortStableFunc(d.blocks, func(a, b Block) int { return a.Line - b.Line })
	var before, after map[string]any
	if err := yaml.Unmarshal([]byte(text), &before); err != nil {
		return nil, fmt.Errorf("it cannot be read (%w)", err)
	}
	if err := yaml.Unmarshal([]byte(apply(text, d.blocks)), &after); err != nil || !reflect.DeepEqual(before, without(after)) {
		return nil, errors.New("lines cannot be added to it safely")
	}
	return d.blocks, nil
}

// without takes out of a configuration what idemlint adds, and what that leaves empty.
func without(v map[string]any) map[string]any {
	for _, path := range [][]string{{"linters", "enable"}, {"linters", "settings", "custom", rules.Analyzer}, {"plugins"}} {
		prune(v, path)
	}
	return v
}

func prune(m map[string]any, path []string) {
	key := path[0]
	switch v := m[key].(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(m, key)
			return
		}
		if prune(v, path[1:]); len(v) == 0 {
			delete(m, key)
		}
	case []any:
		v = slices.DeleteFunc(v, ours)
		if m[key] = v; len(v) == 0 {
			delete(m, key)
		}
	}
}

// ours reports whether an element of a list is what idemlint adds.
func ours(v any) bool {
	if m, ok := v.(map[string]any); ok {
		v = m["module"]
	}
	return v == rules.Analyzer || v == "github.com/idemlint/idemlint"
}

// apply adds the blocks, which are in the order of their lines.
func apply(text string, blocks []Block) string {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	var b strings.Builder
	lines := slices.Collect(strings.Lines(text))
	for i := 0; i <= len(lines); i++ {
		for len(blocks) > 0 && (blocks[0].Line == i+1 || i == len(lines)) {
			b.WriteString(blocks[0].Text)
			blocks = blocks[1:]
		}
		if i < len(lines) {
			b.WriteString(lines[i])
		}
	}
	return b.String()
}

// child is the key of a mapping and what it holds, nil when it has none.
func child(m *yaml.Node, name string) (key, value *yaml.Node) {
	if m == nil || m.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i], m.Content[i+1]
		}
	}
	return nil, nil
}

// under adds lines below a key, before its first entry.
func (d *document) under(key, value *yaml.Node, text string) error {
	if value.Style&yaml.FlowStyle != 0 || len(value.Content) == 0 {
		return fmt.Errorf("%s in line %d is not written line by line", key.Value, key.Line)
	}
	indent := strings.Repeat(" ", value.Column-1)
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(indent + l)
	}
	d.blocks = append(d.blocks, Block{key.Line + 1, b.String()})
	return nil
}

// addLinter enables idemlint in a configuration of golangci-lint.
func addLinter(d *document) error {
	if _, version := child(d.root, "version"); version == nil || version.Value != "2" {
		return errOld
	}
	key, linters := child(d.root, "linters")
	if key == nil {
		d.blocks = append(d.blocks, Block{d.lines + 1, linterLines})
		return nil
	}
	if err := d.settings(key, linters); err != nil {
		return err
	}
	enable, list := child(linters, "enable")
	switch _, all := child(linters, "default"); {
	case all != nil && all.Value == "all":
		return nil
	case enable == nil:
		return d.under(key, linters, "enable:\n  - "+rules.Analyzer+"\n")
	case slices.ContainsFunc(list.Content, func(n *yaml.Node) bool { return n.Value == rules.Analyzer }):
		return nil
	}
	return d.under(enable, list, "- "+rules.Analyzer+"\n")
}

// settings adds what makes the plugin known.
func (d *document) settings(key, linters *yaml.Node) error {
	settingsKey, settings := child(linters, "settings")
	if settingsKey == nil {
		return d.under(key, linters, "settings:\n"+indented("custom:\n"+indented(customSettings)))
	}
	customKey, custom := child(settings, "custom")
	if customKey == nil {
		return d.under(settingsKey, settings, "custom:\n"+indented(customSettings))
	}
	if own, _ := child(custom, rules.Analyzer); own != nil {
		return errThere
	}
	return d.under(customKey, custom, customSettings)
}

func indented(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString("  " + l)
	}
	return b.String()
}

// addPlugin adds the plugin to those that golangci-lint is built with.
func addPlugin(d *document) error {
	key, plugins := child(d.root, "plugins")
	if key == nil {
		d.blocks = append(d.blocks, Block{d.lines + 1, "plugins:\n" + pluginLines})
		return nil
	}
	for _, p := range plugins.Content {
		if _, module := child(p, "module"); module != nil && module.Value == "github.com/idemlint/idemlint" {
			return errThere
		}
	}
	return d.under(key, plugins, below("\n"+pluginLines, "\n"))
}
