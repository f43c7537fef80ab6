#!/usr/bin/env bash
# Installs the Debian packages that the tests need and that are not there. The services of the database packages are
# not started: the tests run servers of their own, as unprivileged users, in temporary folders.
set -euo pipefail

missing=()
need() { # PACKAGE PROGRAM: any one of the files that the pattern matches will do
	compgen -G "$2" >/dev/null || command -v "$2" >/dev/null || missing+=("$1")
}
need mariadb-server '/usr/sbin/mariadbd'
need postgresql '/usr/lib/postgresql/*/bin/initdb'
need nodejs node
need gcc gcc # the race detector links with it
need libc6-dev '/usr/include/stdlib.h'
# Debian packs npm by itself, other builds of nodejs bring it along and then refuse Debian's.
[ ${#missing[@]} -gt 0 ] || need npm npm

[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
	echo "missing, and only root on Debian can install it from here: ${missing[*]}" >&2
	exit 1
fi

policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
apt-get update -q </dev/null
apt-get install -q -y --no-install-recommends "${missing[@]}" </dev/null
command -v npm >/dev/null || apt-get install -q -y --no-install-recommends npm </dev/null
