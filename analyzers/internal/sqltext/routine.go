package sqltext

import (
	"regexp"
	"strings"
)

// routine reads CREATE FUNCTION, CREATE PROCEDURE and DO with the statements of the body.
func (p *parser) routine() Kind {
	st := p.st
	do := p.accept(kwDo)
	if !do {
		p.i++
		n, ok := p.name()
		if !ok {
			return Unknown
		}
		st.Routine = n.Name
	}
	body := -1
	for i := p.i; i < p.end; i = p.after(i) {
		if p.toks[i].kind == tokString && (do || p.isKw(i-1, kwAs) || p.src(p.toks[i])[0] == '$') {
			body = i
			break
		}
	}
	if body < 0 && (do || !p.isOpen(p.i)) {
		return Unknown
	}
	if body >= 0 {
		st.Body = p.embedded(p.toks[body])
	}
	p.i = p.end
	return Routine
}

// createEvent reads MySQL's CREATE EVENT ... ON SCHEDULE ... DO statement.
func (p *parser) createEvent() Kind {
	do := p.seek(p.i, func(_ int, t token) bool { return t.kw == kwDo })
	on := p.seek(p.i, func(i int, t token) bool { return t.kw == kwOn && p.isWord(i+1, "schedule") })
	if do+1 >= p.end || on > do {
		return Unknown
	}
	inner := Statement{}
	p.read(&inner, p.bodyStart(do+1, p.end), p.end)
	p.st.Body = []Statement{inner}
	p.i = p.end
	return Schedule
}

// bodyStart finds where the statement proper starts in a piece of a procedural body: behind BEGIN, THEN, ELSE, LOOP.
func (p *parser) bodyStart(lo, hi int) int {
	p.end = hi
	for i := lo; i+1 < hi; i = p.after(i) {
		if !p.isKw(i, kwBegin) && !p.isKw(i, kwThen) && !p.isKw(i, kwElse) && !p.isWord(i, "loop") {
			continue
		}
		switch p.toks[i+1].kw {
		case kwInsert, kwUpdate, kwDelete, kwWith, kwDrop, kwAlter, kwTruncate, kwCreate, kwSelect, kwMerge, kwCall:
			return i + 1
		}
		if p.isWord(i+1, "execute") || p.isWord(i+1, "perform") {
			return i + 1
		}
	}
	return lo
}

// formatPieces are what PostgreSQL's format puts names and literals in place of. %s is a piece anyway.
var formatPieces = regexp.MustCompile(`%(\d+\$)?[IL]`)

// dynamic reads EXECUTE 'statement' and EXECUTE format('statement', ...). The pieces format fills in are holes.
func (p *parser) dynamic() Kind {
	i := p.i + 1
	if p.isWord(i, "format") && p.isOpen(i+1) {
		i += 2
	}
	kind := Other
	if i < p.end {
		if t := p.toks[i]; t.kind == tokString {
			kind = Routine
			text := unquote(p.src(t))
			if i+1 < p.end && p.toks[i+1].kind == tokOp {
				text += string(rune(Hole)) // 'DROP TABLE t_' || suffix
			}
			text = formatPieces.ReplaceAllString(text, string(rune(Hole)))
			base := p.base + int(t.lo)
			p.st.Body = parseAt(text, base, p.lineOf(base), p.depth+1)
		}
	}
	p.i = p.end
	return kind
}

// embedded parses the statements in a string literal, those of a procedural body too.
func (p *parser) embedded(t token) []Statement {
	src := p.src(t)
	text := unquote(src)
	base := p.base + int(t.lo) + strings.Index(src, text[:min(len(text), 1)])
	if src[0] == '$' {
		base = p.base + int(t.lo) + (len(src)-len(text))/2
	}
	return parseAt(text, base, p.lineOf(base), p.depth+1)
}

// call reads CALL f(...).
func (p *parser) call() Kind {
	p.i++
	n, ok := p.name()
	if !ok {
		return Unknown
	}
	p.st.Routine = n.Name
	if lo, hi, ok := p.group(); ok {
		p.other(lo, hi)
	}
	return Call
}

// calls looks for the functions in a SELECT's list that have the database do something.
func (p *parser) calls() Kind {
	st := p.st
	for _, o := range st.Outputs {
		switch e := o.Value; e.Func {
		case "schedule", "schedule_in_database":
			// cron.schedule([name,] schedule, command), cron.schedule_in_database(name, schedule, command, ...)
			command := min(len(e.args), 3) - 1
			if command > 0 && strings.HasPrefix(strings.ToLower(e.Text), "cron.") {
				p.schedule(e.args[command])
				return Schedule
			}
		case "create_parent", "add_retention_policy", "run_maintenance", "run_maintenance_proc":
			st.Routine = e.Func
			if len(e.args) > 0 {
				st.Table = qualified(e.args[0].Literal.Value)
			}
			return PartitionCare
		case "drop_chunks":
			if len(e.args) > 0 {
				st.Table = qualified(e.args[0].Literal.Value)
				return DropPartition
			}
		}
	}
	if len(st.Outputs) == 1 && len(st.From) == 0 {
		st.Routine = st.Outputs[0].Value.Func
	}
	return Select
}

// schedule parses the command of cron.schedule.
func (p *parser) schedule(command Expr) {
	for _, t := range p.toks {
		if t.kind == tokString && p.base+int(t.lo) == command.Offset {
			p.st.Body = p.embedded(t)
			return
		}
	}
}

// qualified splits the name in a string such as 'public.processed_event'.
func qualified(s string) Name {
	schema, name, ok := strings.Cut(s, ".")
	if !ok {
		return Name{Name: strings.Trim(s, `"`)}
	}
	return Name{Schema: strings.Trim(schema, `"`), Name: strings.Trim(name, `"`)}
}
