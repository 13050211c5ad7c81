// Package plugin makes idemlint a linter of golangci-lint, by its module plugin system: a golangci-lint that
// `golangci-lint custom` builds with this package knows a linter named idemlint.
//
// Its settings are the options of .idemlint.yml. That file is not read here: golangci-lint keeps results until its own
// configuration or the code changes, and would not notice a change of another file.
package plugin

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers"
)

// Name is the linter's name in golangci-lint.
const Name = "idemlint"

func init() { register.Plugin(Name, New) }

// Settings are what may stand under linters.settings.custom.idemlint.settings. The analyzers' flags of the same names say
// what each means.
type Settings struct {
	Guards      []string `json:"guards"`
	DedupTables []string `json:"dedup-tables"`
	Messages    []string `json:"messages"`
	Handlers    []string `json:"handlers"`
	Clients     []string `json:"clients"`
	MoneyWords  []string `json:"money-words"`
	EventIDs    []string `json:"event-ids"`
	Trust       []string `json:"trust"`
	Skip        []string `json:"skip"`
	Strict      bool     `json:"strict"`
	Tests       bool     `json:"tests"`
	Debug       bool     `json:"debug"`
}

// New reads the settings. Of one that is not known or has a wrong value the error says what would be right.
func New(raw any) (register.LinterPlugin, error) {
	settings, err := register.DecodeSettings[Settings](raw)
	if err != nil {
		return nil, fmt.Errorf("%w; the settings are %s", err, strings.Join(names(), ", "))
	}
	return linter{settings}, nil
}

type linter struct{ settings Settings }

// BuildAnalyzers sets the options, which the analyzers share, and returns the analyzers.
func (l linter) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	all := analyzers.All()
	flags := &all[len(all)-1].Flags // those of the analyzer named idemlint, which has all
	values := reflect.ValueOf(l.settings)
	for i, name := range names() {
		var err error
		switch v := values.Field(i).Interface().(type) {
		case bool:
			err = flags.Set(name, strconv.FormatBool(v))
		case []string:
			err = flags.Set(name, strings.Join(v, ","))
		}
		if err != nil {
			return nil, fmt.Errorf("setting %s: %w", name, err)
		}
	}
	return all, nil
}

// GetLoadMode says that the analyzers need types.
func (linter) GetLoadMode() string { return register.LoadModeTypesInfo }

// names are the settings' names, in the order of the fields.
func names() []string {
	t := reflect.TypeFor[Settings]()
	out := make([]string, t.NumField())
	for i := range out {
		out[i] = t.Field(i).Tag.Get("json")
	}
	return out
}
