package tidy

import (
	"path"
	"strings"
)

// row is one line of the import table: packages that match pkg may import, of ours, what matches one of may.
//
// A pattern is a folder from the root ("." is the root package), "dir/*" for the folders directly below dir, or
// "dir/..." for dir and everything below it. The first matching row counts.
type row struct {
	pkg string
	may []string
}

// importTable is the direction of the design: imports point downwards only. A new package needs a row.
var importTable = []row{
	{"money", nil},
	{"gate", []string{"money"}},
	{"ledger", []string{"money"}},
	{"order", []string{"money"}},
	{"channel", []string{"gate", "money"}},
	{"channel/channeltest", []string{"channel", "gate", "money"}},
	{"channel/*", []string{"channel", "gate", "money"}},
	{"settle", []string{"channel", "ledger", "money", "order"}},
	{"refund", []string{"channel", "money", "order"}},
	{"reconcile", []string{"channel", "gate", "money"}},
	{"store", []string{"gate", "ledger", "money", "order", "refund", "reconcile"}},
	{"store/storetest", []string{".", "channel", "gate", "ledger", "money", "order", "settle", "refund", "reconcile",
		"store"}},
	{"store/*", []string{"store"}},
	{"migrate", []string{"store", "store/*"}},
	{".", []string{"money", "gate", "ledger", "channel", "order", "settle", "refund", "reconcile", "store"}},
	{"server", []string{".", "channel", "gate", "ledger", "money", "order", "refund", "reconcile", "store",
		"server/console"}},
	{"server/console", nil},
	{"sandbox", []string{"money"}},
	{"contrib/...", []string{".", "money", "gate", "ledger", "channel", "order", "settle", "refund", "reconcile",
		"store"}},
	{"cmd/...", []string{"..."}},
	{"bench/...", []string{"..."}},
	{"internal/...", []string{"..."}},
	{"examples/...", []string{".", "money", "gate", "ledger", "channel", "channel/*", "order", "settle", "refund",
		"reconcile", "store", "store/*", "migrate", "server", "sandbox", "contrib/..."}},
}

// matches reports whether the folder fits the pattern.
func matches(pattern, dir string) bool {
	if pattern == "..." {
		return true
	}
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == prefix || strings.HasPrefix(dir, prefix+"/")
	}
	ok, err := path.Match(pattern, dir)
	return ok && err == nil
}

func matchesAny(patterns []string, dir string) bool {
	for _, pattern := range patterns {
		if matches(pattern, dir) {
			return true
		}
	}
	return false
}

// rowOf finds the table's row of a package.
func rowOf(dir string) (row, bool) {
	for _, r := range importTable {
		if matches(r.pkg, dir) {
			return r, true
		}
	}
	return row{}, false
}

// ours turns an import path into a folder of this module.
func (t *tree) ours(target string) (string, bool) {
	if target == t.module {
		return ".", true
	}
	return strings.CutPrefix(target, t.module+"/")
}

// checkImports holds the import table. Test files may import whatever they test; see checkStrangers.
func checkImports(t *tree, found report) {
	unknown := map[string]bool{}
	for _, file := range t.files {
		r, ok := rowOf(file.dir)
		if !ok {
			if !unknown[file.dir] {
				found(file.path, 1, "package %s is not in the import table; decide what it may import and add a row "+
					"in internal/tidy/imports.go", file.dir)
			}
			unknown[file.dir] = true
			continue
		}
		for _, spec := range file.syntax.Imports {
			line := t.line(spec.Pos())
			if spec.Name != nil && spec.Name.Name == "." {
				found(file.path, line, "dot import hides where a name comes from; import the package by its name")
			}
			target, own := t.ours(importPath(spec))
			if own && !file.test && target != file.dir && !matchesAny(r.may, target) {
				found(file.path, line, "%s may not import %s; declare the small port that it needs, or move the code "+
					"to where both sides are known", file.dir, target)
			}
		}
	}
}

// checkStrangers keeps the sandbox and the adapters from sharing code, in tests too: a wrong idea of the protocol
// that both had from one place would never be noticed.
func checkStrangers(t *tree, found report) {
	for _, file := range t.files {
		for _, spec := range file.syntax.Imports {
			target, own := t.ours(importPath(spec))
			if !own {
				continue
			}
			line := t.line(spec.Pos())
			if matches("sandbox/...", file.dir) && matches("channel/...", target) {
				found(file.path, line, "the sandbox must not know %s, not even in a test; write the protocol down "+
					"twice and let them meet in internal/interop or the root's tests", target)
			}
			if matches("channel/...", file.dir) && matches("sandbox/...", target) {
				found(file.path, line, "%s must not know the sandbox, not even in a test; use recorded vectors, and "+
					"let them meet in internal/interop or the root's tests", file.dir)
			}
		}
	}
}

// library lists what a host links: it pulls in the standard library, golang.org/x and its driver, nothing else.
var library = []string{".", "money", "gate", "ledger", "channel", "channel/*", "order", "settle", "refund",
	"reconcile", "store", "store/*", "sandbox"}

// outside lists the modules that single packages exist to wrap. Nobody else in the library may import them.
var outside = []row{
	{"store/mysql", []string{"github.com/go-sql-driver/mysql"}},
	{"store/postgres", []string{"github.com/jackc/pgx/v5"}},
	{"store/sqlite", []string{"modernc.org/sqlite"}},
	{"migrate", []string{"github.com/pressly/goose/v3"}},
	{"channel/channeltest", []string{"pgregory.net/rapid", "github.com/google/go-cmp"}},
	{"store/storetest", []string{"pgregory.net/rapid", "github.com/google/go-cmp"}},
}

const goose = "github.com/pressly/goose"

// checkThirdParty holds the promise that the library brings no dependencies along.
func checkThirdParty(t *tree, found report) {
	for _, file := range t.files {
		for _, spec := range file.syntax.Imports {
			target, line := importPath(spec), t.line(spec.Pos())
			if strings.HasPrefix(target, goose) && file.dir != "migrate" {
				found(file.path, line, "only migrate may import goose; call migrate instead")
				continue
			}
			if target == "C" {
				found(file.path, line, "cgo would end the static binary; use a pure Go package")
				continue
			}
			limited := matchesAny(library, file.dir) || file.dir == "migrate"
			if file.test || file.nested || !limited || !t.foreign(target) || granted(file.dir, target) {
				continue
			}
			found(file.path, line, "library package %s may not import %s; use the standard library or golang.org/x, "+
				"or put the code into cmd, contrib or examples", file.dir, target)
		}
	}
}

// foreign reports whether the path is neither ours nor the standard library's nor golang.org/x.
func (t *tree) foreign(target string) bool {
	if _, own := t.ours(target); own || strings.HasPrefix(target, "golang.org/x/") {
		return false
	}
	host, _, _ := strings.Cut(target, "/")
	return strings.Contains(host, ".")
}

func granted(dir, target string) bool {
	for _, r := range outside {
		if r.pkg != dir {
			continue
		}
		for _, module := range r.may {
			if target == module || strings.HasPrefix(target, module+"/") {
				return true
			}
		}
	}
	return false
}
