package flow

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// fileKind is what is known of the file that a value is, or writes to.
type fileKind uint8

const (
	fileNone  fileKind = iota
	fileAdds           // what is written is added to it
	fileWhole          // it is written from its beginning: again, it holds the same
	fileAside          // a scratch file, a log, the standard output
)

// files opens files, wraps writers around them, and writes.
func (w *walker) files(ins *Instr, row *know.Row, full []*Value, recv *Value, args []*Value) []exit {
	c := ins.Call
	switch row.Kind {
	case know.FileOpen:
		v := &Value{K: VNotNil, file: opened(c, at(args, row.Arg), at(args, row.Arg2))}
		if t := w.deep(at(args, row.Arg)); v.file == fileWhole && t.has(FromFresh|FromV4) {
			v.file = fileAdds // another file each time
		}
		return []exit{{fit(c, v, nilVal), w.st}}
	case know.WriterOver:
		k := fileNone
		for _, a := range append([]*Value{at(args, row.Arg)}, w.variadic(args, row.Arg)...) {
			if f := w.writesTo(a); k == fileNone || f == fileAdds {
				k = f
			}
		}
		out := w.library(ins, full)
		if k != fileNone {
			for i := range out {
				vals := append([]*Value(nil), out[i].vals...)
				vals[0] = &Value{K: VNotNil, file: k}
				out[i].vals = fit(c, vals[0], nilVal)
			}
		}
		return out
	}
	desc := "write to a file by " + c.Recv + dot(c.Recv) + c.Name
	if c.Recv == "" && strings.HasSuffix(c.Name, "WriteFile") {
		var t Taint
		for _, a := range args {
			t = t.join(w.deep(a))
		}
		if t.has(FromFresh | FromV4) {
			w.effect(ins, EffFile, desc, nil)
		} else {
			w.naturally(ins, EffFile, desc, "", nil) // the whole file, with what the event says
		}
		return w.quiet(ins)
	}
	dst := recv
	if row.Arg >= 0 {
		dst = at(args, row.Arg)
	}
	k := fileNone
	if dst != nil {
		k = w.writesTo(dst)
	}
	if c.Recv == "File" && k == fileNone {
		k = fileAdds
	}
	if logName(w.fn.Name) || dst != nil && logName(lastPart(slotName(dst))) {
		k = fileAside
	}
	switch k {
	case fileNone:
		return w.written(ins, full, dst, args)
	case fileWhole:
		w.naturally(ins, EffFile, desc, "", nil)
	case fileAdds:
		w.effect(ins, EffFile, desc, nil)
	}
	return w.quiet(ins)
}

// written is a write to something that is no file: what is written is in it.
func (w *walker) written(ins *Instr, full []*Value, dst *Value, args []*Value) []exit {
	switch {
	case dst == nil || dst == top:
	case ins.Call.Pkg == "fmt":
		var t Taint
		for _, a := range args[1:] {
			t = t.join(w.deep(a))
		}
		w.putInto(dst, t)
		switch rest := w.variadic(args, 1); {
		case ins.Call.Name == "Fprintf" && len(args) > 1:
			w.writesText(ins, dst, text(w.sprintf(args[1], w.variadic(args, 2))))
		case ins.Call.Name == "Fprint" && len(rest) == 1:
			w.writesText(ins, dst, text(rest[0]))
		default:
			w.writesText(ins, dst, holeText)
		}
		return w.silent(ins, full)
	case ins.Call.Pkg == "io" && (ins.Call.Name == "Write" || ins.Call.Name == "WriteString"):
		w.putInto(dst, w.deep(at(args, len(args)-1)))
		w.writesText(ins, dst, text(at(args, len(args)-1)))
		return w.quiet(ins)
	}
	return w.library(ins, full)
}

// writesTo says what file a value is or writes to: one that the code that runs has opened, or one that is kept in a field.
func (w *walker) writesTo(v *Value) fileKind {
	if k := fileOf(v); k != fileNone || v.Dyn != "" {
		return k
	}
	s := slotName(v)
	if s == "" || s[0] != 'F' && s[0] != 'G' {
		return fileNone
	}
	bs := w.in.prog.sources(s)
	for _, b := range bs {
		if b.Type != "os.File" {
			return fileNone
		}
	}
	if len(bs) == 0 {
		return fileNone
	}
	return fileAdds
}

// fileOf says what file a value is or writes to.
func fileOf(v *Value) fileKind {
	switch {
	case v.file != fileNone:
		return v.file
	case v.Dyn != "os.File" || v.K == VNil:
		return fileNone
	}
	if s := slotName(v); s == "G|os.Stdout" || s == "G|os.Stderr" || v.O != nil && (v.O.Name == "os.Stdout" || v.O.Name == "os.Stderr") {
		return fileAside
	}
	return fileAdds
}

// opened says what writing to a file does that a call opens.
func opened(c *Call, path, flags *Value) fileKind {
	const truncate = 0o1000
	switch {
	case strings.Contains(c.Name, "Temp"), logFile(path):
		return fileAside
	case c.Name == "Create", flags.K == VInt && flags.I&truncate != 0:
		return fileWhole
	}
	return fileAdds
}

// logFile reports whether a path is that of a log.
func logFile(path *Value) bool {
	if path.K != VStr {
		return false
	}
	p := strings.ToLower(path.S)
	return strings.HasSuffix(p, ".log") || strings.HasPrefix(p, "/var/log/")
}

// isWriter reports whether a type is a writer over another one.
func isWriter(t types.Type) bool {
	switch typeName(t) {
	case "encoding/json.Encoder", "encoding/xml.Encoder", "encoding/gob.Encoder", "encoding/csv.Writer", "bufio.Writer", "compress/gzip.Writer":
		return true
	}
	return false
}

// writerOver is what a function puts a writer over.
func writerOver(fn *ssa.Function, args []ssa.Value) ssa.Value {
	if fn.Pkg == nil || fn.Signature.Recv() != nil {
		return nil
	}
	row := know.Lookup(know.Sym{Pkg: know.Normal(fn.Pkg.Pkg.Path()), Name: fn.Name()})
	if row == nil || row.Kind != know.WriterOver || row.Arg >= len(args) {
		return nil
	}
	return args[row.Arg]
}

// standardStream reports whether a value is the standard output or error.
func standardStream(v ssa.Value) bool {
	u, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	g, ok := u.X.(*ssa.Global)
	return ok && g.Pkg != nil && g.Pkg.Pkg.Path() == "os" && (g.Name() == "Stdout" || g.Name() == "Stderr")
}
