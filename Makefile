# Plain POSIX make and Python 3.11 or newer; everything else is installed into environments below this folder.
.POSIX:

PYTHON ?= python3
SEED ?=
SEEDS ?= 10000
MINUTES ?= 3
SAMPLE ?= 0
LOCK_TOOL = uv==0.13.9

PIP_INSTALL = -m pip install --quiet --quiet --disable-pip-version-check --no-input
# The tests start hundreds of processes, each of which would compile the package anew where bytecode is not kept.
PYTEST = PYTHONDONTWRITEBYTECODE= .venv/bin/python -m pytest
IN_PARALLEL = -n auto --dist worksteal
TREES = trees=; for tree in src tests benchmarks examples docs; do \
	if [ -n "$$(find $$tree -name '*.py' 2>/dev/null)" ]; then trees="$$trees $$tree"; fi; done

NEED_PYTHON = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "ramet needs Python 3.11 or newer, and $(PYTHON) is not: name one with make PYTHON=/path/to/python3.12" >&2; \
	exit 2; }

# A half-made or moved environment has no working pip: it is made anew.
NEED_ENVIRONMENT = $(NEED_PYTHON); \
	"$$folder/bin/pip" --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear "$$folder" >/dev/null 2>&1 || { \
	echo "cannot create $$folder: check that the disk is writable and Python's venv is there (Debian: python3-venv)" >&2; \
	exit 2; }

INSTALL = $(NEED_ENVIRONMENT); \
	echo "setting up $$folder from $$lock (once, and after a change: about a minute)"; \
	"$$folder/bin/python" $(PIP_INSTALL) -r "$$lock" && \
	"$$folder/bin/python" $(PIP_INSTALL) --no-deps -e . && \
	touch "$@"

# A database that waits for the disk at every commit is half of a run: the tests' files are in memory where there is enough.
IN_MEMORY = if [ -z "$$TMPDIR" ] && [ -w /dev/shm ] && [ "$$(df -Pk /dev/shm | awk 'NR == 2 { print $$4 }')" -gt 8000000 ]; then \
	TMPDIR=$$(mktemp -d /dev/shm/ramet-XXXXXX) && chmod 711 "$$TMPDIR" && export TMPDIR && \
	trap 'rm -rf "$$TMPDIR"' EXIT && trap 'exit 130' INT TERM; fi

.PHONY: help demo check test test-postgres test-web test-fetch test-wiki test-llm test-jobs test-proofs test-nightly test-all \
	test-supported durations coverage mutants chaos sim sim-nightly models bench bench-peers docs pictures fix lock clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

demo: .venv-demo/.stamp ## set up, then expand 500 real articles into a graph and search it
	@.venv-demo/bin/ramet wiki demo

check: .venv/.stamp-all ## formatting, lint, types, import layers, the generated reference
	@$(TREES); set -ex; \
	.venv/bin/ruff format --check $$trees; \
	.venv/bin/ruff check $$trees; \
	.venv/bin/mypy --strict $$trees; \
	.venv/bin/lint-imports --no-logo; \
	$(PYTEST) -q --target proofs tests/docs/test_reference.py

test: .venv/.stamp ## the tests to run all day: no server, no browser (5 minutes)
	@$(IN_MEMORY); $(PYTEST) $(IN_PARALLEL) --target test

test-postgres: .venv/.stamp-all ## what needs a PostgreSQL server
	@$(IN_MEMORY); $(PYTEST) $(IN_PARALLEL) --target postgres

test-web: .venv/.stamp-all .venv/node/.stamp ## dashboard, API, TypeScript client, metrics and traces; some tests need Chromium
	@$(IN_MEMORY); $(PYTEST) $(IN_PARALLEL) --target web

test-fetch: .venv/.stamp-all ## servers of the guarded web client
	@$(IN_MEMORY); $(PYTEST) $(IN_PARALLEL) --target fetch

test-wiki: .venv/.stamp-all ## servers and processes of the wiki pipeline; some tests need PHP and MediaWiki
	@$(IN_MEMORY); $(PYTEST) $(IN_PARALLEL) --target wiki

test-llm: .venv/.stamp-all .venv/node/.stamp ## servers and processes of the llm pipeline
	@$(IN_MEMORY); $(PYTEST) $(IN_PARALLEL) --target llm

test-jobs: .venv/.stamp-all .venv/node/.stamp ## servers and processes of the jobs pipeline
	@$(IN_MEMORY); $(PYTEST) $(IN_PARALLEL) --target jobs

test-proofs: .venv/.stamp-all ## crashes, faults, simulation, models, upgrades, documented commands; chaos; some mutants
	@$(IN_MEMORY); $(PYTEST) $(IN_PARALLEL) --target proofs
	@$(MAKE) chaos
	@$(MAKE) mutants SAMPLE=200

test-nightly: .venv/.stamp-all .venv/node/.stamp ## the same with thousands of seeds, kills and statements (hours)
	@$(IN_MEMORY); $(PYTEST) $(IN_PARALLEL) --target nightly

test-all: test test-postgres test-web test-fetch test-wiki test-llm test-jobs test-proofs ## all of these but test-nightly

test-supported: .venv/.stamp-all ## the oldest PostgreSQL and SQLite, the oldest and newest Python
	@$(IN_MEMORY); .venv/bin/python -m tests.gate.supported

durations: ## run test-all and record how long each test file takes
	@PYTEST_ADDOPTS=--record-durations $(MAKE) test-all

chaos: .venv/.stamp-all ## all pipelines at once, hurt for MINUTES=3 on both databases at once; then every promise is checked
	@.venv/bin/python -m tests.chaos --minutes "$(MINUTES)"

