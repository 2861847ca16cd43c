# Cutover's commands. `make demo` and `make test` work from a fresh clone: they install what is missing.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

BINARY := .build/release/cutover
# Exclusivity is checked at run time in debug builds, which all unit tests use; in release it would cost a tenth of every request.
RELEASE_FLAGS := --static-swift-stdlib -Xswiftc -enforce-exclusivity=unchecked
PYTHON := /usr/bin/python3
# What is measured is the release build, whatever binary the tests of this shell use.
BENCH := CUTOVER_BINARY=$(CURDIR)/$(BINARY) $(PYTHON)

.PHONY: fuzz fuzz-short sanitize build debug test test-swift test-integration simulate check format demo bench bench-quick bench-page bench-journal bench-detail bench-gate soak \
    deb clean setup

setup:
	@scripts/setup

build: setup
	swift build -c release $(RELEASE_FLAGS) --product cutover
	swift build -c release $(RELEASE_FLAGS) --product cutover-sync

debug: setup
	swift build --product cutover
	swift build --product cutover-sync

# Everything: unit tests, house rules, and the built binary against real servers. Ends with `N passed, N failed`.
test:
	@scripts/test all

test-swift:
	@scripts/test swift

# One file or one test: make test-integration ONLY="-k kill"
test-integration:
	@scripts/test integration $(ONLY)

# The proof by simulation from other seeds: make simulate SEEDS=1..100000, or a count; SEEDS=7..7 prints what one of them does
# when it fails.
simulate: setup
	swift build --build-tests
	CUTOVER_SIMULATE_SEEDS=$(or $(SEEDS),1..10000) swift test --skip-build --filter SimulationTests/nothingAcknowledged

check:
	@scripts/check

format:
	swift format format --in-place --parallel --recursive --configuration .swift-format Sources
	swift format format --in-place --parallel --recursive --configuration Tests/.swift-format Tests

demo: build
	@$(BINARY) demo

# Every row of the table of targets, and how cost grows; rewrites docs/performance.md. 20 minutes, on a machine that does
# nothing else. make bench PARTS="latency bodies" measures these again and leaves the others as they were.
bench: build
	@scripts/setup test
	$(BENCH) Benchmarks/bench.py $(if $(PARTS),--parts $(PARTS))

# Sees that all parts work; the page is left as it is.
bench-quick: build
	@scripts/setup test
	$(BENCH) Benchmarks/bench.py --quick

# docs/performance.md anew from what was measured last, after an edit of Benchmarks/findings.md.
bench-page:
	$(PYTHON) Benchmarks/bench.py --page

# The journal: dual writes per second and waits against one fsync of the disk, and what a million rows cost; rewrites its
# section of docs/performance.md.
bench-journal: build
	@scripts/setup test
	$(BENCH) Benchmarks/journal.py

# System calls and user instructions per request.
bench-detail: build
	@scripts/setup test
	$(BENCH) Benchmarks/detail.py

# User instructions and allocations per request against the kept numbers (Benchmarks/kept.json and
# Tests/IntegrationTests/allocations.json); fails when one has grown by more than 3 %. A minute; part of .ci/run.
bench-gate: build
	@scripts/setup test
	$(BENCH) Benchmarks/gate.py

# Ten minutes of mixed traffic (HTTP/1.1, TLS, HTTP/2, tunnels, events, uploads) with backends that come and go, reloads and upgrades,
# beside an nginx that gets the same (MINUTES=60 for an hour), then the torture tests at full length: a thousand kills, a hundred more
# among several gateways, a hundred thousand outstanding legs, a stop of 30 s.
# CUTOVER_SEED repeats a run.
soak: build
	@scripts/setup test
	$(PYTHON) Benchmarks/soak.py --minutes $(or $(MINUTES),10)
	CUTOVER_KILLS=1000 CUTOVER_LEGS=100000 CUTOVER_STOPPED_SECONDS=30 \
	    $(PYTHON) -m pytest Tests/IntegrationTests -k "torture or backpressure" --quiet
	CUTOVER_KILLS=100 $(PYTHON) -m pytest Tests/IntegrationTests/test_shared_store_kill.py --quiet

# Parsers and decoders against inputs that nobody wrote: every target of Tests/Fuzz for SECONDS, two at a time, from the kept
# inputs, then random frames of HTTP/2 against the built binary, a hundred thousand connections (FRAMES=n; `make test` has a short
# run). CUTOVER_SEED repeats a run.
fuzz: build
	@scripts/setup test
	@scripts/fuzz run $(or $(SECONDS),600)
	CUTOVER_FUZZ_CONNECTIONS=$(or $(FRAMES),100000) $(PYTHON) -m pytest Tests/IntegrationTests/test_http2_fuzz.py --quiet

# A minute for each target; part of .ci/run.
fuzz-short:
	@scripts/fuzz run $(or $(SECONDS),60)

# A build with ThreadSanitizer and one with AddressSanitizer, put to work by the Swift test suites and the integration tests; every report is
# a failure. More than an hour on two cores. make sanitize ONLY=swift, or ONLY="Tests/IntegrationTests/test_writes.py", runs less;
# scripts/sanitize thread|address is one of the two.
sanitize:
	@scripts/sanitize thread $(ONLY)
	@scripts/sanitize address $(ONLY)

# The Debian package, with its systemd unit: build/cutover_VERSION_ARCHITECTURE.deb.
deb: build
	@scripts/setup deb
	@scripts/package-deb $(BINARY) build

clean:
	rm -rf .build build
