# kinhash: every target sets up what it needs by itself, in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
LOWEST := .venv-lowest
LOWEST_PYTHON ?= python3.11
LOWEST_TESTS  ?= tests bench/tests
# The doors, a file each: what breaks when a room is rebuilt breaks here first. None that compiles or starts processes.
QUICK := tests/test_hasher.py tests/test_model_file.py tests/codes/test_codes.py tests/labels tests/data/test_data.py \
  tests/index/test_changes.py tests/index/test_filters.py tests/metrics/test_rankings.py tests/paper/test_energies.py \
  tests/cli/test_search.py tests/serve/test_app.py
EXTRAS := plot,parquet,faiss,onnx,duckdb,dask,serve
BENCH_EXTRAS := data,faiss,metric
.DEFAULT_GOAL := help

$(STAMP): pyproject.toml bench/pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet -e ".[$(EXTRAS)]" -e "bench[$(BENCH_EXTRAS)]" --group dev
	@touch $@

.PHONY: help install demo quick test test-slow test-lowest package review lock test-spark test-engines test-browser test-serve test-integrations check format house bench docs clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(STAMP)  ## Make .venv with kinhash, kinhash-bench and all they need for the other targets

demo: $(STAMP)  ## Learn codes on real data, print a table, save a picture (two minutes)
	@$(BIN)/kinhash demo

test: $(STAMP)  ## Run the default tests of both packages (six to eight minutes on two cores)
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

quick: $(STAMP)  ## Run the tests of the doors alone (under a minute)
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not data" -k "not demo" $(QUICK)

test-slow: $(STAMP)  ## Run the full-size checks as well
	@$(BIN)/python -m pytest -m "slow or not slow" --timeout=7200

test-lowest:  ## Run the default tests with the lowest version of every required dependency, in .venv-lowest
	@test -x $(LOWEST)/bin/python || $(LOWEST_PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(LOWEST)/bin/python .ci/lowest.py > $(LOWEST)/lowest.txt
	@$(LOWEST)/bin/python -m pip install --quiet -e ".[$(EXTRAS)]" -e "bench[$(BENCH_EXTRAS)]" --group test -c $(LOWEST)/lowest.txt
	@cat $(LOWEST)/lowest.txt
	@$(LOWEST)/bin/python -m pytest -n 2 --dist loadfile -m "not slow" $(LOWEST_TESTS)

package: $(STAMP)  ## Build sdists and wheels of both packages in a temporary folder and check them (twine, check-wheel-contents, pyroma)
	@$(BIN)/python -m pip install --quiet --group package
	@set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	  for project in . bench; do \
	    $(BIN)/python -m build --outdir "$$folder" $$project >"$$folder/log" 2>&1 || { cat "$$folder/log"; exit 1; }; \
	  done; \
	  $(BIN)/twine check --strict "$$folder"/*.whl "$$folder"/*.tar.gz; \
	  $(BIN)/check-wheel-contents "$$folder"/*.whl; \
	  for sdist in "$$folder"/*.tar.gz; do $(BIN)/pyroma --min 10 "$$sdist"; done

review: $(STAMP)  ## Check the repository's settings with repo-review
	@$(BIN)/python -m pip install --quiet --group package
	@$(BIN)/repo-review .

lock: $(STAMP)  ## Write requirements-dev.lock anew: what .venv needs, with hashes
	@$(BIN)/python -m pip install --quiet --group lock
	@printf -- '-e .[$(EXTRAS)]\n-e ./bench[$(BENCH_EXTRAS)]\n' | $(BIN)/uv pip compile - --group dev \
	  --universal --python-version 3.11 --upgrade --generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links \
	  --no-emit-package kinhash --no-emit-package kinhash-bench \
	  --custom-compile-command "make lock" --quiet --output-file requirements-dev.lock

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

test-serve: $(STAMP)  ## Run the tests of the service, with requests that schemathesis makes up (installs it)
	@$(BIN)/python -m pip install --quiet --group test-serve
	@$(BIN)/python -m pytest tests/serve -m "slow or not slow" -rs

test-spark: $(STAMP)  ## Run the tests on Spark (installs pyspark; needs Java 17)
	@$(BIN)/python -m pip install --quiet -e ".[spark]"
	@$(BIN)/python -m pytest tests/distributed/test_spark.py -m "slow or not slow" --timeout=1200

test-integrations: $(STAMP)  ## Run the tests inside LangChain, sentence-transformers, huggingface_hub, cleanlab and datasets (installs them and torch)
	@$(BIN)/python -m pip install --quiet -e ".[sentence-transformers,hub,langchain]" --group test-integrations
	@HF_HUB_OFFLINE=1 $(BIN)/python -m pytest tests/integrations -rs

check: $(STAMP)  ## Lint, types, import layers, words, doctests of both packages
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python .ci/words.py
	@$(BIN)/python -m pytest --doctest-modules src/kinhash bench/src/kinhash_bench --ignore=src/kinhash/distributed/spark.py --ignore=src/kinhash/integrations --timeout=300

format: $(STAMP)  ## Format the code
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

house: $(STAMP)  ## Print how much house there is: lines, files, and what a fit, an encode and a search enter
	@$(BIN)/python benchmarks/house.py

bench: $(STAMP)  ## Run the speed benchmarks beside their named peers
	@for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

docs: $(STAMP)  ## Build the site into docs/_build/html, offline, warnings as errors (about three minutes)
	@$(BIN)/python -m pip install --quiet --group docs
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -d docs/_build/doctrees docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

clean:  ## Remove everything that was built or cached
	rm -rf $(VENV) $(LOWEST) dist build docs/_build docs/api docs/commands docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
