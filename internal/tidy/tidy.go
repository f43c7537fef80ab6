// Package tidy reads the whole repository the way a strict reviewer would and reports what the compiler lets pass:
// an import against the direction of the design, a file or function that has grown too long, a floating-point
// number, a hidden clock, state that nobody owns, SQL that only one engine understands.
//
// The rules look at syntax only, so they need no tool and run in a moment. Each has a sample in tidy_test.go that it
// must refuse: a rule that cannot fail would be noticed.
package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"slices"
	"strings"
)

// Finding is one breach of one rule.
type Finding struct {
	File string // path from the root of the repository, with slashes
	Line int    // from 1; 0 if the breach has no line
	Rule string // name of the rule, one of Rules
	Text string // what is wrong and what to do instead
}

// String writes the finding in the form that editors jump to: file:line: rule: text.
func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.Text) }

// Rule is one named check over the whole tree.
type Rule struct {
	Name  string
	check func(*tree, report)
}

// report takes one finding of the rule that is running.
type report func(file string, line int, format string, args ...any)

// Rules lists every rule, in the order in which Check runs them.
func Rules() []Rule {
	return []Rule{
		{"imports", checkImports},
		{"strangers", checkStrangers},
		{"third-party", checkThirdParty},
		{"file-length", checkFileLength},
		{"line-length", checkLineLength},
		{"function-length", checkFunctionLength},
		{"file-name", checkFileNames},
		{"package-comment", checkPackageComments},
		{"no-float", checkFloats},
		{"no-clock", checkClock},
		{"no-panic", checkPanic},
		{"no-init", checkInit},
		{"no-background", checkBackground},
		{"no-environment", checkEnvironment},
		{"no-state", checkState},
		{"sql", checkSQL},
		{"mentions", checkMentions},
	}
}

// Check applies every rule to the repository in root and returns what they found, sorted by place. The error is
// that of a file that cannot be read or, being Go, not be parsed.
func Check(root fs.FS) ([]Finding, error) {
	t, err := load(root)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, rule := range Rules() {
		rule.check(t, func(file string, line int, format string, args ...any) {
			found = append(found, Finding{file, line, rule.Name, fmt.Sprintf(format, args...)})
		})
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		if byFile := strings.Compare(a.File, b.File); byFile != 0 {
			return byFile
		}
		return a.Line - b.Line
	})
	return found, nil
}

// eachNode calls visit for every syntax node of every Go file that wanted selects.
func eachNode(t *tree, wanted func(*goFile) bool, visit func(*goFile, ast.Node)) {
	for _, file := range t.files {
		if !wanted(file) {
			continue
		}
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			if node != nil {
				visit(file, node)
			}
			return true
		})
	}
}

// line is the line of a position in the tree.
func (t *tree) line(pos token.Pos) int { return t.set.Position(pos).Line }
