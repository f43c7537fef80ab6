package tidy

import "strings"

func imported(target string) string { return `import _ "example.org/m/` + target + `"` }

// refused maps each rule to files that break it and no other rule.
func refused() map[string][]sample {
	all := map[string][]sample{}
	for _, part := range []map[string][]sample{refusedImports(), refusedForms(), refusedCode(), refusedState(),
		refusedTexts()} {
		for rule, samples := range part {
			all[rule] = append(all[rule], samples...)
		}
	}
	return all
}

func refusedImports() map[string][]sample {
	return map[string][]sample{
		"imports": {
			{"money/a.go", imported("gate"), 4},
			{"gate/a.go", imported("channel"), 4},
			{"channel/wechat/a.go", imported("channel/alipay"), 4},
			{"channel/channeltest/a.go", imported("channel/sqb"), 4},
			{"store/a.go", imported("store/sqlite"), 4},
			{"store/sqlite/a.go", imported("gate"), 4},
			{"ledger/a.go", imported("internal/crash"), 4},
			{"refund/a.go", imported("migrate"), 4},
			{"house.go", imported("store/sqlite"), 4},
			{"house.go", imported("channel/wechat"), 4},
			{"server/a.go", imported("store/sqlite"), 4},
			{"sandbox/a.go", imported("gate"), 4},
			{"contrib/redis/a.go", imported("cmd/paidonce"), 4},
			{"examples/plain/a.go", imported("internal/testdb"), 4},
			{"newcomer/a.go", "const a = 1", 1},
			{"money/a.go", `import . "strings"`, 4},
		},
		"strangers": {
			{"sandbox/a_test.go", imported("channel/wechat"), 4},
			{"channel/wechat/a_test.go", imported("sandbox"), 4},
			{"channel/channeltest/a_test.go", imported("sandbox"), 4},
		},
		"third-party": {
			{"money/a.go", `import _ "github.com/shopspring/decimal"`, 4},
			{"store/a.go", `import _ "modernc.org/sqlite"`, 4},
			{"store/mysql/a.go", `import _ "github.com/jackc/pgx/v5"`, 4},
			{"store/postgres/a.go", `import _ "github.com/jackc/pgx/v5extra"`, 4},
			{"cmd/paidonce/a.go", `import _ "github.com/pressly/goose/v3"`, 4},
			{"store/a_test.go", `import _ "github.com/pressly/goose/v3"`, 4},
			{"bench/a.go", `import "C"`, 4},
		},
	}
}

func refusedForms() map[string][]sample {
	longFunction := "func f() {\n" + strings.Repeat("\tf()\n", 59) + "}"
	return map[string][]sample{
		"file-length": {
			{"money/a.go", strings.Repeat("// one line\n", 400), 401},
			{"internal/interop/node/a.mjs", strings.Repeat("a()\n", 401), 401},
		},
		"line-length": {
			{"money/a.go", "// " + strings.Repeat("元", 118), 4},
			{"scripts/a.sh", "#" + strings.Repeat("-", 120), 1},
		},
		"function-length": {
			{"money/a.go", longFunction, 4},
			{"money/a_test.go", "var _ func() = func" + longFunction[len("func f"):], 4},
		},
		"file-name": {
			{"money/Amount.go", "const a = 1", 1},
			{"money/two-words.go", "const a = 1", 1},
			{"money/utils.go", "const a = 1", 1},
			{"internal/helpers/a.go", "const a = 1", 1},
		},
		"package-comment": {
			{"money/a.go", "package money\n", 1},
			{"money/a.go", "// An orphan comment.\npackage money\n", 1},
			{"cmd/paidonce/main.go", "package main\n", 1},
		},
	}
}

func refusedCode() map[string][]sample {
	return map[string][]sample{
		"no-float": {
			{"money/a.go", "func f(a float64) {}", 4},
			{"money/a.go", "const half = 0.5", 4},
			{"money/a_test.go", "type t struct{ a float32 }", 4},
			{"ledger/a.go", "import \"strconv\"\nvar _, _ = strconv.ParseFloat(\"1\", 64)", 5},
		},
		"no-clock": {
			{"gate/a.go", "import \"time\"\nfunc f() { time.Now() }", 5},
			{"gate/a.go", "import clock \"time\"\nfunc f() { g(clock.Since) }", 5},
		},
		"no-panic":      {{"gate/a.go", "func f() {\n\tpanic(1)\n}", 5}},
		"no-init":       {{"gate/a.go", "func init() {}", 4}, {"gate/a_test.go", "func init() {}", 4}},
		"no-background": {{"gate/a.go", "import \"context\"\nfunc f() { context.Background() }", 5}},
		"no-environment": {
			{"server/a.go", "import \"os\"\nfunc f() { os.Getenv(\"A\") }", 5},
			{"internal/crash/a.go", "import \"os\"\nfunc f() { os.LookupEnv(\"A\") }", 5},
		},
	}
}

