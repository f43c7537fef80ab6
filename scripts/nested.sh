#!/usr/bin/env bash
# Builds and tests the modules inside this one, such as the examples with other frameworks, which ./... leaves out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

find . -mindepth 2 -name go.mod -not -path './tools/*' -not -path '*/node_modules/*' -print0 |
	while IFS= read -r -d '' module; do
		(cd "$(dirname "$module")" && go vet ./... && go test -timeout 10m ./...)
	done
