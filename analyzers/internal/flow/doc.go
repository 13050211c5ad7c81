// Package flow is the engine: it turns functions into a small program text of their own, joins those texts across
// packages, and runs them on what a redelivered message would find. It knows libraries through package know, SQL
// through package sqltext, and no rule: rules ask it questions.
//
// How it works. Each package's functions are lowered from SSA to the instructions of this package ([Func]), which hold
// only what the questions need and can travel as a fact. A [Program] is every function in sight: the package's own
// and those of its dependencies' facts. The interpreter runs a handler on abstract values. It runs it in worlds: in
// the world of a duplicate every processed-event check answers "already there", since the first delivery completed;
// an effect that is still reached is one that happens twice. No shape of check has to be recognised: what a check
// does decides, wherever in helpers, closures, middleware or other packages it stands.
//
// It may not import a rule, and it may not guess: a callee that cannot be seen answers anything.
package flow
