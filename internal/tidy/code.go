package tidy

import (
	"go/ast"
	"go/token"
	"slices"
)

// floatAllowed: benchmarks compute percentiles, and the type of a Prometheus value is a float. Neither is money.
func floatAllowed(file *goFile) bool {
	return matches("bench/...", file.dir) || file.path == "server/metrics.go"
}

// checkFloats lets tests write floating-point literals, because they feed them to parsers that must refuse them.
func checkFloats(t *tree, found report) {
	kinds := []string{"float32", "float64", "complex64", "complex128"}
	wanted := func(file *goFile) bool { return !floatAllowed(file) }
	eachNode(t, wanted, func(file *goFile, node ast.Node) {
		what, bad := file.uses(node, "strconv", "ParseFloat", "FormatFloat", "AppendFloat")
		switch n := node.(type) {
		case *ast.Ident:
			if slices.Contains(kinds, n.Name) {
				what, bad = n.Name, true
			}
		case *ast.BasicLit:
			if !file.test && (n.Kind == token.FLOAT || n.Kind == token.IMAG) {
				what, bad = "the literal "+n.Value, true
			}
		}
		if bad {
			found(file.path, t.line(node.Pos()), "%s rounds; use money.Amount, money.Rate or whole numbers", what)
		}
	})
}

func outsideMainAndTests(file *goFile) bool { return !file.main() && !file.test }

func checkClock(t *tree, found report) {
	eachNode(t, outsideMainAndTests, func(file *goFile, node ast.Node) {
		if what, bad := file.uses(node, "time", "Now", "Since", "Until"); bad {
			found(file.path, t.line(node.Pos()), "%s reads a hidden clock; take the time or a clock as an input", what)
		}
	})
}

func checkPanic(t *tree, found report) {
	wanted := func(file *goFile) bool { return !file.test }
	eachNode(t, wanted, func(file *goFile, node ast.Node) {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return
		}
		if function, ok := call.Fun.(*ast.Ident); ok && function.Name == "panic" {
			found(file.path, t.line(node.Pos()), "panic ends a process that holds other people's money; return an error")
		}
	})
}

func checkInit(t *tree, found report) {
	for _, file := range t.files {
		for _, decl := range file.syntax.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if ok && function.Recv == nil && function.Name.Name == "init" {
				found(file.path, t.line(function.Pos()), "init runs by being imported; call a constructor instead")
			}
		}
	}
}

func checkBackground(t *tree, found report) {
	eachNode(t, outsideMainAndTests, func(file *goFile, node ast.Node) {
		if what, bad := file.uses(node, "context", "Background", "TODO"); bad {
			found(file.path, t.line(node.Pos()), "%s cannot be cancelled by the caller; take a context, and detach with "+
				"context.WithoutCancel where work must outlive a request", what)
		}
	})
}

// checkEnvironment keeps configuration in one place. A test may read what its own parent process set.
func checkEnvironment(t *tree, found report) {
	readers := []string{"cmd/...", "internal/testdb/..."}
	wanted := func(file *goFile) bool { return !file.test && !matchesAny(readers, file.dir) }
	eachNode(t, wanted, func(file *goFile, node ast.Node) {
		if what, bad := file.uses(node, "os", "Getenv", "LookupEnv", "Environ", "ExpandEnv"); bad {
			found(file.path, t.line(node.Pos()), "%s makes a second reader of configuration; take the value as an option", what)
		}
	})
}
