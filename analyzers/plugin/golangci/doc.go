// Package golangci builds a real golangci-lint with idemlint in it, by the project's .custom-gcl.yml and the command of
// golangci-lint that is for that, and runs it. It is a module of its own, since golangci-lint brings hundreds of others.
package golangci
