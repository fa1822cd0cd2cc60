# A fresh machine needs Python 3.11 or later, make and git: everything else is installed into this
# folder. Stamp files make a second run free.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11 python
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in $(CANDIDATES); do \
	"$$p" -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && { echo "$$p"; break; }; done)

VENV := .venv
BIN := $(VENV)/bin
# Node comes from PyPI into the virtual environment: both cdk and jsii must find that one.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION := 1
export CDK_DISABLE_CLI_TELEMETRY := true
export PYTHONDONTWRITEBYTECODE :=

CODE := $(wildcard app.py functions infra supply_chain daicho_cli demonstration tests bench examples docs/_site)
PYTEST := $(BIN)/python -m pytest
TOOLS := $(VENV)/.requirements node_modules/.installed
CDK := .local/node/node_modules/.bin/cdk

##@ Use
.PHONY: up down reset demo-data expire status logs
up: $(TOOLS) ## Start the local AWS, deploy, load demo data (PORT=4600 for another port)
	@$(BIN)/daicho local up

down: $(VENV)/.requirements ## Stop the local AWS; data and stream records stay
	@$(BIN)/daicho local down

reset: $(VENV)/.requirements ## Stop the local AWS and forget its data
	@$(BIN)/daicho local reset

demo-data: $(VENV)/.requirements ## Load the demo data once more
	@$(BIN)/daicho local sample-data

expire: $(VENV)/.requirements ## What expires within DAYS=8 expires now, each on the day that it would
	@$(BIN)/daicho local expire --days $(or $(DAYS),8)

status: $(VENV)/.requirements ## Say what runs, and where
	@$(BIN)/daicho local status

logs: $(VENV)/.requirements ## What the functions logged, newest last
	@$(BIN)/daicho local logs

##@ Measure
.PHONY: bench bench-units
bench: $(TOOLS) ## Processor time and start-up beside named peers (PARTS='projector api' for some)
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 \
		$(BIN)/python -m bench.speed $(PARTS)

bench-units: $(TOOLS) ## Capacity units of writes and pages, on Dynoxide
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 \
		$(BIN)/python -m bench.operations

.PHONY: bench-events
bench-events: $(TOOLS) .local/.programs ## Events at 200 writes/s on the local AWS, whose bus fails a third of the time (RATE=200, DURATION=120)
	@$(BIN)/python -m bench.events --rate $(or $(RATE),200) --seconds $(or $(DURATION),120)

.PHONY: bench-bounds simulate-shares
bench-bounds: $(TOOLS) ## The most expensive requests that were found, without bounds and with them
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 \
		$(BIN)/python -m bench.bounds | grep -v '^{"_aws"'

simulate-shares: $(TOOLS) ## A tenant at its quota beside another: requests and derivation delay
	@$(BIN)/python -m bench.shares

.PHONY: bench-search bench-search-full
bench-search bench-search-full: $(TOOLS)
bench-search: ## Search beside seed 001's: 20,000 and 60,000 contacts; its data stays in .local/bench
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 \
		$(BIN)/python -m bench.search

bench-search-full: ## The same up to 500,000 contacts: 25 GB of disk
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 \
		$(BIN)/python -m bench.search --full

.PHONY: bench-tally
bench-tally: $(TOOLS) ## What counting costs: units an event, idle tallies, readings
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 \
		$(BIN)/python -m bench.tally

.PHONY: bench-rollup
bench-rollup: $(TOOLS) ## A rollup while another tenant makes it expensive: runs until a vote is in its total, requests of a turn
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 \
		$(BIN)/python -m bench.rollup

.PHONY: bench-cost
bench-cost: $(TOOLS) ## The estimate of daicho cost beside the units of a mixed run over every domain
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 \
		$(BIN)/python -m bench.cost

.PHONY: bench-rebuild
bench-rebuild: $(TOOLS) ## A rebuild of 130,000 items under kills, writers and readers: answers, units, time (DIVIDE=10: fewer items)
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 \
		$(BIN)/python -m bench.rebuild --divide $(or $(DIVIDE),1)