coverage: .venv/.stamp-all .venv/node/.stamp ## what the tests run: all of model/ and store/, nine tenths of the rest
	@$(IN_MEMORY); .venv/bin/python -m tests.gate.coverage_report

# All changes: 95 % have to be noticed. SAMPLE=n of them: it fails when the share of all is below that for certain, i.e. its
# whole 95 % interval lies below (of 200, 17 or more not noticed), as a sample of a good 96 % misses the bar itself often.
mutants: .venv/.stamp-all ## small changes to model/, one at a time, that some test has to notice; all take hours, SAMPLE=400 half of one
	@.venv/bin/python -m tests.mutation --sample "$(SAMPLE)"

sim: .venv/.stamp-all ## the seeded simulation; SEED=n repeats one run and prints all that happens in it
	@if [ -n "$(SEED)" ]; then .venv/bin/python -m tests.simulation $(SEED); else $(PYTEST) -m "not nightly" tests/simulation; fi

sim-nightly: .venv/.stamp-all ## SEEDS=10000 of the simulation in two processes; each that fails, and how to repeat it
	@all=; for part in 0 1; do .venv/bin/python -m tests.simulation $$part "$(SEEDS)" 2 & all="$$all $$!"; done; \
	code=0; for process in $$all; do wait $$process || code=1; done; exit $$code

models: .venv/.stamp-all ## the formal models below models/, checked by spin, in full
	@$(PYTEST) tests/models

bench: .venv/.stamp-all ## quick benchmarks, as JSON
	@.venv/bin/ramet bench --quick --json

bench-peers: .venv/.stamp-all .venv-bench/.stamp ## ramet beside other queues; OPTIONS="--quick --write docs/benchmarks.md"
	@.venv/bin/python -m benchmarks.compare $(OPTIONS)

docs: .venv/.stamp-all ## write what is generated in docs/, check the pages against the code, and build the site in site/
	@for program in generate_reference draw_timeline draw_lifecycle draw_concepts; do .venv/bin/python -m docs.$$program || exit; done
	@$(PYTEST) tests/project/test_docs.py tests/project/test_timeline.py tests/docs
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet
	@echo "open site/index.html"

pictures: .venv/.stamp-all ## draw docs/pictures from real runs: the dashboard (needs Chromium), the demo (needs tmux)
	@.venv/bin/python -m tests.web.runs.pictures
	@.venv/bin/python docs/draw_recording.py

fix: .venv/.stamp-all ## format, and mend what the linter can mend
	@$(TREES); set -ex; \
	.venv/bin/ruff format $$trees; \
	.venv/bin/ruff check --fix $$trees

lock: .venv-lock/.stamp ## renew requirements/*.lock from pyproject.toml
	@$(LOCK) $(TESTED) --extra web --extra metrics --extra traces --extra alerts --extra docs --extra dev \
		--output-file requirements/dev.lock pyproject.toml
	@$(LOCK) $(TESTED) --constraint requirements/dev.lock --output-file requirements/test.lock pyproject.toml
	@$(LOCK) --extra wiki --constraint requirements/dev.lock --output-file requirements/wiki.lock pyproject.toml
	@$(LOCK) --output-file requirements/bench.lock requirements/bench.in

clean: ## remove the environments, caches and build output
	rm -rf .venv .venv-demo .venv-bench .venv-lock build dist site mutants .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# One file serves every Python from 3.11 on (markers), with hashes, and names no index.
LOCK = .venv-lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--annotation-style line --no-emit-index-url --no-emit-find-links --no-config --no-python-downloads --python .venv-lock/bin/python \
	--custom-compile-command "make lock"
TESTED = --extra fetch --extra wiki --extra wiki-mcp --extra wiki-rank --extra wiki-index --extra jobs --extra llm --extra llm-tokens --extra anthropic --extra parquet --extra postgres --extra test

# What `make test` imports; all else that developers need is a larger lock with the same versions.
.venv/.stamp: requirements/test.lock pyproject.toml
	@folder=.venv lock=requirements/test.lock; $(INSTALL)

.venv/.stamp-all: .venv/.stamp requirements/dev.lock
	@folder=.venv lock=requirements/dev.lock; $(INSTALL)

# A server of the tests that is no Python package. Its tests are skipped without it, which CI takes for a failure.
.venv/node/.stamp: .venv/.stamp-all tests/node/package-lock.json
	@mkdir -p .venv/node && cp tests/node/package*.json .venv/node/ && cd .venv/node && \
	PATH="../bin:$$PATH" npm ci --silent --no-audit --no-fund && touch .stamp || \
	echo "npm could not install tests/node/package.json: the tests that need it are skipped" >&2

.venv-demo/.stamp: requirements/wiki.lock pyproject.toml
	@folder=.venv-demo lock=requirements/wiki.lock; $(INSTALL)

# The queues that ramet is compared with; never in the product's environments. Without Node.js, those of it are left out.
.venv-bench/.stamp: requirements/bench.lock benchmarks/node/package-lock.json
	@$(NEED_PYTHON); folder=.venv-bench; $(NEED_ENVIRONMENT); echo "setting up .venv-bench (once, and after a change)"; \
	.venv-bench/bin/python $(PIP_INSTALL) -r requirements/bench.lock
	@mkdir -p .venv-bench/node && cp benchmarks/node/package*.json .venv-bench/node/ && cd .venv-bench/node && \
	if command -v npm >/dev/null; then npm ci --silent --no-audit --no-fund; else \
	echo "npm is not there: graphile-worker is left out" >&2; fi
	@touch .venv-bench/.stamp

.venv-lock/.stamp: Makefile
	@folder=.venv-lock; $(NEED_ENVIRONMENT); "$$folder/bin/python" $(PIP_INSTALL) "$(LOCK_TOOL)" && touch "$$folder/.stamp"
