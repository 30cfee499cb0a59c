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
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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

.PHONY: oracle
oracle: ## Hold 20,000 random filters against the oracle (EARSHOT_SEED repeats a run)
	EARSHOT_ORACLE=20000 go test -count=1 -timeout 45m -run TestListAgreesWithTheOracle -v ./internal/httpapi

.PHONY: model
model: ## Try operations against their model for five minutes (EARSHOT_MODEL)
	EARSHOT_MODEL=$${EARSHOT_MODEL:-5m} go test -count=1 -timeout 45m -run TestOperationsAgreeWithAModel -v ./internal/operation -rapid.checks=1000000 -rapid.steps=60

.PHONY: bench-list
bench-list: ## Measure the list at 10 million feedback, on a PostgreSQL of its own (takes some ten minutes and 20 GB)
	go run ./bench/list

.PHONY: bench-list-clean
bench-list-clean: ## Stop the PostgreSQL of bench-list and remove its data
	go run ./bench/list -clean

.PHONY: bench-operation
bench-operation: ## Measure operations on a million feedback, on a PostgreSQL of its own (takes about an hour and 10 GB)
	go run ./bench/operation

.PHONY: bench-operation-clean
bench-operation-clean: ## Stop the PostgreSQL of bench-operation and remove its data
	go run ./bench/operation -clean

.PHONY: bench-reading
bench-reading: ## Measure what reading texts costs creates, and how fast a million are read again (takes about ten minutes and 5 GB)
	go run ./bench/text

.PHONY: bench-reading-clean
bench-reading-clean: ## Stop the PostgreSQL of bench-reading and remove its data
	go run ./bench/text -clean

.PHONY: eval-text
eval-text: ## Measure how often sentiment is told right, and write the figures into docs/text-analysis.md
	go test -count=1 -v -run '^TestEvaluation$$' ./internal/analysis -eval

.PHONY: bench-text
bench-text: ## Measure how long reading an answer takes, and write the figures into docs/text-analysis.md
	go test -count=1 -v -run '^TestSpeed$$' ./internal/analysis -speed

.PHONY: docs
docs: build ## Write docs/configuration.md anew from the commands and flags
	bin/earshot reference >bin/configuration.md
	mv bin/configuration.md docs/configuration.md

.PHONY: dashboard-check
dashboard-check: ## Ask a real Prometheus every question of the dashboard and the alerts (Debian; about a minute)
	@deploy/dashboard-check

.PHONY: pages
pages: ## Open shared reports in Chromium; leaves pictures in bin/pages (FEEDBACK: how many are invented)
	@.ci/tools npm chromium
	@.ci/run pages

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
