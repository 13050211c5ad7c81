package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// declared is what a package declares, in all its files: those for other systems and its tests, too.
type declared struct {
	funcs map[string]bool // functions, and methods as Type.Method
	types map[string]bool
	open  map[string]bool // types that may have methods by others: they embed one, or are made of one
}

// declaredIn reads the files of a package's directory. What is in a file that cannot be read as Go is not there.
func declaredIn(dir string) (*declared, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("looking for the declarations of a package: %w", err)
	}
	d := &declared{funcs: make(map[string]bool), types: make(map[string]bool), open: make(map[string]bool)}
	files := token.NewFileSet()
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		file, _ := parser.ParseFile(files, filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if file == nil {
			continue
		}
		for _, decl := range file.Decls {
			d.add(decl)
		}
	}
	return d, nil
}

func (d *declared) add(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		name := decl.Name.Name
		if decl.Recv != nil && len(decl.Recv.List) > 0 {
			name = baseName(decl.Recv.List[0].Type) + "." + name
		}
		d.funcs[name] = true
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok {
				d.addType(t)
			}
		}
	}
}

func (d *declared) addType(t *ast.TypeSpec) {
	name := t.Name.Name
	d.types[name] = true
	var fields *ast.FieldList
	switch of := t.Type.(type) {
	case *ast.StructType:
		fields = of.Fields
	case *ast.InterfaceType:
		fields = of.Methods
		for _, m := range of.Methods.List {
			for _, id := range m.Names {
				d.funcs[name+"."+id.Name] = true
			}
		}
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.IndexListExpr, *ast.ParenExpr:
		d.open[name] = true
	}
	if t.Assign.IsValid() {
		d.open[name] = true
	}
	if fields != nil {
		for _, f := range fields.List {
			if len(f.Names) == 0 {
				d.open[name] = true
			}
		}
	}
}

// baseName is the name of a receiver's type.
func baseName(e ast.Expr) string {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}
