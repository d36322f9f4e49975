# zeta-scaler: needs Go, make and the package registries; everything else is fetched at the versions that go.mod names.
# The two commands of the README are `make demo` and `make test`. `make help` lists the rest.

GO        ?= go
BIN       := $(CURDIR)/bin
TOOLBIN   := $(BIN)/tools

# One set of build flags for the binary, the tests and the programs of e2e, so that they share one build cache.
export GOFLAGS := $(strip $(filter-out -trimpath -buildvcs=%,$(GOFLAGS)) -trimpath -buildvcs=false)
# RACE=1 runs tests under the race detector, which needs a C compiler.
RACE      ?=
export CGO_ENABLED := $(if $(RACE),1,0)

VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
REVISION  := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
BRANCH    := $(shell git rev-parse --abbrev-ref HEAD 2>/dev/null || echo unknown)
# The commit's own date: two builds of one commit are the same file.
BUILDDATE := $(shell git log -1 --format=%cd --date=format:%Y%m%d-%H:%M:%S 2>/dev/null || echo unknown)
EPOCH     := $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
VERSIONPKG := github.com/prometheus/common/version
LDFLAGS   := -s -w -X $(VERSIONPKG).Version=$(VERSION) -X $(VERSIONPKG).Revision=$(REVISION) \
             -X $(VERSIONPKG).Branch=$(BRANCH) -X $(VERSIONPKG).BuildUser=make -X $(VERSIONPKG).BuildDate=$(BUILDDATE)

# What runs the tests: `go test`, or a wrapper that takes the same arguments (.ci/run puts gotestsum here).
GOTEST    ?= $(GO) test
PACKAGES  ?= ./...
TESTFLAGS ?=
FUZZTIME  ?= 20s
# The module, and those inside it that have code of ours (tools and the programs of e2e have none).
MODULES   := . dashboards/generator e2e/browser e2e/deploy

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## build and run the demo: page, API and metrics on http://127.0.0.1:9880 (DEMO="--scenario flap" for flags)
	$(BIN)/zeta-scaler demo $(DEMO)

.PHONY: test
test: ## every test that needs no other program (RACE=1: under the race detector)
	$(GOTEST) $(if $(RACE),-race) -timeout 20m $(TESTFLAGS) $(PACKAGES)

.PHONY: faults
faults: ## the fault harnesses of actions and drains in full, which the race detector is too slow for
	$(GOTEST) -timeout 20m $(TESTFLAGS) -run '^TestFaults' ./actuators ./drain

.PHONY: e2e e2e-programs e2e-browser
e2e: e2e-programs e2e-browser ## tests against real programs: Zeta, Prometheus, Alertmanager, Kubernetes, PostgreSQL, Chromium (see docs/testing.md)

# The stories on real programs wait most of the time, so three are told at once, however few the cores.
e2e-programs:
	$(GOTEST) -tags e2e -count=1 -timeout 45m -parallel 3 -v $(TESTFLAGS) ./e2e/...

# A module of its own, so that what drives a browser is no dependency of ours.
e2e-browser: build
	cd e2e/browser && $(GOTEST) -count=1 -timeout 10m -v $(TESTFLAGS) ./...

.PHONY: bench
bench: $(TOOLBIN)/benchstat ## benchmarks with allocations, and the ratios that docs/performance.md keeps
	GO="$(GO)" BENCHSTAT="$(TOOLBIN)/benchstat" sh bench/run.sh

.PHONY: bench-quality
bench-quality: ## every built-in workload under the packs and under models of other controllers: the tables of docs/choosing-a-pack.md
	$(GO) run ./bench/quality $(QUALITY)

.PHONY: bench-peers
bench-peers: ## zeta-scaler beside vmalert, Prometheus' rules, KEDA's and HPA's way of asking (half an hour)
	GO="$(GO)" sh bench/peers.sh

.PHONY: lint
lint: $(TOOLBIN)/golangci-lint $(TOOLBIN)/govulncheck ## golangci-lint, and known vulnerabilities where their database can be had
	@set -e; for module in $(MODULES); do echo "golangci-lint $$module"; (cd $$module && $(TOOLBIN)/golangci-lint run --allow-parallel-runners ./...); done
	sh tools/govulncheck.sh $(TOOLBIN)/govulncheck

.PHONY: fmt
fmt: $(TOOLBIN)/golangci-lint ## format the code
	$(TOOLBIN)/golangci-lint fmt ./...

.PHONY: build
build: ## bin/zeta-scaler
	$(GO) build -ldflags "$(LDFLAGS)" -o $(BIN)/zeta-scaler ./cmd/zeta-scaler

.PHONY: release
release: ## archives for Linux and macOS, amd64 and arm64, with checksums, in dist/ (VERSION=v1.2.3 names another version)
	GO="$(GO)" LDFLAGS="$(LDFLAGS)" VERSION="$(VERSION)" EPOCH="$(EPOCH)" PLATFORMS="$(PLATFORMS)" DIST="$(DIST)" sh tools/release.sh

.PHONY: generate
generate: ## write generated files again
	$(GO) generate ./...

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (20s); KEEP=32 keeps inputs that it finds
	GO="$(GO)" FUZZTIME="$(FUZZTIME)" KEEP="$(KEEP)" sh tools/fuzz.sh

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN) e2e/artifacts dist

# The tools, each built once per version from tools/go.mod.
tool-golangci-lint := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
tool-govulncheck   := golang.org/x/vuln/cmd/govulncheck
tool-gotestsum     := gotest.tools/gotestsum
tool-benchstat     := golang.org/x/perf/cmd/benchstat

$(TOOLBIN)/%: tools/go.mod tools/go.sum
	CGO_ENABLED=0 $(GO) -C tools build -o $@ $(tool-$*)
