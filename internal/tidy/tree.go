package tidy

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// tree is the repository as the rules see it.
type tree struct {
	module string // module path of go.mod
	set    *token.FileSet
	files  []*goFile
	texts  []textFile
}

// goFile is one parsed Go file outside of testdata.
type goFile struct {
	path    string // from the root
	dir     string // "." for the root package
	test    bool   // a _test.go file
	nested  bool   // belongs to a nested module
	syntax  *ast.File
	imports map[string]string // local name → import path
}

// main reports whether the file belongs to a program.
func (f *goFile) main() bool { return f.syntax.Name.Name == "main" }

// textFile is any file without a zero byte, Go files included.
type textFile struct {
	path string
	text string
}

// errNoModule: the root has no go.mod, so it is not this repository.
var errNoModule = errors.New("tidy: no go.mod at the root")

// skipped names folders that hold nothing written by us: they are ignored by git as well.
var skipped = map[string]bool{".git": true, "node_modules": true, "dist": true, "paidonce-data": true}

// maxTextBytes is the longest file that is read; longer ones are data.
const maxTextBytes = 4 << 20

func load(root fs.FS) (*tree, error) {
	mod, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoModule, err)
	}
	t := &tree{module: moduleOf(mod), set: token.NewFileSet()}
	nested := map[string]bool{}
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && skipped[entry.Name()]:
			return fs.SkipDir
		case entry.IsDir():
			if _, err := fs.Stat(root, path.Join(name, "go.mod")); name != "." && err == nil {
				nested[name] = true
			}
			nested[name] = nested[name] || nested[path.Dir(name)] && name != "."
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		return t.read(root, name, nested[path.Dir(name)])
	})
	return t, err
}

func moduleOf(mod []byte) string {
	for line := range strings.Lines(string(mod)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

func (t *tree) read(root fs.FS, name string, nested bool) error {
	info, err := fs.Stat(root, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() > maxTextBytes {
		return nil // gone since the folder was listed, or data
	}
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil
	}
	t.texts = append(t.texts, textFile{name, string(text)})
	if path.Ext(name) != ".go" || inTestdata(name) {
		return nil
	}
	syntax, err := parser.ParseFile(t.set, name, text, parser.ParseComments)
	if err != nil {
		return err
	}
	t.files = append(t.files, &goFile{path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"),
		nested: nested, syntax: syntax, imports: importsOf(syntax)})
	return nil
}

// inTestdata reports whether the file is input of a test, which nobody formats or limits.
func inTestdata(name string) bool {
	return strings.HasPrefix(name, "testdata/") || strings.Contains(name, "/testdata/")
}

func importsOf(file *ast.File) map[string]string {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		target := importPath(spec)
		local := path.Base(target)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if local == "_" || local == "." {
			continue
		}
		imports[local] = target
	}
	return imports
}

func importPath(spec *ast.ImportSpec) string {
	target, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return target
}

// uses reports whether the node is a use of pkg.name for one of the names, whatever the import is called here.
func (f *goFile) uses(node ast.Node, pkg string, names ...string) (string, bool) {
	selector, ok := node.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	base, ok := selector.X.(*ast.Ident)
	if !ok || f.imports[base.Name] != pkg {
		return "", false
	}
	for _, name := range names {
		if selector.Sel.Name == name {
			return path.Base(pkg) + "." + name, true
		}
	}
	return "", false
}
