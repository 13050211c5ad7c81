package flow

import (
	"fmt"
	"testing"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

// summary is the fact of a package of one function, or none, on top of its imports' facts.
func summary(t *testing.T, path string, functions int, imports ...*Summary) *Summary {
	t.Helper()
	u := &Unit{Path: path}
	for i := range functions {
		u.Funcs = append(u.Funcs, &Func{ID: fmt.Sprintf("%s.F%d", path, i), Pkg: path})
	}
	own, err := pack(u, nil)
	if err != nil {
		t.Fatal(err)
	}
	return export(own, merged(t, imports...))
}

func merged(t *testing.T, summaries ...*Summary) []packed {
	t.Helper()
	var f facts
	for _, s := range summaries {
		if err := f.add(*s); err != nil {
			t.Fatal(err)
		}
	}
	return f.units
}

func paths(units []packed) []string {
	var out []string
	for _, u := range units {
		out = append(out, u.path)
	}
	return out
}

func TestADependencyReachedByManyWaysIsHandedOnOnce(t *testing.T) {
	leaf := summary(t, "m/leaf", 1)
	mids := []*Summary{leaf}
	for i := range 20 {
		mids = append(mids, summary(t, fmt.Sprintf("m/mid%d", i), 1, leaf))
	}
	if got := paths(merged(t, mids...)); len(got) != 21 {
		t.Errorf("of 21 packages there are %d units: %v", len(got), got)
	}
}

func TestAPackageWithoutFunctionsIsHandedToItsImportersOnly(t *testing.T) {
	bare := summary(t, "m/bare", 0)
	if got := paths(merged(t, bare)); len(got) != 1 {
		t.Errorf("its importer gets %v", got)
	}
	if got := paths(merged(t, summary(t, "m/mid", 1, bare))); len(got) != 1 || got[0] != "m/mid" {
		t.Errorf("the importer's importer gets %v", got)
	}
}

func TestPackagesOfOnePathThatDifferAreBothHandedOn(t *testing.T) {
	plain, tested := summary(t, "m/a", 1), summary(t, "m/a", 2)
	if got := paths(merged(t, plain, tested, plain)); len(got) != 2 {
		t.Errorf("got %v, want the package as it is and as its test compiles it", got)
	}
}

func TestASummaryThatIsCutShortIsAnError(t *testing.T) {
	whole := summary(t, "m/a", 1)
	for n := 1; n < len(whole.Data); n++ {
		var f facts
		if err := f.add(Summary{Data: whole.Data[:n]}); err == nil {
			t.Errorf("the first %d of %d bytes are taken for a summary", n, len(whole.Data))
		}
	}
}

func TestAUnitConcernsRulesByWhatTheyBeginWith(t *testing.T) {
	in := func(f Func) *Unit { return &Unit{Path: "m/a", Funcs: []*Func{&f}} }
	does := func(is ...Instr) *Unit { return in(Func{Blocks: []Block{{Instrs: is}}}) }
	calls := func(c Call) *Unit { return does(Instr{Op: OpCall, Call: &c}) }
	msg, batch := &Type{Msg: true}, &Type{Batch: true}
	uuid := "github.com/google/uuid.NewString"
	for name, u := range map[string]*Unit{
		"a message as a parameter":      in(Func{Params: []Param{{T: msg}}}),
		"a message as a result":         in(Func{Results: []*Type{msg}}),
		"a batch as a value":            does(Instr{Op: OpCopy, T: batch}),
		"a message from a call":         calls(Call{Res: []*Type{msg}}),
		"a message from a select":       does(Instr{Op: OpSelect, S: string(rune(selMessage))}),
		"a client's function":           calls(Call{Pkg: "github.com/segmentio/kafka-go", Recv: "Reader", Name: "ReadMessage"}),
		"a random UUID":                 calls(Call{Pkg: "github.com/google/uuid", Name: "NewString"}),
		"a maker of UUIDs as a value":   in(Func{Consts: []Const{{Kind: CFunc, S: uuid}}}),
		"a maker of UUIDs in a field":   {Edges: []Edge{{Dst: "F|m/a.T|newID", Src: "f|" + uuid}}},
		"a maker of UUIDs in a package": {Globals: []Global{{Name: "m/a.newID", C: Const{Kind: CFunc, S: uuid}}}},
		"an event id's name":            in(Func{Consts: []Const{{Kind: CString, S: "event-id"}}}),
		"a statement in a function":     in(Func{Consts: []Const{{Kind: CString, S: "INSERT INTO inbox (event_id) VALUES ($1)"}}}),
		"a statement in a variable":     {Globals: []Global{{C: Const{Kind: CString, S: "DELETE FROM inbox WHERE seen_at < $1"}}}},
		"a statement of the package":    {SQL: []SQLText{{Text: "CREATE TABLE inbox (event_id uuid)"}}},
		"an ORM's insert":               calls(Call{Pkg: "gorm.io/gorm", Recv: "DB", Name: "Create"}),
		"a bus's handler":               {Edges: []Edge{{Dst: "N|github.com/ThreeDotsLabs/watermill/components/cqrs.EventHandler", Src: "t|m/a.T"}}},
		"what ent has generated":        in(Func{Name: "IsConstraintError", Gen: true}),
	} {
		if !concerns(u, nil) {
			t.Errorf("%s concerns no rule", name)
		}
	}
	plain := &Unit{Path: "m/a", Ignores: []*rule.Directive{{}}, Edges: []Edge{{Dst: "F|m/a.T|f", Src: "f|strings.ToUpper"}}, Funcs: []*Func{{
		Params: []Param{{T: &Type{Kind: KString}}, {}}, Results: []*Type{nil}, Consts: []Const{{Kind: CString, S: "select"}, {Kind: CFunc, S: "strings.ToUpper"}},
		Blocks: []Block{{Instrs: []Instr{{Op: OpCall, Call: &Call{Pkg: "net/http", Recv: "Client", Name: "Do"}}, {Op: OpSelect, S: string(rune(selOther))}}}},
	}}}
	if concerns(plain, nil) {
		t.Error("a package that holds nothing of the kind concerns a rule")
	}
}

func TestWhatIsConfiguredMayConcernRulesAnywhere(t *testing.T) {
	for name, c := range map[string]know.Config{
		"messages": {Messages: []string{"m/bus.Message"}}, "handlers": {Handlers: []string{"m/bus.Handler"}},
		"clients": {Clients: []string{"m/bus.Get=poll"}}, "event ids": {EventIDs: []string{"delivery"}},
	} {
		if !c.Begins() {
			t.Errorf("a rule does not begin with configured %s", name)
		}
	}
	if (know.Config{Trust: []string{"m/a"}, MoneyWords: []string{"disburse"}}).Begins() {
		t.Error("a rule begins with what is trusted, or with a word for money")
	}
}