.PHONY: bench-verify
bench-verify: $(TOOLS) ## A verification and a repair: time, memory, units, what is found (ITEMS=1000000, PART=size)
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 \
		$(BIN)/python -m bench.verify --items $(or $(ITEMS),100000) $(if $(PART),--part $(PART))

.PHONY: bench-restore
bench-restore: $(TOOLS) ## Restores and outages: differences, time and units (ITEMS=1000000, PART=items)
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 \
		$(BIN)/python -m bench.restore --items $(or $(ITEMS),20000) $(if $(PART),--part $(PART))

.PHONY: bench-figures
bench-figures: $(TOOLS) ## Figures and series of 50,000 sales and of Chinook equal DuckDB's; their units
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 \
		$(BIN)/python -m bench.figures

.PHONY: bench-console
bench-console: $(TOOLS) ## The console over 60,000 contacts: requests a letter, longest task of 1,000 scrolled rows, bytes
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 \
		$(BIN)/python -m bench.console

.PHONY: simulate-votes
simulate-votes: $(TOOLS) ## 20,000 votes a second over DynamoDB's partition limits, both ways
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 \
		$(BIN)/python -m bench.votes

.PHONY: trace
trace: $(VENV)/.requirements ## Which files a POST, a projection and a search pass through, and how often
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 \
		$(BIN)/python -m bench.trace | grep -v '^{"_aws"'

##@ Test
.PHONY: test test-console lint format unit models property package docs-check integration delivery infra e2e e2e-demonstration e2e-projects mutation-check
# Four suites at a time. Those over HTTP and in a browser begin: they wait half of their time for
# schedules, streams and deployments. The others have a lower priority beside them, and keep both
# processors busy meanwhile. What each suite prints comes in one piece, where make can do that (GNU
# make 4). INSTALLED: the programs are there. If suites still waited for them, make would begin with
# the others.
IN_ONE_PIECE := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
SUITES := e2e-projects e2e-demonstration test-console unit delivery integration lint infra property docs-check package
BESIDE := $(if $(INSTALLED),nice -n 10)
PROGRAMS := $(if $(INSTALLED),,.local/.programs)
test: $(TOOLS) .local/.programs .local/.docs ## Everything, from nothing
	@$(MAKE) --jobs=4 $(IN_ONE_PIECE) INSTALLED=1 $(SUITES)

.PHONY: check
check: $(TOOLS) ## What to run after each edit: ruff, mypy with its cache, quick tests, a few planted faults
	@$(call timed,$(BIN)/ruff check --quiet $(CODE) && $(BIN)/ruff format --check --quiet $(CODE) && \
		$(BIN)/mypy $(CODE) && \
		HYPOTHESIS_PROFILE=quick $(PYTEST) $(call find_suites,unit property) tests/delivery/test_planted.py -m "not programs and not lengthy or delivery" -n 2 -q)

lint: $(VENV)/.requirements ## ruff, mypy --strict, and whether a file contains a secret
	@$(call timed,$(BIN)/ruff check --quiet $(CODE) && \
		$(BIN)/ruff format --check --quiet $(CODE) && $(BESIDE) $(BIN)/mypy $(CODE) && \
		$(BIN)/python -m supply_chain.secret_scan)

format: $(VENV)/.requirements ## Let ruff format and fix
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

# A command, its processor time (user, system), and how long it took.
timed = TIMEFORMAT='--- $@: %0U s and %0S s of processor time in %0R s'; time { $(1); } || \
	{ echo "--- $@: failed"; exit 1; }
# Suites of the library, and the same of the demonstration unless it has been removed.
find_suites = $(foreach suite,$(1),$(wildcard tests/$(suite) tests/demonstration/$(suite)))
run_tests = @$(call timed,$(BESIDE) $(PYTEST) $(call find_suites,$(1)) -q $(2))

unit: $(TOOLS) ## The pure parts, models of rules about time, and what was recorded of all routes
	$(call run_tests,unit golden models,-n 2)

