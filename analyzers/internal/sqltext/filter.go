package sqltext

import "strings"

// MayBeSQL tells, cheaply and without allocating, whether a text can be SQL: behind white space, comments and
// unknown pieces it starts with a word that a statement starts with. Prose that starts so passes; Parse calls it
// Unknown.
func MayBeSQL(s string) bool {
	if len(s) < 5 {
		return false
	}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '(' || c == ';' || c == Hole:
			i++
		case strings.HasPrefix(s[i:], "--") || c == '#' && strings.HasPrefix(s[i:], "# "):
			i = lineEnd(s, i)
		case strings.HasPrefix(s[i:], "/*"):
			i = blockCommentEnd(s, i)
		case strings.HasPrefix(s[i:], "{{"):
			n := strings.Index(s[i:], "}}")
			if n < 0 {
				return false
			}
			i += n + 2
		case c == '\xef' && strings.HasPrefix(s[i:], "\ufeff"):
			i += len("\ufeff")
		default:
			return startsLikeSQL(s[i:])
		}
	}
	return false
}

// startsLikeSQL looks at the first word.
func startsLikeSQL(s string) bool {
	end := nameEnd(s, 0)
	if end < 2 || end > longestKeyword {
		return false
	}
	switch keywordOf(s[:end]) {
	case kwInsert, kwUpdate, kwDelete, kwSelect, kwWith, kwCreate, kwAlter, kwDrop, kwMerge, kwReplace, kwTruncate,
		kwCopy, kwCall, kwDo:
		return end < len(s) && !isWordBreak(s[end])
	case kwBegin, kwCommit, kwRollback, kwSavepoint, kwStart, kwSet, kwExplain, kwValues, kwTable, kwEnd:
		return strings.IndexByte(s, ';') >= 0 || len(s) < 40 && end < len(s)
	case kwNone:
		switch strings.ToLower(s[:end]) {
		case "pragma", "use", "lock", "grant", "comment":
			return strings.IndexByte(s, ';') >= 0
		}
	}
	return false
}

// isWordBreak tells characters that do not follow the first word of a statement: "insert-only", "update.sql".
func isWordBreak(c byte) bool { return strings.IndexByte("-.,:/_=!?)]}>", c) >= 0 }
