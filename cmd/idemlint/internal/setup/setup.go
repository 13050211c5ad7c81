// Package setup plans the files by which a module is set up for idemlint: its configuration, and the lines for
// golangci-lint where the module uses it. It writes nothing over: what is there stays, and lines are only added.
package setup

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/config"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// A File is a file as it is to be.
type File struct {
	Name  string // in the module's root
	Added []Block
	Text  string // the whole
	New   bool   // there is none yet
}

// A Block is lines that are added before a line of what is there, counted from 1.
type Block struct {
	Line int
	Text string
}

// A Plan is what would be done.
type Plan struct {
	Files []File
	Notes []string // what is left alone, or has to be done by hand
}

// golangciFiles are the configurations of golangci-lint that are YAML, in the order in which it looks for them.
var golangciFiles = []string{".golangci.yml", ".golangci.yaml"}

// otherGolangci are those that are not.
var otherGolangci = []string{".golangci.toml", ".golangci.json"}

const customFile = ".custom-gcl.yml"

// New plans the set-up of the module at root. options are what a configuration can hold.
func New(root string, options []*flag.Flag) (*Plan, error) {
	p := new(Plan)
	switch _, err := os.Stat(filepath.Join(root, config.File)); {
	case errors.Is(err, fs.ErrNotExist):
		text := config.Template(options)
		p.Files = append(p.Files, File{Name: config.File, Text: text, Added: []Block{{1, text}}, New: true})
	case err != nil:
		return nil, fmt.Errorf("looking for %s: %w", config.File, err)
	default:
		p.Notes = append(p.Notes, config.File+" is there and stays as it is")
	}
	for _, name := range golangciFiles {
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("reading golangci-lint's configuration: %w", err)
		}
		p.add(name, string(text), addLinter, linterLines)
		return p, p.custom(root)
	}
	for _, name := range otherGolangci {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil {
			p.Notes = append(p.Notes, fmt.Sprintf("%s is not YAML; say there what this says in YAML:\n%s", name, linterLines))
			return p, p.custom(root)
		}
	}
	p.Notes = append(p.Notes, "no .golangci.yml here, so nothing for golangci-lint")
	return p, nil
}

// custom plans the file from which golangci-lint builds itself with the plugin.
func (p *Plan) custom(root string) error {
	text, err := os.ReadFile(filepath.Join(root, customFile))
	if errors.Is(err, fs.ErrNotExist) {
		p.Files = append(p.Files, File{Name: customFile, Text: CustomLines, Added: []Block{{1, CustomLines}}, New: true})
		return nil
	} else if err != nil {
		return fmt.Errorf("reading golangci-lint's build file: %w", err)
	}
	p.add(customFile, string(text), addPlugin, pluginLines)
	return nil
}

// add plans lines for a file that is there, or says what to add by hand.
func (p *Plan) add(name, text string, edit func(*document) error, lines string) {
	switch blocks, err := insert(text, edit); {
	case errors.Is(err, errThere):
		p.Notes = append(p.Notes, name+" has "+rules.Analyzer+" already and stays as it is")
	case errors.Is(err, errOld):
		p.Notes = append(p.Notes, fmt.Sprintf("%s stays as it is, since %v", name, err))
	case err != nil:
		p.Notes = append(p.Notes, fmt.Sprintf("%s stays as it is, since %v; add this by hand:\n%s", name, err, lines))
	default:
		p.Files = append(p.Files, File{Name: name, Text: apply(text, blocks), Added: blocks})
	}
}

// Write writes the files. One that was not there when it was planned, and is now, is left alone and an error.
func (p *Plan) Write(root string) error {
	for _, f := range p.Files {
		flags := os.O_WRONLY | os.O_TRUNC
		if f.New {
			flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
		}
		if err := write(filepath.Join(root, f.Name), flags, f.Text); err != nil {
			return fmt.Errorf("writing %s: %w", f.Name, err)
		}
	}
	return nil
}

func write(name string, flags int, text string) error {
	f, err := os.OpenFile(name, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// CustomLines is a whole .custom-gcl.yml.
const CustomLines = "# .custom-gcl.yml\nversion: v2.15.0\nplugins:\n" + pluginLines

const pluginLines = `  - module: github.com/idemlint/idemlint
    import: github.com/idemlint/idemlint/analyzers/plugin
    version: latest
`

const linterLines = `linters:
  enable:
    - idemlint
  settings:
    custom:
      idemlint:
        type: module
        description: Kafka consumers that would do their work twice
        settings: {} # as in .idemlint.yml
`

// customSettings are the lines below linters.settings.custom.
var customSettings = below(linterLines, "    custom:\n")

// below is what stands below a line, without the indentation of its first line.
func below(text, line string) string {
	_, rest, _ := strings.Cut(text, line)
	indent := len(rest) - len(strings.TrimLeft(rest, " "))
	var b strings.Builder
	for l := range strings.Lines(rest) {
		b.WriteString(l[indent:])
	}
	return b.String()
}
