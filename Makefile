# Two commands do everything on a fresh machine: `make run` and `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
# Tests that take long are behind a marker; `make test-slow` runs them, or some: LONG_ARGS="engines --minutes 10".
PYTEST_ARGS ?=
LONG_ARGS ?=

.PHONY: help run test test-slow test-mutants test-versions coverage check docs man format bench bench-quick lock sbom package clean

help: ## Show this list.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

run: $(VENV)/.ready-run ## Set up .venv and start the platform in the browser, with synthetic data.
	@$(BIN)/pydplib serve --demo

# What a database must keep: transactions, locks, chains, what a kill or two presses at once leave behind.
KEPT := tests/web/ledger tests/web/backups tests/web/test_jobs_show_progress.py tests/web/test_faults_at_every_write.py tests/web/test_migrations_are_whole.py \
  tests/web/auditlog/test_audit_chain.py tests/web/projects/test_four_eyes_race.py tests/web/people/test_sessions.py \
  tests/web/people/test_one_time_links.py tests/web/reporting/test_labelling_claim_race.py \
  tests/web/reporting/test_signing_survives_a_kill.py tests/web/intake/test_killed_processes.py \
  tests/web/intake/test_pseudonyms_and_recording.py tests/web/intake/test_snapshots_and_erasure.py \
  tests/web/exports/test_killed_exports_and_attacks.py tests/web/analyses/test_asking.py \
  tests/web/analyses/test_ledger_through_the_server.py tests/web/analyses/test_totals_bind_everything.py \
  tests/web/dashboards/test_dashboards_pay_once.py \
  tests/web/dashboards/test_dashboards_pressed_at_once.py

test: $(VENV)/.ready-dev ## Set up .venv and what else the tests need, then run them.
	@scripts/setup_system.sh chromium postgresql java groff pango
	@$(BIN)/python -m pytest -n 2 -m "not slow" $(PYTEST_ARGS)
	@echo "What the database must keep, again on PostgreSQL:"
	@PYDPLIB_TEST_DATABASE=postgres $(BIN)/python -m pytest -n 2 -m "not slow" $(KEPT) $(PYTEST_ARGS)

test-slow: $(VENV)/.ready-dev ## Run the long tests in parts: statistics, engines, installations, the platform on PostgreSQL, versions, planted bugs.
	@scripts/setup_system.sh chromium postgresql mariadb java groff pango nginx
	@$(BIN)/python scripts/long_tests.py $(LONG_ARGS)

test-mutants: $(VENV)/.ready-dev ## Plant privacy bugs one by one and check that the tests notice each (some 15 minutes).
	@$(BIN)/python scripts/mutants.py

test-versions: ## Run the core's tests on the oldest and the newest versions of its dependencies, in new environments.
	@scripts/test_versions.sh

coverage: $(VENV)/.ready-dev ## Run the tests and show how much of the library and of the web platform they reach, with floors.
	@scripts/setup_system.sh chromium postgresql java groff pango
	@$(BIN)/python scripts/coverage_floors.py $(PYTEST_ARGS)

check: $(VENV)/.ready-dev ## Style, types and the layers of the architecture.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

docs: $(VENV)-docs/.ready ## Build the documentation site into site/, in an environment of its own.
	@NO_MKDOCS_2_WARNING=1 $(VENV)-docs/bin/mkdocs build -q && echo "Written: site (open site/index.html)"

man: $(VENV)/.ready-dev ## Write the manual page build/pydplib.1 from the help of every command.
	@$(BIN)/python scripts/man.py build/pydplib.1 && echo "Written: build/pydplib.1 (read it: man -l build/pydplib.1)"

package: $(VENV)/.ready-dev ## Build the wheel and the source archive into dist/.
	@$(BIN)/python -m hatchling build

format: $(VENV)/.ready-dev ## Format the code and fix what can be fixed.
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.ready-dev ## Run every benchmark, with peers in environments of their own; renews the numbers of the documents.
	@scripts/bench.sh

bench-quick: $(VENV)/.ready-dev ## Run every benchmark at tiny sizes, without peers.
	@scripts/bench.sh --quick

lock: ## Resolve the pinned versions anew (needs uv).
	uv pip compile pyproject.toml --extra web --extra notebook --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --upgrade -q -o locks/run.lock
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --upgrade -q -o locks/dev.lock
	uv pip compile pyproject.toml --extra docs --extra plot --extra notebook --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --upgrade -q -o locks/docs.lock
	uv pip compile benchmarks/peers.in --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --upgrade -q -o locks/bench.lock

sbom: $(VENV)/.ready-run ## Write sbom.json: what `make run` installs, with versions and checksums (CycloneDX).
	@$(BIN)/python scripts/sbom.py sbom.json && echo "Written: sbom.json"

clean: ## Remove what the commands above made.
	rm -rf $(VENV) $(VENV)-docs .venv-bench* build dist site sbom.json benchmarks/results/*.partial pydplib-demo pydplib-demo-data \
	  .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# A development environment holds everything that a run needs, so it counts as ready for both.
$(VENV)/.ready-dev: locks/dev.lock pyproject.toml
	@scripts/setup_venv.sh $(VENV) locks/dev.lock
	@touch $(VENV)/.ready-dev $(VENV)/.ready-run

$(VENV)-docs/.ready: locks/docs.lock pyproject.toml
	@scripts/setup_venv.sh $(VENV)-docs locks/docs.lock
	@touch $(VENV)-docs/.ready

$(VENV)/.ready-run: locks/run.lock pyproject.toml
	@scripts/setup_venv.sh $(VENV) locks/run.lock
	@touch $(VENV)/.ready-run
