package tidy

import "strings"

// allowed lists files that every rule accepts, each close to a breach of one.
func allowed() []sample {
	all := allowedImports()
	all = append(all, allowedState()...)
	return append(all,
		sample{file: "money/a.go", text: strings.Repeat("// one line\n", 396)},
		sample{file: "money/a.go", text: "// " + strings.Repeat("元", 117)},
		sample{file: "money/a.go", text: "func f() {\n" + strings.Repeat("\tf()\n", 58) + "}"},
		sample{file: "money/a.go", text: "func f() {}\n// time.Now, panic(, float64 and 0.5 are only words here"},
		sample{file: "money/testdata/a.go", text: "this is not Go: time.Now() 0.5 " + strings.Repeat("-", 200)},
		sample{file: "money/notes.md", text: strings.Repeat("-", 200)},
		sample{file: "money/two_words_test.go", text: "// Package money_test looks from outside.\npackage money_test\n"},
		sample{file: "cmd/paidonce/main.go", text: "// Command paidonce runs the house.\npackage main\n" +
			"import (\n\"os\"\n\"time\"\n\"context\"\n)\n" +
			"func f() { time.Now(); os.Getenv(\"A\"); context.Background() }"},
		sample{file: "gate/a_test.go", text: "import \"time\"\nfunc f() { time.Now(); panic(1) }"},
		sample{file: "internal/testdb/a.go", text: "import \"os\"\nfunc f() { os.Getenv(\"A\") }"},
		sample{file: "gate/a.go", text: "type t struct{}\nfunc (t) init() {}\nfunc (t) panic() {}\n" +
			"func f(a t) { a.init(); a.panic() }"},
		sample{file: "bench/a.go", text: "func f(a float64) {}"},
		sample{file: "channel/sqb/a_test.go", text: "const hostile = 1.5"},
		sample{file: "store/a.go", text: "const q = `INSERT INTO a (b) VALUES (?) ON CONFLICT (b) DO NOTHING`"},
		sample{file: "store/a.go", text: "// No SKIP LOCKED here.\nconst q = \"cannot listen\""},
		sample{file: "store/a_test.go", text: "const q = `SELECT GET_LOCK('a', 1)`"},
		sample{file: "store/sqlite/schema/0001_a.sql", text: "-- no RETURNING\nCREATE INDEX a ON b (c) WHERE d = 0;"},
		sample{file: "docs/a.md", text: "a path such as docs/work/plan or https://example.org/work/1"},
	)
}

func allowedImports() []sample {
	return []sample{
		{file: "gate/a.go", text: imported("money")},
		{file: "gate/a_test.go", text: imported("store/sqlite")},
		{file: "gate/a_test.go", text: imported("internal/testdb")},
		{file: "channel/wechat/a_test.go", text: imported("channel/channeltest")},
		{file: "house.go", text: imported("store")},
		{file: "house_test.go", text: imported("sandbox") + "\n" + imported("channel/wechat")},
		{file: "internal/interop/a.go", text: imported("sandbox") + "\n" + imported("channel/wechat")},
		{file: "cmd/paidonce/a.go", text: imported("store/mysql") + "\n" + imported("migrate")},
		{file: "examples/gin/a.go", text: imported("channel/sqb") + "\nimport _ \"github.com/gin-gonic/gin\""},
		{file: "store/postgres/a.go", text: `import _ "github.com/jackc/pgx/v5/stdlib"`},
		{file: "migrate/a.go", text: `import _ "github.com/pressly/goose/v3"`},
		{file: "channel/a_test.go", text: `import _ "pgregory.net/rapid"`},
		{file: "server/a.go", text: `import _ "github.com/danielgtaylor/huma/v2"`},
		{file: "money/a.go", text: `import _ "golang.org/x/text/width"`},
		{file: "node_modules/a/a.go", text: `import _ "github.com/a/b"`},
	}
}

func allowedState() []sample {
	return []sample{
		{file: "gate/a.go", text: "import \"errors\"\nvar ErrA = errors.New(\"gate: a\")"},
		{file: "gate/a.go", text: "import \"regexp\"\nvar a = regexp.MustCompile(`a`)"},
		{file: "gate/a.go", text: "import \"io\"\ntype t struct{}\nvar _ io.Reader = (*t)(nil)"},
		{file: "store/sqlite/a.go", text: "import \"embed\"\n//go:embed schema/*.sql\nvar schema embed.FS"},
		{file: "server/console/a.go", text: "import \"embed\"\nvar (\n//go:embed a.html\npage embed.FS\n)"},
		{file: "gate/a.go", text: "var names = [...]string{\"a\"}\nfunc f() string { return names[0] }"},
		{file: "gate/a.go", text: "var table = map[string]int{}\nfunc f() {\n\tvar table []int\n\ttable = nil\n}"},
		{file: "gate/a.go", text: "var table = map[string]int{}\nfunc f() { table := g(); table[0]++ }"},
		{file: "gate/a.go", text: "var table = map[string]int{}\nfunc f(table []int) { table[0] = 1 }"},
		{file: "gate/a.go", text: "var magic = []byte(\"PK\")"},
		{file: "gate/a_test.go", text: "import \"flag\"\nvar update = flag.Bool(\"u\", false, \"\")"},
	}
}
