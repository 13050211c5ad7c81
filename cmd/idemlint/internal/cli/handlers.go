package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/report"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// handlers prints the inventory. Whatever it holds, the exit status is 0 when everything was analysed.
func (c Command) handlers(ctx context.Context, args []string) (int, error) {
	call, err := c.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return ExitClean, c.help([]string{"handlers"})
	}
	if err != nil {
		return ExitError, err
	}
	o := &call.output
	if len(call.rules) > 0 || o.fix || o.diff || o.baseline != "" || o.newFromRev != "" {
		return ExitError, fmt.Errorf("handlers lists all handlers, with or without findings; -rules, -fix, -diff, -baseline and -new-from-rev "+
			"are for findings: %s ./...", rules.Analyzer)
	}
	format, ok := report.HandlerFormat(o.rendering().Name)
	if !ok {
		return ExitError, fmt.Errorf("handlers are shown as text, json or html, and findings as %s: %s -format %[1]s ./...", o.rendering().Name, rules.Analyzer)
	}
	dir := c.Dir
	if call.dir != "" {
		dir = absolute(c.Dir, call.dir)
	}
	if err := checkDirs(dir, call); err != nil {
		return ExitError, err
	}
	if err := c.configure(call, dir); err != nil {
		return ExitError, err
	}
	meter := c.newMeter()
	defer meter.stop()
	linter := c.linter(call, dir, meter)
	result, handlers, err := linter.Handlers(ctx, call.patterns)
	if err != nil {
		return ExitError, wrongTree(err, dir, call.patterns)
	}
	if err := wrongPattern(result, dir, call.patterns); err != nil {
		return ExitError, err
	}
	c.sayStrays(ctx, call, linter, result, meter)
	meter.stop()
	r := &run{Command: c, call: call, linter: linter, meter: meter}
	rep, err := r.report(result)
	if err != nil {
		return ExitError, err
	}
	var out bytes.Buffer
	if err := format.Write(&out, rep, handlers); err != nil {
		return ExitError, err
	}
	if err := r.deliver(out.Bytes()); err != nil {
		return ExitError, err
	}
	r.complain(result)
	return r.status(result), nil
}