models: $(VENV)/.requirements ## Every state of the rules about time, and what each condition is for (RULES='30 32' for some)
	@$(call timed,$(BIN)/python -m tests.models $(RULES))

property: $(VENV)/.requirements ## Laws of the pure parts
	$(call run_tests,property,-n 2)

package: $(VENV)/.requirements ## The wheel, the licences, the workflows
	$(call run_tests,package)

docs-check: $(TOOLS) .local/.docs ## The documentation: links, words, spelling, the site and its search
	$(call run_tests,docs)

integration: $(TOOLS) $(PROGRAMS) ## Handlers over Dynoxide (DYNOXIDE=none: over MiniStack's DynamoDB)
	$(call run_tests,integration,-n 2 --dist loadfile --no-loadscope-reorder)

delivery: $(TOOLS) ## The stream path under faults
	$(call run_tests,delivery,-n 2)

.PHONY: trials delivery-soak soak local-speed
trials: $(TOOLS) .local/.programs ## The long tests at their whole size: before a release, or a change of what they test
	@TRIALS=1 $(PYTEST) $(call find_suites,integration/commands integration/tenants integration/web) -n 2 --dist loadfile -q
	@TRIALS=1 $(PYTEST) tests/delivery/test_shrinking.py tests/delivery/test_simulator.py -n 2 -q
	@TRIALS=1 $(PYTEST) tests/trials tests/package/test_layer.py tests/integration/values/test_drawn_requests.py -q
	@TRIALS=1 $(PYTEST) tests/unit/web/openapi/test_document_clients.py $(wildcard tests/demonstration/unit/test_typed_clients.py) -q
	@TRIALS=1 $(PYTEST) tests/e2e/test_durable_state.py tests/e2e/test_own_project.py tests/e2e/test_changed_declarations.py tests/e2e/test_six_changes.py tests/e2e/test_trial.py -q
	@test ! -d tests/demonstration/e2e || TRIALS=1 $(PYTEST) tests/demonstration/e2e/test_followed_pages.py tests/demonstration/e2e/test_quotas.py -q
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 $(BIN)/python -m tests.trials.second_opinions

delivery-soak: $(VENV)/.requirements ## Delivery in the large: 20,000 schedules (SEED=1 SCHEDULES=1 PROFILE=plain replays one)
	@$(BIN)/python -m tests.delivery.soak --seed $(or $(SEED),1) \
		$(if $(SCHEDULES),--schedules $(SCHEDULES)) $(if $(PROFILE),--profile "$(PROFILE)")

soak: $(TOOLS) .local/.programs ## The local AWS under load, kills, faults and changes: nothing is lost or miscounted (MINUTES=10, KILLS=3, SEED=1)
	@$(BIN)/python -m tests.demonstration.e2e.soak --minutes $(or $(MINUTES),10) --kills $(or $(KILLS),3) $(if $(SEED),--seed $(SEED))

local-speed: $(TOOLS) .local/.programs ## How fast the local AWS is, beside thresholds: on a machine that does nothing else
	@$(BIN)/python -m tests.demonstration.e2e.local_speed

mutation-check: $(VENV)/.requirements ## Faults planted in the code: what finds each, and how soon (FAULTS='no fence', MIXED=1)
	@$(BIN)/python -m tests.delivery.mutants.mutation_check $(if $(MIXED),--mixed) \
		$(if $(SEED),--seed $(SEED)) $(if $(FAULTS),"$(FAULTS)")
	@$(BIN)/python -m tests.property.planted_search $(if $(FAULTS),"$(FAULTS)")

.PHONY: isolation fuzz
isolation: $(TOOLS) $(PROGRAMS) ## Attacks of one tenant on another over every route; tokens that the local AWS judges
	@$(BIN)/python -m tests.integration.api.isolation
	@test ! -d tests/demonstration/e2e || $(PYTEST) tests/demonstration/e2e/test_tokens.py -q

fuzz: $(TOOLS) ## Requests that schemathesis draws from the OpenAPI document (CASES=20000, SEED=1)
	@$(BIN)/python -m tests.integration.api.fuzz --cases $(or $(CASES),20000) --seed $(or $(SEED),1)

