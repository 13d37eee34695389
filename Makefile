# make demo: the main job on embedded data. make test: every check. Both set up a local virtual environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# The study's data files, when they lie beside the checkout.
ifneq ($(wildcard ../shared/data),)
export SYNAFA_DATA ?= $(abspath ../shared/data)
endif

.PHONY: check demo fuzz test test-oldest lint types quick-study bench bench-tables docs clean setup

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/synafa demo --output demo

lint: setup
	$(BIN)/ruff check src tests benchmarks docs
	$(BIN)/ruff format --check src tests benchmarks docs

types: setup
	$(BIN)/mypy

# The daily check: lint, types, and the tests that need no data and are not slow.
check: lint types
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not data" tests

# The oldest versions that pyproject.toml declares, in an environment of their own.
test-oldest: build/oldest/.installed
	build/oldest/bin/python -m pytest -n 2 --dist loadfile -m "not slow and not data" tests

build/oldest/.installed: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv build/oldest
	build/oldest/bin/python -m pip install --quiet --constraint constraints-oldest.txt --editable '.[arrow,data,neural,dask,web]'
	build/oldest/bin/python -m pip install --quiet --constraint constraints-oldest.txt pytest pytest-timeout pytest-xdist hypothesis pandas statsmodels
	touch $@

# Every experiment of the study, end to end on cut-down data, from an empty cache; a failed unit fails the target.
quick-study: setup
	rm -rf build/quick
	SYNAFA_CACHE=build/quick/cache $(BIN)/synafa study run all --quick --results build/quick/results
	SYNAFA_CACHE=build/quick/cache $(BIN)/synafa study report --quick --results build/quick/results --output build/quick/report

test: lint types quick-study
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# Hostile model files, tables, arguments and results by the thousand: class, tries and failures (docs/robustness.md).
fuzz: setup
	$(BIN)/python -m tests.faults --full

bench: setup
	$(BIN)/python -m benchmarks

# The site, into build/docs, offline; a warning is an error. Its examples and those of the pages run in the tests too.
# The plan tree on public tables; goes on where the last run ended, and writes docs/plan_tree_tables.md.
bench-tables: setup
	$(BIN)/python -m benchmarks.bench_tables --last --report

docs: setup
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	$(BIN)/python -m pytest docs README.md

clean:
	rm -rf $(VENV) demo build dist docs/api docs/auto_examples .pytest_cache .mypy_cache .ruff_cache .hypothesis
