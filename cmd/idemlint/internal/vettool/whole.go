package vettool

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// asksIndex tells whether the stand-alone command asks for the packages' summaries.
func asksIndex(args []string) bool {
	name := "-" + rules.Analyzer + "." + rules.Index
	return slices.ContainsFunc(args, func(a string) bool { return a == name || a == name+"=true" || a == "-"+name || a == "-"+name+"=true" })
}

// analyseWhole rewrites a unit that is wanted for its facts only, so that it is analysed like the others. The go command
// keeps what a tool prints under a key that does not say which of the two was asked for: a package that was a
// dependency first would print nothing ever after. And the stand-alone command needs the summaries of dependencies,
// too: the consumer may be in another module of the workspace.
func analyseWhole(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the unit: %w", err)
	}
	var cfg map[string]json.RawMessage
	if err := json.Unmarshal(data, &cfg); err != nil {
		return fmt.Errorf("decoding the unit %s: %w", file, err)
	}
	cfg["VetxOnly"] = json.RawMessage("false")
	if data, err = json.Marshal(cfg); err != nil {
		return fmt.Errorf("encoding the unit %s: %w", file, err)
	}
	if err := os.WriteFile(file, data, 0o666); err != nil {
		return fmt.Errorf("writing the unit: %w", err)
	}
	return nil
}
