package sqltext

// keyword numbers the words the recogniser looks for. Other words are names.
type keyword uint8

const (
	kwNone keyword = iota
	kwAbort
	kwAdd
	kwAll
	kwAlter
	kwAnd
	kwAny
	kwArray
	kwAs
	kwAsc
	kwAttach
	kwBegin
	kwBetween
	kwBy
	kwCall
	kwCascade
	kwCase
	kwCast
	kwCheck
	kwCollate
	kwColumn
	kwCommit
	kwConcurrently
	kwConflict
	kwConstraint
	kwCopy
	kwCreate
	kwCross
	kwDefault
	kwDelayed
	kwDelete
	kwDesc
	kwDetach
	kwDistinct
	kwDo
	kwDrop
	kwDuplicate
	kwElse
	kwEnd
	kwEscape
	kwEvent
	kwExcept
	kwExclude
	kwExists
	kwExplain
	kwFalse
	kwFetch
	kwFor
	kwForeign
	kwFrom
	kwFull
	kwFunction
	kwGenerated
	kwGlob
	kwGroup
	kwHaving
	kwHighPriority
	kwIf
	kwIgnore
	kwIlike
	kwIn
	kwInclude
	kwIndex
	kwInner
	kwInsert
	kwIntersect
	kwInterval
	kwInto
	kwIs
	kwIsNull
	kwJoin
	kwKey
	kwLateral
	kwLeft
	kwLike
	kwLimit
	kwLocked
	kwLowPriority
	kwMatched
	kwMaterialized
	kwMerge
	kwNatural
	kwNot
	kwNothing
	kwNotNull
	kwNull
	kwNulls
	kwOf
	kwOffset
	kwOn
	kwOnly
	kwOr
	kwOrder
	kwOuter
	kwOverriding
	kwPartition
	kwPrimary
	kwProcedure
	kwQuick
	kwRecursive
	kwReferences
	kwRegexp
	kwRename
	kwReplace
	kwReturning
	kwRight
	kwRollback
	kwRow
	kwSavepoint
	kwSelect
	kwSet
	kwShare
	kwSimilar
	kwSkip
	kwSome
	kwStart
	kwTable
	kwTemp
	kwThen
	kwTo
	kwTransaction
	kwTrue
	kwTruncate
	kwUnion
	kwUnique
	kwUnknown
	kwUnlogged
	kwUpdate
	kwUsing
	kwValues
	kwWhen
	kwWhere
	kwWindow
	kwWith
)

// longestKeyword is the length of "high_priority".
const longestKeyword = 13

