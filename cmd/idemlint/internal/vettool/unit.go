package vettool

import (
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/tools/go/analysis"
)

// unitConfig is what is asked of a unit before unitchecker reads all of it, under the names of unitchecker's Config. Most
// units end here, so the large rest is not decoded.
type unitConfig struct {
	Dir           string
	ImportPath    string
	ModulePath    string
	ModuleVersion string
	PackageVetx   map[string]string
	VetxOnly      bool
	VetxOutput    string
}

func readUnit(file string) (*unitConfig, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the unit: %w", err)
	}
	u := new(unitConfig)
	if err := json.Unmarshal(data, u); err != nil {
		return nil, fmt.Errorf("decoding the unit %s: %w", file, err)
	}
	return u, nil
}

// factsOnly leaves of the analyzers only those that make facts: unitchecker runs all that depend on one, and throws away
// what they find in a unit that is wanted for its facts. They stay in the list, for their flags.
func factsOnly(asked []*analysis.Analyzer) {
	for _, a := range asked {
		if len(a.FactTypes) == 0 {
			a.Run = func(*analysis.Pass) (any, error) { return nil, nil }
		}
	}
}
