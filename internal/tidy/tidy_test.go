package tidy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// TestTheRepositoryIsTidy holds every rule over the real tree.
func TestTheRepositoryIsTidy(t *testing.T) {
	findings, err := Check(os.DirFS(repositoryRoot(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Errorf("%s", f)
	}
}

func repositoryRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}

// repository builds a tree from one file. Go files that say nothing but code get package clause and comment, so that
// only the rule under test can object.
func repository(name, text string) fstest.MapFS {
	tree := fstest.MapFS{"go.mod": {Data: []byte("module example.org/m\n\ngo 1.26.0\n")}}
	if strings.HasSuffix(name, ".go") && !strings.Contains(text, "package ") {
		text = fmt.Sprintf("// Package x is a sample.\npackage x\n\n%s\n", text)
	}
	tree[name] = &fstest.MapFile{Data: []byte(text)}
	return tree
}

func findings(t *testing.T, name, text string) []Finding {
	t.Helper()
	found, err := Check(repository(name, text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return found
}

// sample is one file. On a line of its own, the Go samples of repository begin at line 4.
type sample struct {
	file string
	text string
	line int
}

// TestEveryRuleRefuses shows each rule files that break it: exactly that rule must object, at that line.
func TestEveryRuleRefuses(t *testing.T) {
	bad := refused()
	for _, rule := range Rules() {
		if len(bad[rule.Name]) == 0 {
			t.Errorf("rule %s has no sample that it refuses", rule.Name)
		}
	}
	for rule, samples := range bad {
		for i, s := range samples {
			t.Run(fmt.Sprintf("%s/%d", rule, i), func(t *testing.T) {
				found := findings(t, s.file, s.text)
				if len(found) != 1 {
					t.Fatalf("%q in %s: want one finding, have %v", s.text, s.file, found)
				}
				if f := found[0]; f.Rule != rule || f.Line != s.line || f.File != s.file {
					t.Errorf("%q: found %s, want %s at line %d", s.text, f, rule, s.line)
				}
			})
		}
	}
}

// TestTheRulesAllow shows what stands close to a breach and is none.
func TestTheRulesAllow(t *testing.T) {
	for i, s := range allowed() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if found := findings(t, s.file, s.text); len(found) > 0 {
				t.Errorf("%q in %s: %v", s.text, s.file, found)
			}
		})
	}
}

// A tree that cannot be read must not pass as tidy.
func TestCheckReportsWhatItCannotRead(t *testing.T) {
	if _, err := Check(fstest.MapFS{}); err == nil {
		t.Error("a folder without go.mod was checked")
	}
	if _, err := Check(repository("money/a.go", "package money\nfunc {")); err == nil {
		t.Error("a file that is not Go was checked")
	}
}

func TestAFindingIsAPlaceThatEditorsJumpTo(t *testing.T) {
	f := Finding{"gate/key.go", 12, "no-panic", "return an error"}
	if got := f.String(); got != "gate/key.go:12: no-panic: return an error" {
		t.Error(got)
	}
}