// keywordOf tells which keyword a bare word is, in any case; kwNone when it is none.
func keywordOf(word string) keyword {
	if len(word) < 2 || len(word) > longestKeyword {
		return kwNone
	}
	var buf [longestKeyword]byte
	for i := 0; i < len(word); i++ {
		c := word[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if (c < 'a' || c > 'z') && c != '_' {
			return kwNone
		}
		buf[i] = c
	}
	return keywords[string(buf[:len(word)])]
}

// reserved tells the keywords that cannot be a bare table name or alias, so that they end one.
func (k keyword) reserved() bool {
	switch k {
	case kwAll, kwAnd, kwAny, kwArray, kwAs, kwAsc, kwBetween, kwCase, kwCast, kwCheck, kwCollate, kwColumn, kwConstraint,
		kwCreate, kwCross, kwDefault, kwDesc, kwDistinct, kwElse, kwEnd, kwExcept, kwExists, kwFalse, kwFetch, kwFor,
		kwForeign, kwFrom, kwFull, kwGroup, kwHaving, kwIn, kwInner, kwIntersect, kwInto, kwIs, kwJoin,
		kwLateral, kwLeft, kwLike, kwLimit, kwNatural, kwNot, kwNull, kwOffset, kwOn, kwOnly, kwOr, kwOrder, kwOuter,
		kwPrimary, kwReferences, kwReturning, kwRight, kwSelect, kwSet, kwTable, kwThen, kwTo, kwTrue, kwUnion, kwUnique,
		kwUpdate, kwUsing, kwValues, kwWhen, kwWhere, kwWindow, kwWith:
		return true
	}
	return false
}

var keywords = map[string]keyword{
	"abort":         kwAbort,
	"add":           kwAdd,
	"all":           kwAll,
	"alter":         kwAlter,
	"and":           kwAnd,
	"any":           kwAny,
	"array":         kwArray,
	"as":            kwAs,
	"asc":           kwAsc,
	"attach":        kwAttach,
	"begin":         kwBegin,
	"between":       kwBetween,
	"by":            kwBy,
	"call":          kwCall,
	"cascade":       kwCascade,
	"case":          kwCase,
	"cast":          kwCast,
	"check":         kwCheck,
	"collate":       kwCollate,
	"column":        kwColumn,
	"commit":        kwCommit,
	"concurrently":  kwConcurrently,
	"conflict":      kwConflict,
	"constraint":    kwConstraint,
	"copy":          kwCopy,
	"create":        kwCreate,
	"cross":         kwCross,
	"default":       kwDefault,
	"delayed":       kwDelayed,
	"delete":        kwDelete,
	"desc":          kwDesc,
	"detach":        kwDetach,
	"distinct":      kwDistinct,
	"distinctrow":   kwDistinct,
	"do":            kwDo,
	"drop":          kwDrop,
	"duplicate":     kwDuplicate,
	"else":          kwElse,
	"end":           kwEnd,
	"escape":        kwEscape,
	"event":         kwEvent,
	"except":        kwExcept,
	"exclude":       kwExclude,
	"exists":        kwExists,
	"explain":       kwExplain,
	"false":         kwFalse,
	"fetch":         kwFetch,
	"for":           kwFor,
	"foreign":       kwForeign,
	"from":          kwFrom,
	"full":          kwFull,
	"function":      kwFunction,
	"generated":     kwGenerated,
	"glob":          kwGlob,
	"group":         kwGroup,
	"having":        kwHaving,
	"high_priority": kwHighPriority,
	"if":            kwIf,
	"ignore":        kwIgnore,
	"ilike":         kwIlike,
	"in":            kwIn,
	"include":       kwInclude,
	"index":         kwIndex,
	"inner":         kwInner,
	"insert":        kwInsert,
	"intersect":     kwIntersect,
	"interval":      kwInterval,
	"into":          kwInto,
	"is":            kwIs,
	"isnull":        kwIsNull,
	"join":          kwJoin,
	"key":           kwKey,
	"lateral":       kwLateral,
	"left":          kwLeft,
	"like":          kwLike,
	"limit":         kwLimit,
	"locked":        kwLocked,
	"low_priority":  kwLowPriority,
	"matched":       kwMatched,
	"materialized":  kwMaterialized,
	"merge":         kwMerge,
	"natural":       kwNatural,
	"not":           kwNot,
	"nothing":       kwNothing,
	"notnull":       kwNotNull,
	"null":          kwNull,
	"nulls":         kwNulls,
	"of":            kwOf,
	"offset":        kwOffset,
	"on":            kwOn,
	"only":          kwOnly,
	"or":            kwOr,
	"order":         kwOrder,
	"outer":         kwOuter,
	"overriding":    kwOverriding,
	"partition":     kwPartition,
	"primary":       kwPrimary,
	"procedure":     kwProcedure,
	"quick":         kwQuick,
	"recursive":     kwRecursive,
	"references":    kwReferences,
	"regexp":        kwRegexp,
	"rlike":         kwRegexp,
	"rename":        kwRename,
	"replace":       kwReplace,
	"returning":     kwReturning,
	"right":         kwRight,
	"rollback":      kwRollback,
	"row":           kwRow,
	"savepoint":     kwSavepoint,
	"select":        kwSelect,
	"set":           kwSet,
	"share":         kwShare,
	"similar":       kwSimilar,
	"skip":          kwSkip,
	"some":          kwSome,
	"start":         kwStart,
	"table":         kwTable,
	"temp":          kwTemp,
	"temporary":     kwTemp,
	"then":          kwThen,
	"to":            kwTo,
	"transaction":   kwTransaction,
	"true":          kwTrue,
	"truncate":      kwTruncate,
	"union":         kwUnion,
	"unique":        kwUnique,
	"unknown":       kwUnknown,
	"unlogged":      kwUnlogged,
	"update":        kwUpdate,
	"using":         kwUsing,
	"values":        kwValues,
	"when":          kwWhen,
	"where":         kwWhere,
	"window":        kwWindow,
	"with":          kwWith,
}