func refusedState() map[string][]sample {
	const table = "var table = map[string]int{}\n"
	return map[string][]sample{"no-state": {
		{"gate/a.go", "var counter int", 4},
		{"gate/a.go", "var counter = 1", 4},
		{"gate/a.go", "import \"time\"\nvar wait = time.Sleep", 5},
		{"gate/a.go", "import \"sync\"\nvar cache = sync.Map{}", 5},
		{"gate/a.go", "var cache = make(map[string]int)", 4},
		{"gate/a.go", "var pool = new(int)", 4},
		{"gate/a.go", table + "func f() { table[\"a\"] = 1 }", 4},
		{"gate/a.go", table + "func f() { table[\"a\"]++ }", 4},
		{"gate/a.go", table + "func f() { delete(table, \"a\") }", 4},
		{"gate/a.go", table + "func f() { g(&table) }", 4},
		{"gate/a.go", table + "func f() { table = nil }", 4},
		{"gate/a.go", table + "func f() { for table = range g() {} }", 4},
		{"gate/a.go", "var p = struct{ n int }{}\nfunc f() { (p).n = 1 }", 4},
		{"gate/a_test.go", "var shared int", 4},
		{"gate/a.go", "import \"flag\"\nvar update = flag.Bool(\"u\", false, \"\")", 5},
	}}
}

func refusedTexts() map[string][]sample {
	sql := func(text string) sample { return sample{"store/a.go", "const q = `" + text + "`", 4} }
	return map[string][]sample{
		"sql": {
			sql("SELECT 1 FROM a FOR UPDATE SKIP\n\tLOCKED"),
			sql("SELECT get_lock('a', 1)"),
			sql("SELECT pg_advisory_xact_lock(1)"),
			sql("SELECT pg_advisory_lock(1)"),
			sql("LISTEN claims"),
			sql("INSERT INTO a VALUES (1) RETURNING id"),
			sql("SELECT 1 FOR SHARE"),
			sql("SELECT 1 LOCK IN SHARE MODE"),
			sql("insert ignore into a values (1)"),
			sql("INSERT OR REPLACE INTO a VALUES (1)"),
			sql("REPLACE INTO a VALUES (1)"),
			sql("INSERT INTO a VALUES (1) ON DUPLICATE KEY UPDATE b = 1"),
			sql("INSERT INTO a VALUES (1) ON CONFLICT DO NOTHING"),
			{"store/mysql/a.go", "const q = \"SELECT 1 FOR UPDATE SKIP \" +\n\t(\"LOCKED\" + x)", 4},
			{"store/sqlite/schema/0001_a.sql", "-- a comment\nCREATE TRIGGER a;", 2},
			{"store/sqlite/schema/0001_a.sql", "CREATE UNIQUE INDEX a ON b (c)\nWHERE d = 0;", 1},
			{"store/mysql/schema/0001_a.sql", "CREATE TABLE a (\n b BIGINT);\n\nCREATE TABLE c (d DOUBLE);", 4},
			{"migrate/a.go", "const q = `SELECT GET_LOCK('a', 1)`", 4},
		},
		"mentions": {
			{"README.md", "see sha" + "red/notes", 1},
			{"docs/a.md", "\nas HAZ" + "ARDS.md says", 2},
			{"scripts/a.sh", "cd /wo" + "rk/main", 1},
			{"money/testdata/a.txt", "\n\nin /ro" + "ot/a", 3},
			{"money/a.go", "// from /home/some" + "body/a", 4},
			{"package.json", `{"r": "https://registry.np` + `mjs.org/a"}`, 1},
			{"Makefile", "GOPROXY=https://proxy.gol" + "ang.org", 1},
			{"a.txt", "deb.debi" + "an.org", 1},
			{"a.txt", "files.pythonho" + "sted.org", 1},
		},
	}
}
