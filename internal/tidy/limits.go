package tidy

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits of what a reader takes in at once. They hold for tests too.
const (
	maxFileLines     = 400
	maxFunctionLines = 60
	maxLineRunes     = 120
)

// limited reports whether somebody writes and reads this file as a program.
func limited(name string) bool {
	return !inTestdata(name) && slices.Contains([]string{".go", ".mjs", ".js", ".sh"}, path.Ext(name))
}

func checkFileLength(t *tree, found report) {
	for _, file := range t.texts {
		if !limited(file.path) {
			continue
		}
		if lines := strings.Count(strings.TrimSuffix(file.text, "\n"), "\n") + 1; lines > maxFileLines {
			found(file.path, maxFileLines+1, "%d lines, the limit is %d; split the file by noun", lines, maxFileLines)
		}
	}
}

func checkLineLength(t *tree, found report) {
	for _, file := range t.texts {
		if !limited(file.path) {
			continue
		}
		number := 0
		for line := range strings.Lines(file.text) {
			number++
			if runes := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); runes > maxLineRunes {
				found(file.path, number, "%d characters, the limit is %d; break the line", runes, maxLineRunes)
			}
		}
	}
}

func checkFunctionLength(t *tree, found report) {
	eachNode(t, everyFile, func(file *goFile, node ast.Node) {
		var body *ast.BlockStmt
		switch function := node.(type) {
		case *ast.FuncDecl:
			body = function.Body
		case *ast.FuncLit:
			body = function.Body
		}
		if body == nil {
			return
		}
		first := t.line(node.Pos())
		if lines := t.line(body.Rbrace) - first + 1; lines > maxFunctionLines {
			found(file.path, first, "a function of %d lines, the limit is %d; keep the control flow here and move the "+
				"rest into helpers", lines, maxFunctionLines)
		}
	})
}

var (
	goodFileName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*\.go$`)
	// emptyWords name a drawer, not a thing.
	emptyWords = []string{"util", "utils", "common", "helper", "helpers", "misc", "model", "models", "types", "base",
		"shared", "lib", "manager", "impl"}
)

func checkFileNames(t *tree, found report) {
	for _, file := range t.files {
		base := path.Base(file.path)
		if !goodFileName.MatchString(base) {
			found(file.path, 1, "file name; use lower-case words joined by underscores")
		}
		stem := strings.TrimSuffix(strings.TrimSuffix(base, ".go"), "_test")
		if slices.Contains(emptyWords, stem) || slices.Contains(emptyWords, path.Base(file.dir)) {
			found(file.path, 1, "the name says nothing about what is inside; call it by its main noun")
		}
	}
}

func checkPackageComments(t *tree, found report) {
	first, commented := map[string]*goFile{}, map[string]bool{}
	var dirs []string
	for _, file := range t.files {
		name := file.syntax.Name.Name
		if file.test && strings.HasSuffix(name, "_test") {
			continue // the outside view of a package that has its own comment
		}
		if first[file.dir] == nil {
			first[file.dir] = file
			dirs = append(dirs, file.dir)
		}
		comment := file.syntax.Doc.Text()
		if file.main() && comment != "" || strings.HasPrefix(comment, "Package "+name+" ") {
			commented[file.dir] = true
		}
	}
	for _, dir := range dirs {
		if !commented[dir] {
			found(first[dir].path, 1, "no package comment; say above the package clause, beginning with "+
				"\"Package %s\", what the package promises", first[dir].syntax.Name.Name)
		}
	}
}

func everyFile(*goFile) bool { return true }
