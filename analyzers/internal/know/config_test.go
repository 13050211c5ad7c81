package know_test

import (
	"strings"
	"testing"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

func TestAFunctionIsNamedByItsPackageAndItsType(t *testing.T) {
	for text, want := range map[string]know.Sym{
		"example.com/dedup.Seen":            {Pkg: "example.com/dedup", Name: "Seen"},
		"example.com/dedup.seen":            {Pkg: "example.com/dedup", Name: "seen"},
		"example.com/dedup.Store.Seen":      {Pkg: "example.com/dedup", Recv: "Store", Name: "Seen"},
		"example.com/dedup.Store.seen":      {Pkg: "example.com/dedup", Recv: "Store", Name: "seen"},
		"example.com/dedup.(*store).Seen":   {Pkg: "example.com/dedup", Recv: "store", Name: "Seen"},
		"example.com/dedup.(Store).Seen":    {Pkg: "example.com/dedup", Recv: "Store", Name: "Seen"},
		"example.com/kit/v3/bus.Queue.Take": {Pkg: "example.com/kit/bus", Recv: "Queue", Name: "Take"},
		"gopkg.in/kit.v3.Queue.Take":        {Pkg: "gopkg.in/kit", Recv: "Queue", Name: "Take"},
		"example.com/go.uuid.NewV4":         {Pkg: "example.com/go.uuid", Name: "NewV4"},
		"main.Seen":                         {Pkg: "main", Name: "Seen"},
		"github.com/Shopify/sarama.NewX":    {Pkg: "github.com/IBM/sarama", Name: "NewX"},
	} {
		if got, err := know.ParseFunc(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"Seen", "example.com/dedup", "example.com/dedup.", "example.com/dedup.Seen()", "a b.Seen", "example.com/dedup.Se-en"} {
		if got, err := know.ParseFunc(text); err == nil || !strings.Contains(err.Error(), "example.com/dedup.Store.Seen") {
			t.Errorf("%q is %+v, %v; want an error that shows a right name", text, got, err)
		}
	}
}

func TestAClientsFunctionIsToldWithWhatItDoes(t *testing.T) {
	for text, want := range map[string]know.Row{
		"example.com/bus.Line.Commit=ack:1":   {Pkg: "example.com/bus", Recv: "Line", Name: "Commit", Kind: know.Ack, Arg: 1, Arg2: -1},
		"example.com/bus.Line.Commit=ack":     {Pkg: "example.com/bus", Recv: "Line", Name: "Commit", Kind: know.Ack, Arg: -1, Arg2: -1},
		"example.com/bus.Send=produce":        {Pkg: "example.com/bus", Name: "Send", Kind: know.Produce, Arg: 0, Arg2: -1},
		"example.com/bus.Line.Next=poll":      {Pkg: "example.com/bus", Recv: "Line", Name: "Next", Kind: know.Consumed, Arg: -1, Arg2: -1},
		"example.com/bus.Line.On=register:1":  {Pkg: "example.com/bus", Recv: "Line", Name: "On", Kind: know.Register, Arg: 1, Arg2: -1},
		"example.com/bus.Line.Each=each":      {Pkg: "example.com/bus", Recv: "Line", Name: "Each", Kind: know.Each, Arg: 0, Arg2: -1},
		"example.com/bus.Metrics.Inc=silent":  {Pkg: "example.com/bus", Recv: "Metrics", Name: "Inc", Kind: know.Silent, Arg: -1, Arg2: -1},
		"example.com/bus.Pager.Ring=effect":   {Pkg: "example.com/bus", Recv: "Pager", Name: "Ring", Kind: know.OtherWrite, Arg: -1, Arg2: -1},
		"example.com/bus.Line.Use=middleware": {Pkg: "example.com/bus", Recv: "Line", Name: "Use", Kind: know.Middleware, Arg: -1, Arg2: -1},
	} {
		if got, err := know.ParseClient(text); err != nil || *got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"example.com/bus.Line.Commit":         "write example.com/bus.Line.Commit=WHAT, where WHAT is one of poll, autocommit, ack",
		"example.com/bus.Line.Commit=commit":  `not "commit"`,
		"example.com/bus.Line.Commit=ack:one": `"one" is no index of an argument; the first after the receiver is 0`,
		"example.com/bus.Line.Commit=ack:-1":  `"-1" is no index`,
		"Commit=ack":                          `"Commit" names no function`,
	} {
		if got, err := know.ParseClient(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %+v, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestAPackageStandsForAllBelowIt(t *testing.T) {
	tables, err := know.Extend(know.Config{Skip: []string{"example.com/a/...", "example.com/b"}, Trust: []string{"example.com/kit/v2/log"}})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, want := range map[string]bool{
		"example.com/a": true, "example.com/a/x": true, "example.com/b/x": true, "example.com/b_test": true,
		"example.com/b [example.com/b.test]": true, "example.com/bc": false, "example.com": false,
	} {
		if got := tables.Skipped(pkg); got != want {
			t.Errorf("Skipped(%q) is %v", pkg, got)
		}
	}
	for pkg, want := range map[string]bool{"example.com/kit/v2/log": true, "example.com/kit/v2/log/x": true, "example.com/kit/v2/logs": false} {
		if got := tables.Trusted(pkg); got != want {
			t.Errorf("Trusted(%q) is %v", pkg, got)
		}
	}
}

func TestWhatIsConfiguredMakesDependantsWorthLookingAt(t *testing.T) {
	tables, err := know.Extend(know.Config{
		Guards: []string{"example.com/g.F"}, Messages: []string{"example.com/m.M"}, Handlers: []string{"example.com/h.H.On"}, Clients: []string{"example.com/c.F=ack"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{"example.com/g", "example.com/m", "example.com/h", "example.com/c", "github.com/twmb/franz-go/pkg/kgo"} {
		if !tables.Seed(pkg) {
			t.Errorf("%s is no seed", pkg)
		}
	}
	if tables.Seed("example.com/other") || builtIn.Seed("example.com/g") {
		t.Error("a package of which nothing is said is a seed")
	}
}
