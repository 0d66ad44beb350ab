# Everything a fresh machine needs: Python 3.11 or newer and a package index that pip can reach.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run install test slow check format lock bench clean

run: install            ## chat on a terminal, serve without one
	@$(BIN)/python -m bot

install: $(VENV)/.runtime  ## only make the environment

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Carina needs Python 3.11 or newer; set PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	@echo "Making the environment in $(VENV) (a minute or two the first time)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements.lock pyproject.toml | $(BIN)/python
	@echo "Installing what requirements.lock names, checked by hash"
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml $(VENV)/.runtime
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@

test: check             ## lint, types and the tests
	$(BIN)/python -m pytest -p no:cacheprovider -m "not slow"

slow: check             ## the tests that take long: the whole kill matrix, long outages
	$(BIN)/python -m pytest -p no:cacheprovider -m slow

check: $(VENV)/.dev     ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev     ## print the benchmark tables
	$(BIN)/python -m tests.benchmarks

lock: $(BIN)/python     ## renew both locks from pyproject.toml
	$(PIP) install uv
	$(BIN)/uv pip compile --universal --upgrade --generate-hashes --no-emit-index-url --no-header --quiet --group dev pyproject.toml -o requirements-dev.lock
	$(BIN)/uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --quiet --group build -c requirements-dev.lock pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
