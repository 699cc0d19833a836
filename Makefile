# The commands of the project. Each is a plain command line that can also be
# typed; what has to be installed for them is in test/setup.

GO      ?= go
BIN     := bin/toolcrib
CACHE   := $(CURDIR)/.cache
TOOLS   := $(CACHE)/bin
SOURCES := cmd internal packaging test
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# The same flags for every go command below, also those that tests run.
# The version is stamped by -X, so that a build also works without git.
export GOFLAGS := -buildvcs=false
export GOLANGCI_LINT_CACHE := $(CACHE)/golangci-lint

.DEFAULT_GOAL := help
.PHONY: help run build release test setup check cross lint fmt fuzz soak bench clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build and serve, with what ARGS says ("make run ARGS='--config servers.json'")
	$(BIN) serve $(ARGS)

build: ## build bin/toolcrib
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(BIN) ./cmd/toolcrib

# The time is that of the last commit, so that the same source gives the same
# bytes at any time.
release: ## build the archives for all systems, and their checksums, into dist/
	rm -rf dist
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(GO) run ./packaging/release -version '$(VERSION)' -out dist

# The stages of the whole check, in this order also under make -j.
test: check cross ## the whole check; ends with the test runner's summary
	TOOLCRIB_TEST_POSTGRES=required $(TOOLS)/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg -- -race -timeout 20m ./...

setup: ## install and build what the check needs and is missing
	@test/setup/system.sh
	@test/setup/tools.sh
	@test/setup/npm.sh

check: lint ## format, vet, linters, tidiness of go.mod
	@echo '--- go.mod and go.sum are tidy'
	@$(GO) mod tidy -diff
	@cd tools && $(GO) mod tidy -diff

lint: setup ## gofumpt, go vet and golangci-lint
	@echo '--- gofumpt'
	@files=$$($(TOOLS)/gofumpt -l $(SOURCES)) || exit 1; \
		if [ -n "$$files" ]; then echo 'not formatted (run "make fmt"):'; echo "$$files"; exit 1; fi
	@echo '--- go vet'
	@$(GO) vet ./...
	@echo '--- golangci-lint'
	@$(TOOLS)/golangci-lint run ./...

# To vet is to compile; the builds find what only linking finds.
cross: check ## vet and link for other systems
	@echo '--- go vet for windows/amd64 and darwin/arm64'
	@CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) vet ./...
	@CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	@echo '--- go build for linux/amd64, windows/amd64 and darwin/arm64'
	@CGO_ENABLED=0 GOOS=linux GOARCH=amd64 $(GO) build -o /dev/null ./cmd/toolcrib
	@CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) build -o /dev/null ./cmd/toolcrib
	@CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) build -o /dev/null ./cmd/toolcrib

fmt: setup ## format all Go files
	$(TOOLS)/gofumpt -w $(SOURCES)

fuzz: ## run each fuzz target for 30 s (FUZZTIME=...)
	@test/setup/fuzz.sh "$${FUZZTIME:-30s}"

soak: setup ## ten times as many starts, kills and changes under calls as in the check, and voice devices for half an hour (SOAK_SEED=... repeats a run, SOAK_TIME=5m shortens)
	SOAK=1 $(GO) test -count=1 -timeout 90m -v ./test/soak

bench: build ## measure against the goals, with what ARGS says ("make bench ARGS='-quick -only a'")
	$(GO) run ./test/bench $(ARGS)

clean: ## remove all that was built or installed here
	rm -rf bin dist $(CACHE) test/npm/node_modules
