# The targets that people and CI use. make test is the whole proof: every engine, every test, on a bare Debian.

SHELL := /bin/bash
STATICCHECK := go tool -modfile=tools/go.mod staticcheck
FUZZTIME ?= 3s
TIMEOUT ?= 15m

.PHONY: test test-long check lint fmt build fuzz install

# Installs what is missing, starts the engines, runs everything, and ends the engines even if something failed.
test: install lint
	scripts/with_engines.sh $(MAKE) --no-print-directory check

# The same at leisure: for a night or a release.
test-long: export PAIDONCE_LONG := 1
test-long:
	$(MAKE) --no-print-directory test FUZZTIME=60s TIMEOUT=60m

# The tests alone. Outside of make test it uses the engines that the environment names, or starts its own.
check: export PAIDONCE_REQUIRE_ENGINES := 1
check:
	go test -race -vet=off -p 2 -timeout $(TIMEOUT) ./...
	scripts/nested.sh
	scripts/fuzz.sh $(FUZZTIME)

lint:
	@unformatted="$$(gofmt -l .)"; [ -z "$$unformatted" ] || \
		{ printf 'not formatted, run make fmt:\n%s\n' "$$unformatted"; exit 1; }
	go vet ./...
	$(STATICCHECK) ./...

fmt:
	gofmt -w .

# One static binary without a trace of the folder that it was built in.
build:
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o dist/ ./cmd/paidonce

fuzz:
	scripts/fuzz.sh $(FUZZTIME)

install:
	scripts/install.sh