.PHONY: fault-matrix
fault-matrix: $(TOOLS) ## Which suites find each planted fault, and how soon; resumes (WRITE=1 writes the page, FAULTS='no fence')
	@$(BIN)/python -m tests.matrix.fault_matrix $(if $(WRITE),--write) $(if $(FAULTS),"$(FAULTS)")

test-console: $(TOOLS) ## The console in a browser; the first run installs it (230 MB) into .local/console
	@test ! -d tests/console || { $(BIN)/python -m tests.console.install && $(call timed,$(PYTEST) tests/console -q); }

.PHONY: screenshots
screenshots: $(TOOLS) ## The pictures of the console in README and documentation, in docs/images/console
	@AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 \
		$(BIN)/python -m tests.console.screenshots

.PHONY: serve-console
serve-console: $(TOOLS) ## The console over demo data in memory (CONSOLE_PORT=8080 for that port)
	@$(BIN)/python -m tests.console.serve

infra: $(TOOLS) ## The synthesised template
	$(call run_tests,infra)

e2e: e2e-projects e2e-demonstration ## Over HTTP, on local stacks of their own

e2e-projects: $(TOOLS) $(PROGRAMS) ## Projects that are made, changed and upgraded
	@$(call timed,$(PYTEST) tests/e2e -q)

e2e-demonstration: $(TOOLS) $(PROGRAMS) ## The demonstration, unless it has been removed
	@test ! -d tests/demonstration/e2e || { $(call timed,$(PYTEST) tests/demonstration/e2e -q); }

##@ Documentation
.PHONY: docs-site docs-serve
MKDOCS := NO_MKDOCS_2_WARNING=1 .local/docs/bin/python -m mkdocs
docs-site: .local/.docs ## The documentation as a site, in build/site; a warning is an error
	@$(MKDOCS) build --strict

docs-serve: .local/.docs ## The same while you write: http://127.0.0.1:8000
	@$(MKDOCS) serve

##@ Build and deploy
.PHONY: dist snapshot golden synth bootstrap diff deploy destroy
dist: $(VENV)/.requirements ## The wheel and the source distribution, in dist/
	@rm -rf dist
	@$(BIN)/uv build --quiet --offline --no-build-isolation --python $(BIN)/python --out-dir dist
	@ls dist

snapshot: $(VENV)/.requirements ## Write the template snapshots of tests/infra again
	$(PYTEST) tests/infra/test_snapshot.py tests/infra/test_cost_footprint.py --snapshot -q

golden: $(VENV)/.requirements ## Record requests, answers and stored items of the demonstration again
	$(PYTEST) tests/demonstration/golden --record -q

synth: .local/.programs ## The templates of all stages
	$(CDK) synth --quiet -c stage=dev --output cdk.out/dev
	$(CDK) synth --quiet -c stage=prod -c demonstration=true -c alarm_topic=none --output cdk.out/prod

bootstrap: .local/.programs ## Prepare a real account for CDK, once for each Region
	$(CDK) bootstrap -c stage=$(or $(STAGE),dev) $(CONTEXT)

diff: .local/.programs ## What a deployment of STAGE=dev changes in its resources
	$(CDK) diff -c stage=$(or $(STAGE),dev) $(CONTEXT)

deploy: .local/.programs ## To a real account: make deploy STAGE=prod CONTEXT='-c alarm_email=me@example.com'
	$(CDK) synth --quiet -c stage=$(or $(STAGE),dev) $(CONTEXT)
	@$(BIN)/daicho plan --stage $(or $(STAGE),dev) --template cdk.out || test $$? = 2
	$(CDK) deploy --app cdk.out $(CONTEXT)

destroy: $(VENV)/.requirements ## Remove STAGE=dev from its account, with all its data
	@$(BIN)/daicho destroy --stage $(or $(STAGE),dev)

##@ Generate
.PHONY: generate generation openapi docs lock
generate: $(VENV)/.requirements ## Write all generated files; says which it changed
	@$(BIN)/daicho generation && $(BIN)/daicho docs && $(BIN)/daicho openapi

