# `make help` lists the verbs. Everything runs in .venv, which the first verb makes.
SHELL := /bin/bash
PY := .venv/bin/python
# Two more than there are cores: many tests wait for servers, sandboxes and locks.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
OUT ?= demo
PORT ?= 8000

AUTOGRADER := $(PY) -m autograder
SOURCES := $(shell find autograder svmlab assignments -name '*.py' -o -name '*.toml' -o -name '*.json')

CORE_TESTS := $(shell grep -l 'pytestmark = pytest.mark.core' tests/test_*.py)
CORE_DOCTESTS := autograder svmlab --ignore=autograder/nbgrader $(patsubst %,--ignore=svmlab/%,estimators plotting qp.py loaders.py __main__.py)

# Bytecode in a folder of our own, also where the environment forbids it.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/pycache
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup demo book serve pdf test test-full check format core-test selftest bench bench-publish bench-grading bench-grading-publish clean

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

setup: .venv/ready ## make .venv with everything that the other verbs need

.venv/ready: pyproject.toml constraints.txt .ci/setup
	@.ci/setup

.venv/test-ready: .venv/ready
	@.ci/setup test

demo: book $(OUT)/graded ## the whole course: the book, the worked example, homework, a sample class graded
	@$(PY) -m svmlab --out $(OUT)
	@cat $(OUT)/graded
	@echo; echo "The book: make serve, or open book/_build/html/index.html"

book: .venv/ready ## build the book into book/_build/html
	@$(PY) book/build.py

serve: book ## show the book on http://127.0.0.1:8000 (PORT=…)
	@echo "The book is at http://127.0.0.1:$(PORT) (Ctrl-C ends)"
	@$(PY) -m http.server $(PORT) --bind 127.0.0.1 --directory book/_build/html

pdf: book .venv/test-ready ## print every chapter into book/_build/pdf
	@$(PY) book/pdf.py

# Graded anew when anything changed that decides grades; each step is a command of its own.
$(OUT)/graded: .venv/ready $(SOURCES)
	@mkdir -p $(OUT)
	$(AUTOGRADER) release --course $(OUT)/course
	$(AUTOGRADER) sample hw1-margins --course $(OUT)/course
	$(AUTOGRADER) sample hw2-smo --course $(OUT)/course --size 30
	$(AUTOGRADER) grade hw1-margins --limit 10 --course $(OUT)/course > $@.new
	@echo >> $@.new
	$(AUTOGRADER) grade hw2-smo --limit 10 --course $(OUT)/course >> $@.new
	@mv $@.new $@

test: check core-test book .venv/test-ready ## every claim at reduced size (what CI runs)
	$(PY) -m pytest -q -n $(JOBS) --dist worksteal -m "not full"

test-full: check core-test book .venv/test-ready ## every claim at the size that it names
	$(PY) -m pytest -q -n $(JOBS) --dist worksteal

check: .venv/ready ## lint, format, types, spelling
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m mypy book/build.py book/pdf.py book/_ext
	$(PY) -m codespell_lib svmlab autograder assignments tests benchmarks book README.md CONTRIBUTING.md

core-test: .cache/core/ready ## the core where numpy is all there is, and without the compiler
	.cache/core/bin/python -m pytest -q -m "not full" $(CORE_TESTS) $(CORE_DOCTESTS)
	NUMBA_DISABLE_JIT=1 $(PY) -m pytest -q -n $(JOBS) -m "not full" $(CORE_TESTS)

.cache/core/ready: .venv/ready
	@echo "setup: making an environment with numpy and pytest only"
	@$(PY) -m venv .cache/core
	@.cache/core/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable . pytest 2> >(grep -v '^WARNING: Location' >&2)
	@touch $@

selftest: .venv/ready ## prove the checks: correct variants accepted, known mistakes caught
	$(PY) -m autograder selftest

bench: .venv/bench-ready ## training times on this machine: the lectures' tables, ours beside the peers' (SVMLAB_DATA=…)
	$(PY) benchmarks/lectures.py --json .cache/bench/lectures.json
	$(PY) benchmarks/solvers.py --json .cache/bench/solvers.json --figure .cache/bench/growth.svg

bench-publish: .venv/ready ## take the last complete bench into the book and README
	$(PY) benchmarks/publish.py .cache/bench/solvers.json

bench-grading: .venv/bench-grading-ready ## what grading a class costs: ours, nbgrader's, otter's (20 minutes)
	$(PY) benchmarks/grading.py --json .cache/bench/grading.json

bench-grading-publish: .venv/ready ## take the last complete bench-grading into README
	$(PY) benchmarks/publish_grading.py .cache/bench/grading.json

.venv/bench-grading-ready: .venv/ready
	@$(PY) -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable '.[bench-grading]' 2> >(grep -v '^WARNING: Location' >&2)
	@touch $@

.venv/bench-ready: .venv/ready
	@$(PY) -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable '.[bench]' 2> >(grep -v '^WARNING: Location' >&2)
	@touch $@

format: .venv/ready ## put the code into house format
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

clean: ## remove what the other verbs made
	rm -rf .venv .cache $(OUT) book/_build .pytest_cache .mypy_cache .ruff_cache *.egg-info
