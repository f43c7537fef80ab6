package tidy

import (
	"go/ast"
	"go/token"
	"strings"
)

// immutable lists constructors whose result nobody can change. Everything else that a package-level variable could
// hold is state, or a seam through which a test changes the program for everyone.
var immutable = map[string][]string{
	"errors":        {"New"},
	"fmt":           {"Errorf"},
	"regexp":        {"MustCompile"},
	"strings":       {"NewReplacer"},
	"time":          {"FixedZone"},
	"html/template": {"Must"},
	"text/template": {"Must"},
	"net/netip":     {"MustParseAddr", "MustParsePrefix"},
}

// checkState allows as package-level variables: error sentinels, compiled patterns and templates, embedded files,
// interface checks, and tables (literals of arrays, slices, maps and structs) that nothing in the package changes.
// Test files are held to it as well, except that they and programs may declare flags.
func checkState(t *tree, found report) {
	changes := map[string]map[string]bool{}
	for _, file := range t.files {
		if changes[file.dir] == nil {
			changes[file.dir] = map[string]bool{}
		}
		collectChanges(file, changes[file.dir])
	}
	for _, file := range t.files {
		for _, decl := range file.syntax.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				values := spec.(*ast.ValueSpec)
				if embedded(group) || embeddedSpec(values) {
					continue
				}
				checkVariables(t, file, values, changes[file.dir], found)
			}
		}
	}
}

func checkVariables(t *tree, file *goFile, spec *ast.ValueSpec, changed map[string]bool, found report) {
	for i, name := range spec.Names {
		line := t.line(name.Pos())
		switch {
		case name.Name == "_":
		case changed[name.Name]:
			found(file.path, line, "package-level variable %s is changed; pass it to those who need it", name.Name)
		case i >= len(spec.Values) || !t.constant(file, spec.Values[i]):
			found(file.path, line, "package-level variable %s; only error sentinels, patterns, embedded files, interface "+
				"checks and tables that never change may stand here", name.Name)
		}
	}
}

func embedded(group *ast.GenDecl) bool {
	return strings.Contains(rawComment(group.Doc), "//go:embed ")
}

func embeddedSpec(spec *ast.ValueSpec) bool {
	return strings.Contains(rawComment(spec.Doc), "//go:embed ")
}

// rawComment keeps directives, which CommentGroup.Text drops.
func rawComment(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	var text strings.Builder
	for _, comment := range group.List {
		text.WriteString(comment.Text + "\n")
	}
	return text.String()
}

// constant reports whether the value of a package-level variable is one that nobody can change.
func (t *tree) constant(f *goFile, value ast.Expr) bool {
	switch v := value.(type) {
	case *ast.CompositeLit:
		foreign, qualified := v.Type.(*ast.SelectorExpr)
		return !qualified || t.ownType(f, foreign)
	case *ast.CallExpr:
		if _, conversion := v.Fun.(*ast.ArrayType); conversion {
			return true
		}
		for pkg, names := range immutable {
			if _, ok := f.uses(v.Fun, pkg, names...); ok {
				return true
			}
		}
		_, flagged := f.uses(v.Fun, "flag", "Bool", "Int", "String", "Duration")
		return flagged && (f.test || f.main())
	}
	return false
}

// ownType reports whether a qualified type is one of this module: a sync.Map{} is no table.
func (t *tree) ownType(f *goFile, name *ast.SelectorExpr) bool {
	base, ok := name.X.(*ast.Ident)
	if !ok {
		return false
	}
	_, own := t.ours(f.imports[base.Name])
	return own
}

// collectChanges notes every name of package level that the file assigns to, counts up, takes the address of, or
// hands to a builtin that changes its argument.
func collectChanges(file *goFile, changed map[string]bool) {
	note := func(target ast.Expr) {
		if name, ok := root(target); ok && file.packageLevel(name) {
			changed[name.Name] = true
		}
	}
	ast.Inspect(file.syntax, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, target := range n.Lhs {
					note(target)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				note(n.Key)
				note(n.Value)
			}
		case *ast.IncDecStmt:
			note(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				note(n.X)
			}
		case *ast.CallExpr:
			function, ok := n.Fun.(*ast.Ident)
			if ok && len(n.Args) > 0 && (function.Name == "delete" || function.Name == "clear" || function.Name == "copy") {
				note(n.Args[0])
			}
		}
		return true
	})
}

// root is the variable at the bottom of x, x.f, x[i], *x and (x).
func root(target ast.Expr) (*ast.Ident, bool) {
	for {
		switch e := target.(type) {
		case *ast.Ident:
			return e, true
		case *ast.SelectorExpr:
			target = e.X
		case *ast.IndexExpr:
			target = e.X
		case *ast.StarExpr:
			target = e.X
		case *ast.ParenExpr:
			target = e.X
		default:
			return nil, false
		}
	}
}

// packageLevel reports whether the name is one of the package: the parser leaves names of other files unresolved and
// puts those of this file into the file's scope.
func (f *goFile) packageLevel(name *ast.Ident) bool {
	return name.Obj == nil || f.syntax.Scope.Lookup(name.Name) == name.Obj
}
