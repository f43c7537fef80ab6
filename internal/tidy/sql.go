package tidy

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// phrase is a piece of SQL that the portable subset leaves out.
type phrase struct {
	pattern *regexp.Regexp
	what    string
	instead string
}

// banned is what at least one supported or planned engine does not have, or has with another meaning. White space in
// the text is folded to one blank before matching.
var banned = []phrase{
	{regexp.MustCompile(`(?i)\bSKIP LOCKED\b`), "SKIP LOCKED", "take a lease by compare-and-set"},
	{regexp.MustCompile(`(?i)\b(GET|RELEASE)_LOCK\b`), "GET_LOCK", "take a lease by compare-and-set"},
	{regexp.MustCompile(`(?i)advisory_(\w+_)?(un)?lock`), "advisory lock", "take a lease by compare-and-set"},
	{regexp.MustCompile(`(?i)(^|; ?)(UN)?(LISTEN|NOTIFY) \w`), "LISTEN", "poll the small work table"},
	{regexp.MustCompile(`(?i)\bRETURNING\b`), "RETURNING",
		"make ids in Go, or read the row in the same transaction"},
	{regexp.MustCompile(`(?i)\b(FOR (KEY )?SHARE|IN SHARE MODE)\b`), "shared row lock",
		"lock with the dialect's row lock"},
	{regexp.MustCompile(`(?i)\bINSERT (OR )?IGNORE\b`), "INSERT IGNORE", "use the dialect's once-insert"},
	{regexp.MustCompile(`(?i)\b(REPLACE INTO|INSERT OR REPLACE)\b`), "REPLACE", "read first, insert if absent"},
	{regexp.MustCompile(`(?i)\bON DUPLICATE KEY\b`), "ON DUPLICATE KEY", "read first, insert if absent"},
	{regexp.MustCompile(`(?i)\bON CONFLICT DO NOTHING\b`), "ON CONFLICT without columns", "name the columns: another " +
		"unique index must not swallow the row"},
	{regexp.MustCompile(`(?i)\bCREATE (OR REPLACE )?TRIGGER\b`), "a trigger",
		"write the second row in the same transaction"},
	{regexp.MustCompile(`(?i)\bCREATE UNIQUE INDEX [^;]* WHERE\b`), "a partial unique index", "make the key a column"},
}

// rounding are the column types that lose money.
var rounding = regexp.MustCompile(`(?i)\b(FLOAT\d?|DOUBLE|REAL)\b`)

var sqlComment = regexp.MustCompile(`--[^\n]*`)

// checkSQL holds the SQL texts of store and migrate to the portable subset. Tests may say what they like, because
// they have to provoke engines.
func checkSQL(t *tree, found report) {
	for _, file := range t.files {
		if !file.test && (matches("store/...", file.dir) || file.dir == "migrate") {
			eachText(file.syntax, func(pos token.Pos, text string) { checkStatement(file.path, t.line(pos), text, found) })
		}
	}
	for _, file := range t.texts {
		if path.Ext(file.path) != ".sql" || inTestdata(file.path) {
			continue
		}
		line := 1
		for statement := range strings.SplitAfterSeq(sqlComment.ReplaceAllString(file.text, ""), ";") {
			begin := line + strings.Count(statement[:len(statement)-len(strings.TrimLeft(statement, " \t\r\n"))], "\n")
			checkStatement(file.path, begin, statement, found)
			if rounding.MatchString(statement) {
				found(file.path, begin, "a column type that rounds; count minor units in BIGINT")
			}
			line += strings.Count(statement, "\n")
		}
	}
}

func checkStatement(file string, line int, text string, found report) {
	folded := strings.Join(strings.Fields(text), " ")
	for _, p := range banned {
		if p.pattern.MatchString(folded) {
			found(file, line, "%s is outside of the portable subset; %s", p.what, p.instead)
		}
	}
}

// eachText visits the string literals of a file; a sum of strings is one text.
func eachText(file *ast.File, visit func(token.Pos, string)) {
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BinaryExpr:
			if text, ok := sum(n); ok {
				visit(n.Pos(), text)
				return false
			}
		case *ast.BasicLit:
			if text, ok := sum(n); ok {
				visit(n.Pos(), text)
			}
		}
		return true
	})
}

// sum joins the literals of a concatenation; what is no literal is read as a placeholder. It is false if there is no
// string literal in it.
func sum(e ast.Expr) (string, bool) {
	switch n := e.(type) {
	case *ast.BasicLit:
		if n.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(n.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return sum(n.X)
	case *ast.BinaryExpr:
		if n.Op != token.ADD {
			return "", false
		}
		left, leftText := sum(n.X)
		right, rightText := sum(n.Y)
		if !leftText {
			left = " ? "
		}
		if !rightText {
			right = " ? "
		}
		return left + right, leftText || rightText
	}
	return "", false
}
