package oracle_test

import (
	"flag"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

var (
	mutants = flag.Int("mutants", 20_000, "how many statements to make up from pieces of the corpus")
	seed    = flag.Uint64("seed", 1, "of the statements made up")
)

// piece splits a statement into tokens with the space before them; good enough to put statements together anew.
var piece = regexp.MustCompile(`\s*(?:'(?:[^']|'')*'|"[^"]*"|\$\w*\$[\s\S]*?\$\w*\$|\$?\w+|::|[<>=!|@~-]+|[\s\S])`)

// cut marks where a stretch can begin or end that is likely to fit elsewhere.
var cut = regexp.MustCompile(`(?i)^\s*(?:[,()=]|and|or|where|set|from|select|values|returning|on|using|then|else|when|by|as|into|default|add|drop|limit|union|not|for)$`)

// stretch picks tokens between two cuts with balanced brackets; all of them when it finds none.
func stretch(r *rand.Rand, s []string) (lo, hi int) {
	for range 20 {
		lo = r.IntN(len(s))
		if lo > 0 && !cut.MatchString(s[lo-1]) {
			continue
		}
		depth, ends := 0, []int(nil)
		for i := lo; i < len(s) && depth >= 0; i++ {
			if depth == 0 && i > lo && cut.MatchString(s[i]) {
				ends = append(ends, i)
			}
			switch strings.TrimSpace(s[i]) {
			case "(", "[":
				depth++
			case ")", "]":
				depth--
			}
		}
		if depth == 0 {
			ends = append(ends, len(s))
		}
		if len(ends) > 0 {
			return lo, ends[min(r.IntN(len(ends)), r.IntN(len(ends)))]
		}
	}
	return 0, len(s)
}

// mutant puts one statement together from pieces of others: stretches exchanged for another statement's, left out or
// put before one, now and then a single token.
func mutant(r *rand.Rand, corpus [][]string) string {
	a := corpus[r.IntN(len(corpus))]
	for range 1 + r.IntN(3) {
		if len(a) == 0 {
			break
		}
		b := corpus[r.IntN(len(corpus))]
		lo, hi := stretch(r, a)
		from, to := stretch(r, b)
		switch r.IntN(8) {
		case 0:
			from = to // leave it out
		case 1:
			hi = lo // put it before
		case 2:
			lo = r.IntN(len(a))
			hi, to = lo+1, min(from+1, len(b))
		}
		a = append(append(append([]string(nil), a[:lo]...), b[from:to]...), a[hi:]...)
	}
	return strings.Join(a, "")
}

// mostDiffer is the share of made-up statements, one in so many, on which the two may differ: what is left are
// keywords in the places of names, which exotic and misnamed do not know all of. Every statement of the corpus itself
// must be seen the same.
const mostDiffer = 200

func TestStatementsMadeUpFromPiecesAreSeenTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 0))
	var corpus [][]string
	for _, text := range texts(t) {
		corpus = append(corpus, piece.FindAllString(presentable(text), -1))
	}
	tried, differ := 0, 0
	for range *mutants {
		text := mutant(r, corpus)
		if foreign(text) {
			continue
		}
		n, out := disagreements(text)
		tried += n
		differ += len(out)
		for _, d := range out {
			t.Log(d)
		}
	}
	t.Logf("%d statements made up, %d tried, %d disagreements", *mutants, tried, differ)
	if differ*mostDiffer > tried {
		t.Errorf("%d of %d statements are seen otherwise, more than one in %d", differ, tried, mostDiffer)
	}
	if tried < *mutants/30 {
		t.Errorf("only %d of %d statements were tried", tried, *mutants)
	}
}

