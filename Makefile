# kinhash: every target sets up what it needs by itself, in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
EXTRAS := plot,parquet,data,faiss,usearch,onnx,duckdb,dask
.DEFAULT_GOAL := help

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet -e ".[$(EXTRAS)]" --group test --group check
	@touch $@

.PHONY: help install demo test test-slow test-spark test-engines test-browser check format bench docs clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(STAMP)  ## Make .venv with kinhash and all it needs for the other targets

demo: $(STAMP)  ## Learn codes on real data, print a table, save a picture (two minutes)
	@$(BIN)/kinhash demo

test: $(STAMP)  ## Run the default tests (under 8 minutes on two cores)
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

test-slow: $(STAMP)  ## Run the full-size checks as well
	@$(BIN)/python -m pytest -m "slow or not slow" --timeout=7200

test-engines: $(STAMP)  ## Run the engine tests with every engine that can be had, servers too
	@$(BIN)/python -m pip install --quiet -e ".[engines]" --group test-engines
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null \
	  || { test "$$(id -u)" = 0 && apt-get install -qq -y --no-install-recommends postgresql >/dev/null; } \
	  || echo "No PostgreSQL on this system and none could be installed: that of a wheel is used, if any."
	@$(BIN)/python -m pytest tests/engines tests/cli/test_export.py -rs

test-browser: $(STAMP)  ## Run the explorer's tests in a real browser (installs playwright and Debian's chromium)
	@$(BIN)/python -m pip install --quiet --group test-browser \
	  || echo "The package playwright could not be installed: without it the tests are skipped."
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	  || { test "$$(id -u)" = 0 && apt-get install -qq -y --no-install-recommends chromium >/dev/null 2>&1; } \
	  || echo "No Chromium on this system and none could be installed (apt-get install chromium): tests are skipped."
	@$(BIN)/python -m pytest tests/browser -rs

test-spark: $(STAMP)  ## Run the tests on Spark (installs pyspark; needs Java 17)
	@$(BIN)/python -m pip install --quiet -e ".[spark]"
	@$(BIN)/python -m pytest tests/distributed/test_spark.py -m "slow or not slow" --timeout=1200

check: $(STAMP)  ## Lint, types, import layers, doctests
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest --doctest-modules src/kinhash --ignore=src/kinhash/spark --timeout=300

format: $(STAMP)  ## Format the code
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

bench: $(STAMP)  ## Run the speed benchmarks beside their named peers
	@for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

docs: $(STAMP)  ## Build the site into docs/_build/html, offline, warnings as errors (about three minutes)
	@$(BIN)/python -m pip install --quiet --group docs
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -d docs/_build/doctrees docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

clean:  ## Remove everything that was built or cached
	rm -rf $(VENV) dist build docs/_build docs/api docs/commands docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
