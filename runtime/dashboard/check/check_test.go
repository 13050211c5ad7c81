package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"go.yaml.in/yaml/v3"
)

// A question is one PromQL expression and where it stands.
type question struct{ where, expr string }

var variable = regexp.MustCompile(`\$\{?(\w+)\}?`)

// substitute puts something valid in the place of Grafana's variables.
func substitute(t *testing.T, where, expr string) string {
	t.Helper()
	return variable.ReplaceAllStringFunc(expr, func(v string) string {
		switch strings.Trim(v, "${}") {
		case "__rate_interval":
			return "5m"
		case "group", "topic":
			return ".*"
		default:
			t.Errorf("%s: variable %s is not one of the dashboard", where, v)
			return v
		}
	})
}

var labelValues = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)

func dashboard(t *testing.T) []question {
	t.Helper()
	text, err := os.ReadFile("../grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dash struct {
		Panels []struct {
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
	}
	if err := json.Unmarshal(text, &dash); err != nil {
		t.Fatal(err)
	}
	var out []question
	for _, p := range dash.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q asks nothing", p.Title)
		}
		for _, target := range p.Targets {
			out = append(out, question{"panel " + p.Title, substitute(t, p.Title, target.Expr)})
		}
	}
	for _, v := range dash.Templating.List {
		if v.Type != "query" {
			continue
		}
		parts := labelValues.FindStringSubmatch(v.Definition)
		if parts == nil {
			t.Errorf("variable %s is %q, no label_values", v.Name, v.Definition)
			continue
		}
		out = append(out, question{"variable " + v.Name, fmt.Sprintf("count by (%s) (%s)", parts[2], substitute(t, v.Name, parts[1]))})
	}
	return out
}

func rules(t *testing.T) []question {
	t.Helper()
	text, err := os.ReadFile("../alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var out []question
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			out = append(out, question{"rule " + r.Alert, r.Expr})
		}
	}
	return out
}

// A demand is a label that an expression names on a metric, with the value it must have, if any. The metric's name
// itself is the label __name__.
type demand struct{ metric, label, value string }

// demands returns what an expression asks of its metrics: in selectors, and in the aggregations around them.
func demands(t *testing.T, q question) []demand {
	t.Helper()
	parsed, err := metricsql.Parse(q.expr)
	if err != nil {
		t.Errorf("%s: %q: %v", q.where, q.expr, err)
		return nil
	}
	return collect(parsed, nil)
}

func collect(e metricsql.Expr, grouping []string) []demand {
	var out []demand
	switch e := e.(type) {
	case *metricsql.MetricExpr:
		for _, filters := range e.LabelFilterss {
			out = append(out, selected(filters, grouping)...)
		}
	case *metricsql.RollupExpr:
		out = collect(e.Expr, grouping)
	case *metricsql.FuncExpr:
		for _, arg := range e.Args {
			out = append(out, collect(arg, grouping)...)
		}
	case *metricsql.AggrFuncExpr:
		for _, arg := range e.Args {
			out = append(out, collect(arg, append(slices.Clone(grouping), e.Modifier.Args...))...)
		}
	case *metricsql.BinaryOpExpr:
		out = append(collect(e.Left, grouping), collect(e.Right, grouping)...)
	}
	return out
}

func selected(filters []metricsql.LabelFilter, grouping []string) []demand {
	var metric string
	for _, f := range filters {
		if f.Label == "__name__" {
			metric = f.Value
		}
	}
	out := []demand{{metric, "__name__", ""}}
	for _, label := range grouping {
		out = append(out, demand{metric, label, ""})
	}
	for _, f := range filters {
		switch {
		case f.Label == "__name__":
		case f.Value == ".*":
			out = append(out, demand{metric, f.Label, ""})
		default:
			for value := range strings.SplitSeq(f.Value, "|") {
				out = append(out, demand{metric, f.Label, value})
			}
		}
	}
	return out
}

func (s series) meets(d demand) error {
	labels, ok := s[d.metric]
	if !ok {
		return fmt.Errorf("no metric %s is emitted", d.metric)
	}
	if d.label == "__name__" {
		return nil
	}
	values, ok := labels[d.label]
	if !ok {
		return fmt.Errorf("%s has no label %s but %q", d.metric, d.label, slices.Sorted(maps.Keys(labels)))
	}
	if d.value != "" && !slices.Contains(values, d.value) {
		return fmt.Errorf("label %s of %s is never %q but %q", d.label, d.metric, d.value, values)
	}
	return nil
}

func family(metric string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		metric = strings.TrimSuffix(metric, suffix)
	}
	return metric
}

func TestTheDashboardAndTheRulesAskForWhatIsEmitted(t *testing.T) {
	emitted := emit(t)
	shown := make(map[string]bool)
	n := 0
	for _, q := range slices.Concat(dashboard(t), rules(t)) {
		wanted := demands(t, q)
		if len(wanted) == 0 {
			t.Errorf("%s asks for no metric", q.where)
		}
		for _, d := range wanted {
			n++
			shown[family(d.metric)] = true
			if err := emitted.meets(d); err != nil {
				t.Errorf("%s: %v", q.where, err)
			}
		}
	}
	for metric := range emitted {
		own := strings.HasPrefix(metric, "idemlint_") || strings.HasPrefix(metric, "messaging_")
		if own && !shown[family(metric)] {
			t.Errorf("%s is emitted but neither on the dashboard nor in a rule", metric)
		}
	}
	t.Logf("%d demands on %d metrics are met", n, len(emitted))
}
