// Command idemlint finds Kafka consumers that would do their work twice. It is a linter of its own and a tool of go
// vet in one binary; the rules are in the analyzers package, and `idemlint help` lists them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/cli"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/vettool"
)

func main() {
	args := os.Args[1:]
	if vettool.Asked(args) {
		vettool.Main(ruleSet(), args, vettool.Options{})
	}
	os.Exit(standalone(args))
}

func standalone(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tool, err := os.Executable()
	if err != nil {
		fmt.Fprintf(os.Stderr, "idemlint: finding this binary: %v\n", err)
		return cli.ExitError
	}
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "idemlint: finding the current directory: %v\n", err)
		return cli.ExitError
	}
	command := cli.Command{Rules: ruleSet(), Tool: tool, Dir: dir, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
	return command.Run(ctx, args)
}
