package cli

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// shells are those for which there is a completion, with the line that turns it on.
var shells = []struct {
	name, use string
	write     func(w io.Writer, words completion)
}{
	{"bash", "source <(idemlint completion bash)", bash},
	{"zsh", "source <(idemlint completion zsh)", zsh},
	{"fish", "idemlint completion fish | source", fish},
}

// A completion is what may stand on the command line.
type completion struct {
	commands []subcommand
	flags    []*flag.Flag
	rules    []string
}

// completion prints the script by which a shell completes calls of the command.
func (c Command) completion(args []string) error {
	var names []string
	for _, sh := range shells {
		names = append(names, sh.name)
	}
	if len(args) != 1 {
		return fmt.Errorf("name a shell: %s completion %s", rules.Analyzer, strings.Join(names, "|"))
	}
	i := slices.Index(names, args[0])
	if i < 0 {
		if near, ok := rules.Nearest(args[0], names); ok {
			return fmt.Errorf("no completion for %q; did you mean %q?", args[0], near)
		}
		return fmt.Errorf("no completion for %q; there is one for %s", args[0], strings.Join(names, ", "))
	}
	words := completion{commands: subcommands(), rules: c.Rules.Names()}
	c.flags(new(call)).VisitAll(func(f *flag.Flag) { words.flags = append(words.flags, f) })
	var b strings.Builder
	fmt.Fprintf(&b, "# To turn it on: %s\n", shells[i].use)
	shells[i].write(&b, words)
	_, err := io.WriteString(c.Stdout, b.String())
	return err
}

func (w completion) commandNames() []string {
	var names []string
	for _, s := range w.commands {
		names = append(names, s.name)
	}
	return names
}

func (w completion) flagNames() []string {
	var names []string
	for _, f := range w.flags {
		names = append(names, "-"+f.Name)
	}
	return names
}

func takesValue(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !b.IsBoolFlag()
}

func bash(w io.Writer, words completion) {
	fmt.Fprintf(w, `_idemlint() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	COMPREPLY=()
	case $prev in
	-rules|help|explain) COMPREPLY=($(compgen -W '%[3]s' -- "$cur")); return ;;
	completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- "$cur")); return ;;
	esac
	case $cur in
	-*) COMPREPLY=($(compgen -W '%[2]s' -- "$cur")) ;;
	*)
		if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W '%[1]s' -- "$cur")); fi
		COMPREPLY+=($(compgen -f -- "$cur"))
		;;
	esac
}
complete -o filenames -F _idemlint idemlint
`, strings.Join(words.commandNames(), " "), strings.Join(words.flagNames(), " "), strings.Join(words.rules, " "))
}

func zsh(w io.Writer, words completion) {
	fmt.Fprint(w, "#compdef idemlint\n_idemlint() {\n\tlocal -a commands=(\n")
	for _, s := range words.commands {
		fmt.Fprintf(w, "\t\t%s\n", quoted(s.name+":"+s.summary))
	}
	fmt.Fprintf(w, "\t)\n\tlocal -a rules=(%s)\n\tlocal -a flags=(\n", strings.Join(words.rules, " "))
	for _, f := range words.flags {
		_, usage := flag.UnquoteUsage(f)
		spec := "-" + f.Name + "[" + strings.NewReplacer("[", "(", "]", ")", ":", ",").Replace(usage) + "]"
		switch {
		case f.Name == "rules":
			spec += ":rule:($rules)"
		case takesValue(f):
			spec += ":value:_files"
		}
		fmt.Fprintf(w, "\t\t%s\n", strings.ReplaceAll(quoted(spec), "($rules)", "('\"$rules\"')"))
	}
	fmt.Fprint(w, `	)
	case $words[2] in
	help|explain) _values rule $rules; return ;;
	completion) _values shell bash zsh fish; return ;;
	esac
	if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then _describe command commands; fi
	_arguments $flags '*:package or file:_files'
}
compdef _idemlint idemlint
`)
}

func fish(w io.Writer, words completion) {
	fmt.Fprintln(w, "function __idemlint_first; test (count (commandline -opc)) -eq 1; end")
	for _, s := range words.commands {
		fmt.Fprintf(w, "complete -c idemlint -n __idemlint_first -a %s -d %s\n", s.name, quoted(s.summary))
	}
	for _, f := range words.flags {
		_, usage := flag.UnquoteUsage(f)
		value := ""
		switch {
		case f.Name == "rules":
			value = " -x -a " + quoted(strings.Join(words.rules, " "))
		case takesValue(f):
			value = " -r"
		}
		fmt.Fprintf(w, "complete -c idemlint -o %s%s -d %s\n", f.Name, value, quoted(usage))
	}
	fmt.Fprintf(w, "complete -c idemlint -x -n '__fish_seen_subcommand_from help explain' -a %s\n", quoted(strings.Join(words.rules, " ")))
	fmt.Fprintln(w, "complete -c idemlint -x -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'")
}

// quoted is a word that the shells take as it is.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
