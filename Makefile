# Every target makes its own .venv when there is none, and brings it up to date when pyproject.toml changes.
# PYTHON names the interpreter it is made with: make test PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CORES := -n auto --dist loadfile --max-worker-restart 0

.DEFAULT_GOAL := help
.PHONY: help demo test fuzz check docs bench clean
.DELETE_ON_ERROR:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s %s\n", $$1, $$2 }' Makefile

demo: $(STAMP) ## Train, prove and show a classifier on the built-in corpus
	$(BIN)/lapwing demo

test: $(STAMP) ## Run all tests; those of kernels and every solver with the JIT switched off, too
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q $(CORES) tests/kernels tests/solvers/test_every_solver.py
	$(BIN)/python -m pytest $(CORES)

fuzz: $(STAMP) ## Run the tests that draw their examples at random, with new draws
	$(BIN)/python -m pytest -q $(CORES) --hypothesis-profile=fresh $$(grep -rl --include='test_*.py' 'from hypothesis import' tests)

check: $(STAMP) ## Lint, formatting, types, and the order of the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(STAMP) ## Build the documentation into build/docs; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs

bench: $(STAMP) ## Run every benchmark in benchmarks/
	@set -e; ran=0; \
	for file in benchmarks/[!_]*.py; do \
	  [ -e "$$file" ] || continue; \
	  echo "== $$file"; $(BIN)/python "$$file"; ran=1; \
	done; \
	[ $$ran -eq 1 ] || echo "no benchmark found in benchmarks/"

clean: ## Remove .venv, builds and caches
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# A .venv that is half made, or whose interpreter is gone, is made anew; a whole one is kept.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "lapwing needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo missing)." \
	    "Name another with: make PYTHON=python3.11" >&2; exit 1; }
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  && $(BIN)/python -m pip --version >/dev/null 2>&1 \
	  || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev,docs]"
	@touch $@
