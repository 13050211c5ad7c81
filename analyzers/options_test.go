package analyzers_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers"
)

// configured is a module with a configuration that sets every option, one directory an option. There, `// want-off RULE`
// is what is due without the configuration.
var configured, _ = filepath.Abs("../testdata/options")

func TestEveryOptionDoesWhatItsFixtureSays(t *testing.T) {
	with, without := wants(t, configured, ""), wants(t, configured, "-off")
	for p := range with {
		delete(without, p)
	}
	flags := flagsOfFile(t)
	for _, mode := range []struct {
		name string
		vet  bool
		args []string
		want map[place]string
	}{
		{"stand-alone", false, nil, with},
		{"go vet", true, nil, with},
		{"stand-alone by flags", false, append([]string{"-config=off"}, flags...), with},
		{"go vet by flags of one rule", true, append([]string{"-idemlint.config=off"}, flagsOf("moneykey", flags)...), with},
		{"stand-alone without", false, []string{"-config=off"}, without},
		{"go vet without", true, []string{"-idemlint.config=off"}, without},
	} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			compare(t, mode.want, messages(diagnostics(t, configured, mode.vet, append(mode.args, "./...")...)))
		})
	}
}

// flagsOfFile are the settings of the fixtures' configuration as flags.
func flagsOfFile(t *testing.T) []string {
	data, err := os.ReadFile(filepath.Join(configured, ".idemlint.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var flags []string
	key := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if item, ok := strings.CutPrefix(line, "- "); ok {
			flags = append(flags, "-"+key+"="+item)
		} else if k, v, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			if key = k; v != "" {
				flags = append(flags, "-"+key+"="+strings.Trim(v, " []"))
			}
		}
	}
	return flags
}

func flagsOf(analyzer string, flags []string) []string {
	out := make([]string, len(flags))
	for i, f := range flags {
		out[i] = "-" + analyzer + "." + strings.TrimPrefix(f, "-")
	}
	return out
}

// optionsOf are the names of an analyzer's flags.
func optionsOf(a *analysis.Analyzer) []string {
	var names []string
	a.Flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}

func TestEveryRuleTakesEveryOption(t *testing.T) {
	all := analyzers.All()
	directives := optionsOf(all[len(all)-1])
	for _, a := range all[:len(all)-1] {
		for _, name := range directives {
			if own := optionsOf(a); name != "index" && !slices.Contains(own, name) {
				t.Errorf("%s has no flag %s; it has %q", a.Name, name, own)
			}
		}
	}
}

func TestEveryOptionHasAFixture(t *testing.T) {
	set := make(map[string]bool)
	for _, f := range flagsOfFile(t) {
		name, _, _ := strings.Cut(strings.TrimPrefix(f, "-"), "=")
		set[name] = true
	}
	all := analyzers.All()
	for _, name := range optionsOf(all[len(all)-1]) {
		if name != "index" && name != "debug" && !set[name] {
			t.Errorf("%s sets no %s", configured, name)
		}
	}
}

func TestTheREADMEHasALineForEveryOption(t *testing.T) {
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	all := analyzers.All()
	for _, name := range optionsOf(all[len(all)-1]) {
		if row := regexp.MustCompile("(?m)^\\| `" + name + "` \\|"); name != "index" && !row.Match(data) {
			t.Errorf("the README's table of options has no row for %s", name)
		}
	}
}

func TestTheRulesAreValidAnalyzers(t *testing.T) {
	if err := analysis.Validate(analyzers.All()); err != nil {
		t.Error(err)
	}
}

// between is what stands between two lines of the README.
func between(t *testing.T, first, last string) string {
	t.Helper()
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), first)
	text, _, closed := strings.Cut(rest, last)
	if !ok || !closed {
		t.Fatalf("the README has no block that begins with %q", first)
	}
	return text
}

func TestTheREADMEsBuildFileNamesEveryRulesPackageForNogo(t *testing.T) {
	text := between(t, "```python\n# BUILD.bazel\n", "```")
	var got []string
	for _, m := range regexp.MustCompile(`"@com_github_idemlint_idemlint//analyzers/(\w+)"`).FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
	}
	var want []string
	all := analyzers.All()
	for _, a := range all[:len(all)-1] {
		want = append(want, a.Name)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the README's BUILD file has %q, the rules are %q", got, want)
	}
}

func TestTheREADMEsNogoConfigurationSetsFlagsThatThereAre(t *testing.T) {
	var config map[string]struct {
		Flags map[string]string `json:"analyzer_flags"`
	}
	if err := json.Unmarshal([]byte(between(t, "```json\n", "```")), &config); err != nil {
		t.Fatal(err)
	}
	set := 0
	for _, a := range analyzers.All() {
		for name := range config[a.Name].Flags {
			set++
			if a.Flags.Lookup(name) == nil {
				t.Errorf("%s has no flag %s", a.Name, name)
			}
		}
	}
	if set == 0 {
		t.Error("the configuration sets no flag of an analyzer")
	}
}
