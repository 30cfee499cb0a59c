# Everything a developer runs. CI runs .ci/run, and these targets use the same steps.

.DEFAULT_GOAL := help
SHELL := bash

TOOLS := $(shell .ci/tools --bin)
export PATH := $(TOOLS):$(PATH)

# The server that tests make their databases in, and the database of "make run" beside them.
export TEST_DATABASE_URL ?= postgres://postgres@127.0.0.1:5432/postgres
export EARSHOT_DATABASE_URL ?= $(dir $(TEST_DATABASE_URL))earshot

# How long "make fuzz" gives each target.
export FUZZTIME ?= 30s

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the binary into bin/
	CGO_ENABLED=0 go build -trimpath -o bin/earshot ./cmd/earshot

.PHONY: run
run: build ## Migrate the local database and serve it (EARSHOT_DATABASE_URL)
	@psql -Xqc 'CREATE DATABASE earshot' "$$TEST_DATABASE_URL" 2>/dev/null || true
	bin/earshot migrate
	bin/earshot serve

.PHONY: test
test: ## Run every test with the race detector, on a real PostgreSQL (TEST_DATABASE_URL)
	@.ci/tools gcc gotestsum
	@.ci/run test

.PHONY: test-short
test-short: ## Run the tests without the race detector, leaving out the long ones
	go test -short ./...

.PHONY: lint
lint: ## Run golangci-lint and shellcheck
	@.ci/tools golangci-lint shellcheck
	@.ci/run lint shell

.PHONY: fmt
fmt: ## Format the Go code
	@.ci/tools golangci-lint
	golangci-lint fmt ./...

.PHONY: vet
vet: ## Run go vet
	go vet ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target for a while (FUZZTIME)
	@.ci/run fuzz

.PHONY: db
db: ## Start a throwaway PostgreSQL unless one answers (DB_PORT); prints TEST_DATABASE_URL
	@.ci/db start

.PHONY: db-stop
db-stop: ## Stop the throwaway PostgreSQL and remove its data (DB_PORT)
	@.ci/db stop

.PHONY: verify
verify: ## Check formatting, go.mod, the migrations and the OpenAPI description
	@.ci/tools gofumpt npm
	@.ci/run format migrations openapi

.PHONY: tools
tools: ## Install the tools that the checks use
	@.ci/tools

.PHONY: ci
ci: ## Run everything CI runs
	bash .ci/run

.PHONY: clean
clean: ## Remove what was built here
	rm -rf bin node_modules
