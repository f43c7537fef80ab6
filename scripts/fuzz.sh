#!/usr/bin/env bash
# fuzz.sh DURATION: runs every fuzz test of the module for that long. They are found, not listed, so that a new one
# cannot be forgotten. What a fuzz test finds is written below its package's testdata/fuzz, to be kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
duration=${1:?usage: fuzz.sh DURATION}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# Inputs are made smaller by a few tries only: by default Go spends the whole of a short run on that.
run() { # BINARY NAME: Go sometimes reports the end of the time itself as a failure; only that is forgiven
	"$1" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$duration" -test.fuzzminimizetime 10x \
		-test.fuzzcachedir "$place/cache" >"$place/log" 2>&1 && return
	grep -q 'context deadline exceeded' "$place/log" && ! grep -q 'Failing input\|panic\|_test.go:' "$place/log"
}

count=0
while IFS=$'\t' read -r package dir; do
	mapfile -t names < <(cat "$dir"/*_test.go 2>/dev/null | sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' | sort)
	[ ${#names[@]} -gt 0 ] || continue
	go test -vet=off -fuzz . -c -o "$place/fuzz.test" "$package"
	cd "$dir"
	for name in "${names[@]}"; do
		if ! run "$place/fuzz.test" "$name"; then
			cat "$place/log"
			echo "FAIL $package $name"
			exit 1
		fi
		echo "fuzzed $package $name: $(grep -oE 'execs: [0-9]+' "$place/log" | tail -1)"
		count=$((count + 1))
	done
	cd "$root"
done < <(go list -f '{{.ImportPath}}{{"\t"}}{{.Dir}}' ./...)
echo "$count fuzz tests ran for $duration each"
