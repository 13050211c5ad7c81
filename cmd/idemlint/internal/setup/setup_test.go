package setup_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/config"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/setup"
)

func options() []*flag.Flag {
	var fs flag.FlagSet
	fs.Bool("strict", false, "count `more`")
	fs.Int("limit", 1, "how many")
	var all []*flag.Flag
	fs.VisitAll(func(f *flag.Flag) { all = append(all, f) })
	return all
}

// module is a directory with files, and with an .idemlint.yml so that golangci-lint's are what is planned.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func plan(t *testing.T, dir string) *setup.Plan {
	t.Helper()
	p, err := setup.New(dir, options())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheTemplateNamesEveryOptionAndSetsNone(t *testing.T) {
	text := config.Template(options())
	for _, want := range []string{"\n# count more\n#strict: true\n", "\n# how many\n#limit:"} {
		if !strings.Contains(text, want) {
			t.Errorf("the template lacks %q:\n%s", want, text)
		}
	}
	var set map[string]any
	if err := yaml.Unmarshal([]byte(text), &set); err != nil || len(set) > 0 {
		t.Errorf("it sets %v, %v", set, err)
	}
}

const settings = `      idemlint:
        type: module
        description: Kafka consumers that would do their work twice
        settings: {} # as in .idemlint.yml
`

func TestLinesAreAddedToGolangciLintsConfigurationAndAllElseStays(t *testing.T) {
	for _, tt := range []struct{ name, before, after string }{
		{"nothing but the version", "version: \"2\"\n", "version: \"2\"\nlinters:\n  enable:\n    - idemlint\n  settings:\n    custom:\n" + settings},
		{
			"comments and other linters",
			"version: \"2\"\nlinters:\n  # ours\n  enable:\n    # first\n    - govet # why\n  settings:\n    # all\n    govet:\n      enable-all: true\n\n# end",
			"version: \"2\"\nlinters:\n  # ours\n  enable:\n    - idemlint\n    # first\n    - govet # why\n  settings:\n    custom:\n" + settings +
				"    # all\n    govet:\n      enable-all: true\n\n# end\n",
		},
		{
			"a list that is not indented, and other plugins",
			"version: \"2\"\nlinters:\n  enable:\n  - govet\n  settings:\n    custom:\n      other: {type: module}\n",
			"version: \"2\"\nlinters:\n  enable:\n  - idemlint\n  - govet\n  settings:\n    custom:\n" + settings + "      other: {type: module}\n",
		},
		{
			"all linters are on",
			"version: \"2\"\nlinters:\n  default: all\n",
			"version: \"2\"\nlinters:\n  settings:\n    custom:\n" + settings + "  default: all\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := module(t, map[string]string{".idemlint.yml": "", ".custom-gcl.yml": setup.CustomLines, ".golangci.yml": tt.before})
			if err := plan(t, dir).Write(dir); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(dir, ".golangci.yml"))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.after {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.after)
			}
			again := plan(t, dir)
			if notes := strings.Join(again.Notes, "\n"); len(again.Files) > 0 || !strings.Contains(notes, ".golangci.yml has idemlint already") {
				t.Errorf("a second time would write %v and say:\n%s", again.Files, notes)
			}
		})
	}
}

func TestWhatCannotBeAddedToStaysAndIsSaid(t *testing.T) {
	for _, tt := range []struct{ name, file, text, want string }{
		{"written in one line", ".golangci.yml", "version: \"2\"\nlinters: {enable: [govet]}\n", "linters in line 2 is not written line by line; add this by hand:\nlinters:\n"},
		{"a list in one line", ".golangci.yaml", "version: \"2\"\nlinters:\n  enable: [govet]\n", "enable in line 3 is not written line by line"},
		{"version 1", ".golangci.yml", "linters:\n  enable:\n    - govet\n", "not one of golangci-lint v2; golangci-lint migrate makes it one"},
		{"not YAML", ".golangci.yml", "linters: [\n", "it cannot be read"},
		{"empty", ".golangci.yml", "", "it is empty"},
		{"another format", ".golangci.toml", "version = \"2\"\n", "is not YAML; say there what this says"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := module(t, map[string]string{".idemlint.yml": "", ".custom-gcl.yml": setup.CustomLines, tt.file: tt.text})
			p := plan(t, dir)
			if len(p.Files) > 0 {
				t.Errorf("would write %v", p.Files)
			}
			if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, tt.want) {
				t.Errorf("notes lack %q:\n%s", tt.want, notes)
			}
		})
	}
}

func TestThePluginIsAddedToOthersThatGolangciLintIsBuiltWith(t *testing.T) {
	dir := module(t, map[string]string{".idemlint.yml": "", ".golangci.yml": "version: \"2\"\n",
		".custom-gcl.yml": "version: v2.15.0\nplugins:\n- module: example.com/other\n  version: v1.0.0\n"})
	if err := plan(t, dir).Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, ".custom-gcl.yml"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "version: v2.15.0\nplugins:\n- module: github.com/idemlint/idemlint\n  import: github.com/idemlint/idemlint/analyzers/plugin\n  version: latest\n" +
		"- module: example.com/other\n  version: v1.0.0\n"
	if string(got) != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestAFileThatHasAppearedSinceItWasPlannedIsNotWrittenOver(t *testing.T) {
	dir := t.TempDir()
	p := plan(t, dir)
	name := filepath.Join(dir, ".idemlint.yml")
	if err := os.WriteFile(name, []byte("strict: true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(dir); err == nil {
		t.Error("no error")
	}
	if got, _ := os.ReadFile(name); string(got) != "strict: true\n" {
		t.Errorf("the file is now:\n%s", got)
	}
}

func TestTheREADMEShowsTheBuildFileThatIsWritten(t *testing.T) {
	data, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "```yaml\n"+setup.CustomLines+"```\n") {
		t.Errorf("the README does not show:\n%s", setup.CustomLines)
	}
}
