# The front door. `make` alone lists what there is; every target prepares .venv first when that is needed.

SHELL := /bin/sh
.DEFAULT_GOAL := help

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.stamp

# Name another interpreter with `make setup PYTHON=...`.
PYTHON ?=
CANDIDATES = $(or $(PYTHON),python3.13 python3.12 python3.11 python3)
# The lock is made with the oldest supported version: a newer one would pick releases that have dropped it.
LOCK_CANDIDATES = $(or $(PYTHON),python3.11)

# Sets $$py to the first of $(1) that is new enough and can make a virtual environment. Each is run, not only looked
# up: a pyenv shim exists for versions that are not active, and then fails.
define find_python
py=; novenv=; \
for candidate in $(1); do \
  "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue; \
  if "$$candidate" -c 'import ensurepip, venv' >/dev/null 2>&1; then py=$$candidate; break; fi; \
  novenv="$$novenv $$candidate"; \
done; \
if [ -z "$$py" ] && [ -n "$$novenv" ]; then \
  echo "headgate: making .venv needs Python's venv and ensurepip modules; missing in:$$novenv." >&2; \
  echo "  Install them (Debian, Ubuntu: apt-get install python3-venv) and run make again." >&2; \
  exit 1; \
elif [ -z "$$py" ]; then \
  echo "headgate: Python 3.11 or newer is needed; none that runs among: $(strip $(1))." >&2; \
  echo "  Install one, or name it: make PYTHON=path/to/python ..." >&2; \
  exit 1; \
fi
endef

# Spark needs Java. Told before anything is installed or run, not by a stack trace.
define check_java
java=$${JAVA_HOME:+$$JAVA_HOME/bin/}java; \
version=$$("$$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p'); \
if [ -z "$$version" ] || [ "$$version" -lt 17 ]; then \
  echo "headgate: Spark runs on Java 17 or newer; found $${version:+Java }$${version:-none}." >&2; \
  echo "  Install one (Debian, Ubuntu: apt-get install openjdk-17-jre-headless), or set JAVA_HOME, and run make again." >&2; \
  exit 1; \
fi
endef

.PHONY: help setup demo test check format bench reproduce docs screenshots lock clean

help:  ## this list
	@echo "Headgate: quality of service for continuous queries on Apache Spark"
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP)  ## create .venv with the locked dependencies and this package

$(STAMP): requirements.lock pyproject.toml
	@if ! $(BIN)/python -c 'import pip' >/dev/null 2>&1; then \
	  $(call find_python,$(CANDIDATES)); \
	  echo "headgate: creating $(VENV) with $$("$$py" --version)"; \
	  "$$py" -m venv --clear $(VENV); \
	fi
	@echo "headgate: installing what requirements.lock names (a minute or two the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

demo: $(STAMP)  ## run sixty queries on Spark under three times the load that fits: FIFO, then DILoS
	@$(call check_java)
	$(BIN)/headgate demo

test: $(STAMP)  ## run the tests on two cores
	@$(call check_java)
	$(BIN)/pytest -q -n 2 --dist loadfile

check: $(STAMP)  ## formatting, lint, types and the documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: $(STAMP)  ## format and mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)  ## measure the simulator and the engine beside their alternatives
	@$(call check_java)
	$(BIN)/headgate bench sim
	$(BIN)/headgate bench engine

reproduce: $(STAMP)  ## repeat the published query scheduling results
	$(BIN)/headgate reproduce QRY

docs: $(STAMP)  ## build the documentation into site/
	$(BIN)/mkdocs build --strict

screenshots: $(STAMP)  ## make the pictures of the dashboard in the docs anew
	@$(call check_java)
	$(BIN)/python -m headgate.web.screenshots docs/figures/dashboard examples/pipelines/full_house.yaml

lock:  ## write requirements.lock anew from pyproject.toml
	@$(call find_python,$(LOCK_CANDIDATES)); \
	tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	echo "headgate: resolving all extras with $$("$$py" --version)"; \
	"$$py" -m venv "$$tmp/venv" && \
	"$$tmp/venv/bin/python" -m pip install --quiet --disable-pip-version-check '.[kafka,otel,dev,bench,docs]' && \
	"$$tmp/venv/bin/python" -m pip freeze --exclude headgate >"$$tmp/frozen" && \
	{ \
	  echo "# Everything that headgate and its extras (kafka, otel, dev, bench, docs) need, transitive ones included."; \
	  echo "# Made by \`make lock\` with Python 3.11; installs on 3.11, 3.12 and 3.13. Do not edit by hand."; \
	  LC_ALL=C sort -f "$$tmp/frozen"; \
	} >requirements.lock

clean:  ## remove .venv, caches and built files
	rm -rf $(VENV) build dist site src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +
