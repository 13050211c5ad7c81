package flow

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// mostEmbedded is how large a .sql file may be for its text to travel with the package's summary.
const mostEmbedded = 64 << 10

// embedded returns the string variables of a package that hold a .sql file by //go:embed. The go command counts the
// file among the package's inputs, so what is cached goes by it.
func embedded(pass *analysis.Pass, files []*ast.File) []Global {
	var out []Global
	for _, f := range files {
		dir := filepath.Dir(pass.Fset.Position(f.Package).Filename)
		for _, d := range f.Decls {
			gd, ok := d.(*ast.GenDecl)
			if !ok || gd.Tok != token.VAR {
				continue
			}
			for _, s := range gd.Specs {
				vs := s.(*ast.ValueSpec)
				doc := vs.Doc
				if doc == nil && len(gd.Specs) == 1 {
					doc = gd.Doc
				}
				if name := embedPattern(doc); name != "" && len(vs.Names) == 1 && isStringVar(pass, vs.Names[0]) {
					if text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))); err == nil && len(text) <= mostEmbedded {
						out = append(out, Global{Name: pass.Pkg.Path() + "." + vs.Names[0].Name, C: Const{Kind: CString, S: string(text)}})
					}
				}
			}
		}
	}
	return out
}

// embedPattern is the one .sql file that a comment embeds.
func embedPattern(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	for _, c := range doc.List {
		if rest, ok := strings.CutPrefix(c.Text, "//go:embed "); ok {
			name := strings.Trim(strings.TrimSpace(rest), "\"`")
			if strings.HasSuffix(name, ".sql") && !strings.ContainsAny(name, "*?[ ") {
				return name
			}
		}
	}
	return ""
}

func isStringVar(pass *analysis.Pass, id *ast.Ident) bool {
	o := pass.TypesInfo.Defs[id]
	if o == nil {
		return false
	}
	b, ok := o.Type().Underlying().(*types.Basic)
	return ok && b.Kind() == types.String
}
