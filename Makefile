# Everything a developer or a machine does with this repository. `make` prints the targets.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  = -s -w -X main.version=$(VERSION)

# As new a Go as go.mod asks for, fetched where this machine's is older: its standard library is what is shipped, with
# its faults. Where that one cannot be had, and with `make GOTOOLCHAIN=local …`, what is there.
ifeq ($(origin GOTOOLCHAIN),command line)
export GOTOOLCHAIN
else
export GOTOOLCHAIN := $(shell GOTOOLCHAIN=auto go version >/dev/null 2>&1 && echo auto || echo local)
endif

# Where `make install` puts things; DESTDIR is for packagers.
PREFIX  ?= /usr/local
DESTDIR ?=

FUZZTIME    ?= 10s
GOTESTFLAGS ?=
BENCH       ?= .

MODEL_CHECKS ?= 2000
MODEL_STEPS  ?= 100

# Developer tools, pinned here and never in go.mod: gofast needs an old golang.org/x/tools (docs/decisions/0006).
GOFUMPT       = go run mvdan.cc/gofumpt@v0.12.0
GOLANGCI_LINT = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK   = go run golang.org/x/vuln/cmd/govulncheck@v1.9.0
BENCHSTAT     = golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

DEPS = deploy/scripts/deps.sh

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build ./sidecar, static
	CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags '$(LDFLAGS)' -o sidecar .

.PHONY: check
check: ## The loop before a commit: format, vet, all Go tests
	@$(DEPS) test
	@test -z "$$($(GOFUMPT) -l . | tee /dev/stderr)"
	go vet ./...
	go test ./...

.PHONY: test
test: ## Install what is missing and run all tests (real redis-server and php-fpm; phpunit)
	@$(DEPS) test
	go test $(GOTESTFLAGS) $(LONGEST) ./...
	@$(MAKE) --no-print-directory php

# They take minutes and begin first, or they would run alone at the end.
LONGEST = ./internal/e2e ./queue ./internal/faults ./fastcgi

.PHONY: race
race: ## All Go tests with the race detector, in random order
	@$(DEPS) test race
	go test -race -shuffle=on -count=1 ./...

.PHONY: php
php: ## phpunit on the PHP client
	@$(DEPS) test
	cd php-client && phpunit --fail-on-skipped

.PHONY: lint
lint: lint-go lint-lua lint-sh lint-php ## All linters: Go, Lua, shell, PHP

.PHONY: lint-go
lint-go:
	@test -z "$$($(GOFUMPT) -l . | tee /dev/stderr)"
	$(GOLANGCI_LINT) run

.PHONY: lint-lua
lint-lua:
	@$(DEPS) lint
	luac5.1 -p queue/lua/*.lua testdata/legacy/lua/*.lua
	luacheck -q --std lua51 --read-globals redis KEYS ARGV unpack --max-line-length 120 queue/lua

.PHONY: lint-sh
lint-sh:
	@$(DEPS) lint
	shellcheck .ci/run $$(find deploy testdata -name '*.sh')

.PHONY: lint-php
lint-php:
	@$(DEPS) test lint
	deploy/scripts/lint-php.sh
	phpcs -q -n
	cd php-client && phpcs -q -n

.PHONY: fuzz
fuzz: ## Run every fuzz target in turn, FUZZTIME=10s each
	deploy/scripts/fuzz.sh $(FUZZTIME)

.PHONY: vuln
vuln: ## Known vulnerabilities that the code reaches (GOVULNDB=url of another database)
	GOVULNCHECK='$(GOVULNCHECK)' deploy/scripts/vuln.sh

.PHONY: model
model: ## The model test of the key state machine, for minutes: MODEL_CHECKS=2000 lives of three times MODEL_STEPS=100 steps
	@$(DEPS) test
	go test -run='^TestModel' -timeout=60m ./queue -rapid.checks=$(MODEL_CHECKS) -rapid.steps=$(MODEL_STEPS)

.PHONY: vectors
vectors: ## Write testdata/wire anew with this machine's PHP
	@$(DEPS) test
	php testdata/wire/make_vectors.php

.PHONY: verify
verify: vectors ## Generated files, go.mod and formatting are as committed
	go mod tidy -diff
	@test -z "$$($(GOFUMPT) -l . | tee /dev/stderr)"
	git diff --exit-code -- testdata/wire

.PHONY: bench
bench: ## All benchmarks, ten times (BENCH=regexp)
	@$(DEPS) test
	go test -run='^$$' -bench='$(BENCH)' -benchmem -count=10 ./...

.PHONY: bench-compare
bench-compare: ## Benchmarks of BASE=revision and of the work tree, alternating, then benchstat
	@$(DEPS) test
	BENCHSTAT=$(BENCHSTAT) deploy/scripts/bench-compare.sh '$(BASE)' '$(BENCH)'

.PHONY: bench-worker
bench-worker: ## The tables of docs/performance.md: resident workers against requests and the old consumer
	@$(DEPS) test
	@go test -run='^$$' -bench='^Benchmark(Consume|Memory)$$' -benchtime=1x -timeout=60m ./internal/e2e \
		| awk '/^ *\|/ { sub(/^ */, "") } /^\|/ && !seen[$$0]++ { print; next } /FAIL|panic|error/ { print }'

