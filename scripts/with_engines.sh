#!/usr/bin/env bash
# with_engines.sh COMMAND...: runs the command with one MariaDB and one PostgreSQL that all its tests share, and ends
# them whatever comes of it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

place=$(mktemp -d)
stop() {
	[ ! -x "$place/testdb" ] || "$place/testdb" down "$place/engines" || true
	rm -rf "$place"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

chmod 755 "$place" # the servers run as users of their own
go build -o "$place/testdb" ./internal/testdb/cmd/testdb
variables=$("$place/testdb" up "$place/engines")
eval "$variables"
"$@"
