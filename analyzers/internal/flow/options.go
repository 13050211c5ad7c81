package flow

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// Options are the settings of the engine and the rules. The flags of every analyzer fill the same ones, so that each can
// be set on whichever analyzer a driver lets one set flags of; lists add up.
type Options struct {
	Index  bool // leave to the whole what other packages decide, and hand out the package's summary
	Tests  bool // look at _test.go files, too
	Debug  bool // say what was given up
	Strict bool // naturally idempotent writes count as effects

	// Own is the directory of the package's module if the options are those that hold in that module, and not those of
	// whoever looks at it.
	Own string

	Names know.Config
}

// Opts are the options of this process.
var Opts Options

// Flags are the flags of a rule's analyzer: all options that a project may set.
func Flags() flag.FlagSet {
	var fs flag.FlagSet
	fs.BoolVar(&Opts.Tests, "tests", false, "report findings in _test.go files, too")
	fs.BoolVar(&Opts.Debug, "debug", false, "say on standard error what was assumed, and what was given up on")
	fs.BoolVar(&Opts.Strict, "strict", false, "count naturally idempotent writes as effects, too")
	for _, o := range []struct {
		name  string
		to    *[]string
		check func(string) error
		usage string
	}{
		{"guards", &Opts.Names.Guards, checkFunc, "`functions` that are the processed-event check: example.com/dedup.Store.Seen"},
		{"dedup-tables", &Opts.Names.DedupTables, checkName, "`tables` that remember which events have been handled"},
		{"messages", &Opts.Names.Messages, checkType, "`types` in which messages come: example.com/bus.Message"},
		{"handlers", &Opts.Names.Handlers, checkHandler, "`functions`, or interfaces with all that implement them, that get events: example.com/bus.Handler"},
		{"clients", &Opts.Names.Clients, checkClient, "what `functions` of a Kafka client do: example.com/bus.Consumer.Commit=ack:1"},
		{"money-words", &Opts.Names.MoneyWords, checkWord, "further `words` that say that money moves"},
		{"event-ids", &Opts.Names.EventIDs, checkName, "further `names` of an event's id: of fields, parameters, map keys, headers"},
		{"trust", &Opts.Names.Trust, checkPackage, "`packages`, with all below them, that are not looked into: they have no effect"},
		{"skip", &Opts.Names.Skip, checkPackage, "`packages`, with all below them, in which nothing is reported"},
	} {
		fs.Var(&listFlag{o.to, o.check}, o.name, o.usage)
	}
	return fs
}

// tables are the tables as the options extend them.
func (o *Options) tables() (*know.Tables, error) {
	t, err := know.Extend(o.Names)
	if err != nil {
		return nil, fmt.Errorf("read the options: %w", err)
	}
	return t, nil
}

// listFlag is a flag that may be given more than once, with one or more values between commas.
type listFlag struct {
	to    *[]string
	check func(string) error
}

func (l *listFlag) String() string {
	if l.to == nil {
		return ""
	}
	return strings.Join(*l.to, ",")
}

// IsList says that the flag holds several values.
func (l *listFlag) IsList() bool { return true }

// Check is [listFlag.Set] without taking the values over.
func (l *listFlag) Check(s string) error {
	for v := range strings.SplitSeq(s, ",") {
		if v = strings.TrimSpace(v); v == "" {
			continue
		}
		if err := l.check(v); err != nil {
			return err
		}
	}
	return nil
}

func (l *listFlag) Set(s string) error {
	if err := l.Check(s); err != nil {
		return err
	}
	for v := range strings.SplitSeq(s, ",") {
		if v = strings.TrimSpace(v); v != "" && !slices.Contains(*l.to, v) {
			*l.to = append(*l.to, v)
		}
	}
	return nil
}

func checkFunc(s string) error { _, err := know.ParseFunc(s); return err }

func checkType(s string) error { _, _, err := know.ParseType(s); return err }

func checkClient(s string) error { _, err := know.ParseClient(s); return err }

func checkHandler(s string) error {
	if checkType(s) == nil {
		return nil
	}
	return checkFunc(s)
}

func checkPackage(s string) error {
	if strings.ContainsAny(s, " \t*=()") {
		return fmt.Errorf("%q is no import path; write example.com/module/package, which stands for all below it, too", s)
	}
	return nil
}

func checkWord(s string) error {
	if w := know.Words(s); len(w) != 1 {
		return fmt.Errorf("%q is not one word; write one, such as disburse: it is looked for among the words of names", s)
	}
	return nil
}

func checkName(s string) error {
	if strings.ContainsAny(s, " \t\"'`=()") || len(know.Words(s)) == 0 {
		return fmt.Errorf("%q is no name; write it as it stands in the code, without quotes and without a schema", s)
	}
	return nil
}
