package finding

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
)

// A Functions tells which declaration a position stands in, reading each file once. The zero value is ready to use.
type Functions struct {
	files map[string]*parsed
}

type parsed struct {
	fset *token.FileSet
	file *ast.File
}

// Of is the name of the function, method ("Type.Method") or package variable whose declaration spans a position. It is
// empty outside of these, in files that are not Go, and in files that cannot be read or parsed.
func (fs *Functions) Of(p Position) string {
	if filepath.Ext(p.File) != ".go" {
		return ""
	}
	in, ok := fs.files[p.File]
	if !ok {
		fset := token.NewFileSet()
		if file, err := parser.ParseFile(fset, p.File, nil, parser.ParseComments|parser.SkipObjectResolution); err == nil {
			in = &parsed{fset, file}
		}
		if fs.files == nil {
			fs.files = make(map[string]*parsed)
		}
		fs.files[p.File] = in
	}
	if in == nil {
		return ""
	}
	for _, d := range in.file.Decls {
		if in.spans(d, p.Line) {
			return in.name(d, p.Line)
		}
	}
	return ""
}

// spans tells whether a line is in a declaration or its comment. //line directives do not count: they are about files
// that are generated from others.
func (in *parsed) spans(n ast.Node, line int) bool {
	from, to := n.Pos(), n.End()
	switch d := n.(type) {
	case *ast.FuncDecl:
		if d.Doc != nil {
			from = d.Doc.Pos()
		}
	case *ast.GenDecl:
		if d.Doc != nil {
			from = d.Doc.Pos()
		}
	}
	return in.line(from) <= line && line <= in.line(to)
}

func (in *parsed) line(p token.Pos) int { return in.fset.PositionFor(p, false).Line }

func (in *parsed) name(d ast.Decl, line int) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || len(d.Recv.List) == 0 {
			return d.Name.Name
		}
		return receiver(d.Recv.List[0].Type) + "." + d.Name.Name
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if v, ok := s.(*ast.ValueSpec); ok && in.spans(v, line) {
				return v.Names[0].Name
			}
		}
	}
	return ""
}

// receiver is the name of a receiver's type, without the star and type parameters, which may change without the method
// becoming another.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.ParenExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	}
	return ""
}