// foreign tells texts in which a character means one thing to PostgreSQL and another to the drivers, dialects and
// templates that sqltext reads too: placeholders, verbs, backticks.
func foreign(text string) bool {
	text = strings.NewReplacer("::", "", ":=", "", "@>", "", "<@", "").Replace(text)
	for _, name := range names.FindAllString(text, -1) {
		if len(name) > longestName {
			return true
		}
	}
	return strings.ContainsAny(text, "`?%{}\\#:@\x00") || dollarName.MatchString(text) || exotic.MatchString(text) || misnamed(text) || typedParam.MatchString(keywordParam.ReplaceAllString(text, ""))
}

// longestName is what PostgreSQL keeps of a name, in bytes. MySQL takes no longer one, SQLite keeps it whole.
const longestName = 63

var (
	names      = regexp.MustCompile(`[\w$[:^ascii:]]+|"[^"]*"`)
	dollarName = regexp.MustCompile(`\$[a-zA-Z_]`)
	// exotic is what PostgreSQL takes and nobody writes: type modifiers that are expressions, typed literals of a
	// qualified type, fields of a parameter, a field of a column that is called like the table, a number called OR, the parameter $0, one beyond $65535 that no statement can have,
	// a SELECT of nothing, or of t *, whose LIMIT begins with an operator (MySQL has columns of that name).
	exotic = regexp.MustCompile(`(?i)numeric\s*\((\s*\d+\s*,)?\s*[a-z(]|\.\w+\s+'|\$\d+\.|\bset\s+t\.|[(,]\s*t\.\w+\s*[,)]|operator\(|\w\((\d+|\$1)\)|\(\s*\(values|(alter|schema|index)\s+key|\)\s*\(values|^do\s+language|using\d|\.\*\s*=|\(\s*\(\$|limit\s+exists|returning.*\btrue\s+\w|\blower\(\s*\d|[\s,]t\.\w+\s*=|[a-z]\s*'[^']*'\s+'|returning[^()]*\b(end|asc|default)\b|as\s+where|"\."[^"]*"\s*=|add\s+partition|procedure\s+update|update\s+ignore|as\s+\w+\(\d+,\s*[^\d\s]|values.*order by|\d\s+(or|and|not|in|is)\s+(limit|from|where|group|order|for|;|$)|\$0|\$\d{6}|(select|\*)\s*(limit|offset|fetch|window)\s*[^\s\w(]`)
	// typedParam is what only this build of the parser takes: a parameter where a literal would follow its type.
	typedParam   = regexp.MustCompile(`(?i)([\w$][\s\v]+|["")][\s\v]*)\$\d`)
	keywordParam = regexp.MustCompile(`(?i)\b(and|or|not|select|in|like|between|when|then|else|limit|offset|set|from|by|values|case|distinct|default|any|all|interval|is|ilike|where|returning|on)[\s\v]+\$\d`)
)

// misnamed tells texts in which a keyword stands where a name would: PostgreSQL sorts that out, and nobody does it.
func misnamed(text string) bool {
	tokens := piece.FindAllString(strings.ToLower(text), -1)
	at := func(i int) string {
		if i < 0 || i >= len(tokens) {
			return ""
		}
		return strings.TrimSpace(tokens[i])
	}
	for i := range tokens {
		word, before, after := at(i), at(i-1), at(i+1)
		if !keywordAsName.MatchString(word) {
			continue
		}
		call := after == "(" || after == "["
		switch {
		case namePlace.MatchString(before) && !(call && (before == "," || before == "=")):
			return true
		case after == "," || after == ")" && word != "null" || after == "" || after == "=":
			return true
		case word == "values" && !call && before != "default", word == "exists" && !call && before != "if" && before != "not":
			return true
		case before == ")" && (word == "select" || word == "insert" || word == "update"):
			return true
		}
	}
	return false
}

var (
	keywordAsName = regexp.MustCompile(`^(values|exists|nulls|set|update|insert|delete|select|abort|in|and|or|key|row|by|current_date|index|exclude|delete)$`)
	namePlace     = regexp.MustCompile(`^(from|into|join|using|only|table|to|recursive|returning|on|of|update|true|false|\.|,|=)$`)
)