.PHONY: bench-scale
bench-scale: ## Every page and verb with a million jobs and 200 topics: first paint, and Redis's slowest commands
	@$(DEPS) test
	@go test -run='^$$' -bench='^BenchmarkPagesAtScale$$' -benchtime=1x -timeout=60m ./internal/e2e

.PHONY: faults
faults: ## Every kind of fault, all jobs counted, report in .cache/faults (FAULTS_JOBS, FAULTS_STRIKES a kind; FAULTS_KINDS=regexp)
	@$(DEPS) test
	@mkdir -p .cache/faults
	FAULTS_REPORT=$(CURDIR)/.cache/faults go test -count=1 -timeout=60m -v -run='^Test(NothingIsLost|TheOldConsumer)' ./internal/faults \
		| grep -E --line-buffered '^ *(---|ok|FAIL|panic)|_test.go:[0-9]+: '
	@cat .cache/faults/faults.md

.PHONY: trials
trials: ## The end-to-end tests at full length, for long
	@$(DEPS) test
	SIDECAR_E2E_SCALE=20 go test -count=1 -timeout=120m ./internal/e2e

.PHONY: soak
soak: ## 500 jobs a second and a fault every 10 s, memory watched (FAULTS_SOAK=20m)
	@$(DEPS) test
	@mkdir -p .cache/faults
	FAULTS_REPORT=$(CURDIR)/.cache/faults FAULTS_SOAK=$(or $(FAULTS_SOAK),20m) go test -count=1 -timeout=90m -v -run='^TestASoak' ./internal/faults
	@cat .cache/faults/soak.md

.PHONY: screenshots
screenshots: ## The dashboard's pictures in docs/images, as a browser sees it
	@$(DEPS) test
	@mkdir -p docs/images
	SCREENSHOTS=$(CURDIR)/docs/images go test -count=1 -run='^TestPeopleSeeAndPutRight' ./internal/e2e

.PHONY: cover
cover: ## Coverage of compat, queue and fastcgi: a number to look at, not a gate
	@$(DEPS) test
	@mkdir -p .cache
	go test -coverpkg=./compat,./queue,./fastcgi -coverprofile=.cache/cover.out ./...
	@go tool cover -func=.cache/cover.out | tail -n 1

.PHONY: ci
ci: ## What decides whether a change is green
	.ci/run

.PHONY: demo
demo: ## See it work: private Redis and php-fpm, 300 jobs, where each one went (DEMO=stay keeps it up)
	@$(DEPS) test
	@$(MAKE) --no-print-directory build
	@deploy/demo/demo.sh

.PHONY: install
install: build ## Install binary, configuration and systemd unit (PREFIX, DESTDIR)
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' deploy/scripts/install.sh install

.PHONY: uninstall
uninstall: ## Remove binary and unit; the configuration stays
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' deploy/scripts/install.sh uninstall

.PHONY: dist
dist: ## Static linux binaries for amd64 and arm64 as tarballs, with checksums, in dist/
	deploy/scripts/dist.sh '$(VERSION)'

.PHONY: deps
deps: ## Install what tests, linters and demo need and is missing (apt)
	@$(DEPS) test race lint