generation: $(VENV)/.requirements ## Append changed declarations to functions/generations.json
	$(BIN)/daicho generation

openapi: $(VENV)/.requirements ## Write docs/reference/openapi.json
	$(BIN)/daicho openapi

docs: $(VENV)/.requirements ## Write the table of access patterns
	@$(BIN)/daicho docs

PIP_COMPILE = $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header
lock: $(TOOLS) ## Write the lock files again; UPGRADE=1 takes newer versions
	@for each in functions/daicho/cdk/functions/requirements-layer requirements daicho_cli/local/requirements-ministack requirements-docs tests/support/clients/requirements-clients; do \
		$(PIP_COMPILE) $(if $(UPGRADE),--upgrade) $$each.in -o $$each.txt || exit 1; done
	npm install --package-lock-only --ignore-scripts --silent
	@for each in daicho_cli/local/node daicho_cli/plan/node tests/console tests/support/clients/node; do \
		npm install --package-lock-only --ignore-scripts --silent --prefix $$each || exit 1; done

.PHONY: sbom audit secrets-baseline
sbom: $(VENV)/.requirements ## Bills of materials (CycloneDX) of the deployed packages and of the tools, in build/sbom/
	@$(BIN)/python -m supply_chain.bill_of_materials

audit: $(VENV)/.requirements ## Known vulnerabilities of every locked package (asks the advisory services)
	@$(BIN)/python -m supply_chain.vulnerability_audit

secrets-baseline: $(VENV)/.requirements ## Accept what the secrets scan finds: none of it is a secret
	@$(BIN)/python -m supply_chain.secret_scan --write

.PHONY: check-locks
check-locks: $(VENV)/.requirements ## Whether every platform and Python gets wheels of what is locked (asks the registry)
	@$(BIN)/python -m tests.package.check_locks

.PHONY: help clean
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

clean: ## Remove everything that make installed or built (not the local AWS's data)
	rm -rf $(VENV) node_modules build cdk.out .mypy_cache .ruff_cache .pytest_cache .hypothesis

# --- What is installed -----------------------------------------------------------------------

$(VENV)/.uv: requirements.txt
ifeq ($(strip $(PYTHON)),)
	@echo "Daicho needs Python 3.11 or later, and none is on the PATH. Or name one: make PYTHON=/path/to/python3.12" >&2; exit 1
endif
	@"$(PYTHON)" -c '$(NEW_ENOUGH)' || { echo "$(PYTHON) is $$("$(PYTHON)" -V 2>&1); Daicho needs 3.11 or later" >&2; exit 1; }
	@test -x $(VENV)/bin/pip || "$(PYTHON)" -m venv --clear $(VENV) || { \
		echo "$(PYTHON) cannot make virtual environments (on Debian: apt install python3-venv)" >&2; exit 1; }
	@# uv with its hashes, as the lock file has it.
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.txt > $(VENV)/uv.txt
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.txt
	@touch $@

# The project itself is installed in editable form: its code is used where it is, and the command
# is .venv/bin/daicho. The build backend is the pinned one of requirements.txt, not one that an
# isolated build would fetch.
$(VENV)/.requirements: $(VENV)/.uv requirements.txt pyproject.toml
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --offline --no-deps --no-build-isolation --editable .
	@touch $@

node_modules/.installed: package-lock.json $(VENV)/.requirements
	@npm ci --silent
	@touch $@

# MiniStack, the CDK command line and the layer for the Python of this machine. It looks each time
# what is missing, which takes no time.
.PHONY: .local/.programs
.local/.programs: $(VENV)/.requirements
	@$(BIN)/daicho local install

.local/.docs: requirements-docs.txt $(VENV)/.requirements
	@mkdir -p .local
	@test -x .local/docs/bin/python || $(BIN)/python -m venv --without-pip .local/docs
	@$(BIN)/uv pip sync --quiet --python .local/docs/bin/python --require-hashes requirements-docs.txt
	@touch $@
