package sqltext

import "strings"

// syntax tells whether a word is part of the language here rather than a name.
func (p *parser) syntax(e *Expr, i, hi int) bool {
	t := p.toks[i]
	if i+1 < hi {
		switch n := p.toks[i+1]; {
		case n.kind == tokString: // timestamp '2026-01-01'
			return true
		case n.kind == tokOp && p.src(n) == "=>":
			return true
		case n.kind == tokDot:
			return false
		case p.isKw(i+1, kwFrom) && p.isOpen(i-1) && p.isWord(i-2, "extract"): // extract(epoch from x)
			return true
		}
	}
	switch t.kw {
	case kwNone:
		return p.phrase(i)
	case kwAnd, kwOr, kwNot, kwIs, kwIn, kwLike, kwIlike, kwSimilar, kwBetween, kwCase, kwWhen, kwThen, kwElse, kwEnd,
		kwInterval, kwDistinct, kwFrom, kwEscape, kwNull, kwTrue, kwFalse, kwDefault, kwAs, kwAny, kwAll, kwSome, kwRow,
		kwArray, kwExists, kwIsNull, kwNotNull, kwAsc, kwDesc, kwNulls, kwBy, kwOrder, kwGroup, kwHaving, kwFor, kwUsing,
		kwOn, kwTo, kwSelect, kwWhere, kwCollate, kwRegexp, kwGlob, kwUnknown, kwPartition, kwWith:
		switch {
		case i > 0 && p.toks[i-1].kind == tokDot:
			return false
		case t.kw == kwInterval: // a column's name, too
			k := p.tokAt(i + 1).kind
			return k == tokParam || k == tokNumber || k == tokVerb || k == tokHole || k == tokOp || k == tokWord
		case t.kw == kwRow, t.kw == kwArray:
			return p.tokAt(i+1).kind == tokOpen || p.isWord(i-1, "current")
		case t.kw == kwPartition:
			return p.isKw(i+1, kwBy)
		case t.kw == kwBy: // a column's name, too
			return p.isKw(i-1, kwGroup) || p.isKw(i-1, kwOrder) || p.isKw(i-1, kwPartition)
		}
		return true
	}
	return false
}

// phrase tells words that belong to AT TIME ZONE, INTERVAL 1 DAY, OVER () and the like.
func (p *parser) phrase(i int) bool {
	switch strings.ToLower(p.src(p.toks[i])) {
	case "at", "timestamp", "time":
		// at time zone, timestamp with time zone '...'
		if p.isWord(i+1, "time") || p.isWord(i+1, "zone") || p.isOneOf(i+1, "with", "without") && p.isWord(i+2, "time") {
			return true
		}
	case "zone":
		return p.isWord(i-1, "time")
	case "without":
		return true
	case "within":
		return p.isKw(i+1, kwGroup)
	case "over", "filter":
		return p.isOpen(i + 1)
	case "first", "last":
		return p.isKw(i-1, kwNulls)
	}
	if p.isFrame(i) {
		return true
	}
	// interval 1 day, interval (a + b) day, interval '1' day
	return i > 1 && p.isUnit(i) && (p.isKw(i-2, kwInterval) || p.toks[i-1].kind == tokClose || p.toks[i-1].kind == tokString)
}

// isFrame tells the words of a window's frame, of BETWEEN SYMMETRIC and of trim(BOTH ... FROM ...).
func (p *parser) isFrame(i int) bool {
	switch strings.ToLower(p.src(p.toks[i])) {
	case "preceding", "following", "unbounded":
		return true
	case "current":
		return p.isKw(i+1, kwRow)
	case "rows", "range", "groups":
		return p.isKw(i+1, kwBetween) || p.isOneOf(i+1, "unbounded", "current") || p.tokAt(i+1).kind == tokNumber
	case "both", "leading", "trailing":
		return i > 1 && p.isWord(i-2, "trim")
	case "symmetric", "asymmetric":
		return p.isKw(i-1, kwBetween)
	}
	return false
}

func (p *parser) isUnit(i int) bool {
	for _, w := range [...]string{"microsecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"} {
		if p.isWord(i, w) || p.isWord(i, w+"s") {
			return true
		}
	}
	return false
}
