# `make up` takes a bare machine to two Kafka clusters, ready to be mirrored; `make test` proves everything.
PYTHON ?= python3
VENV := .venv
# how many tests run at a time, of scenarios how many labs: most of a scenario is waiting
WORKERS ?= 2
LAB := $(VENV)/bin/lab
INSTALLED := $(VENV)/installed
# what format, lint and types look at
CODE := lab tests scenarios

.PHONY: up down install images test check format lock scenarios help
.DELETE_ON_ERROR:

up: $(INSTALLED) ## set up this machine, build what is missing, start the first lab
	@$(LAB) doctor --fix
	@$(LAB) up basic-mirror
	@echo 'the command "lab" is in $(VENV)/bin: . $(VENV)/bin/activate'

down: $(INSTALLED) ## remove ALL labs on this Docker engine, running ones too
	@$(LAB) prune

install: $(INSTALLED) ## only the Python packages and the command lab, in .venv

help: ## show this
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

images: $(INSTALLED) ## build the images that are missing or out of date
	@$(LAB) doctor --fix
	@$(LAB) images

test: check scenarios ## everything: tests/ without containers, then scenarios/ on real clusters

scenarios: $(INSTALLED) ## scenarios/ on real clusters; WORKERS=1 for one lab at a time
	@$(LAB) doctor --fix
	@$(LAB) images
	$(VENV)/bin/pytest scenarios -n $(WORKERS) --durations 30

check: $(INSTALLED) ## format, lint, types and tests/; no containers
	$(VENV)/bin/ruff format --check $(CODE)
	$(VENV)/bin/ruff check $(CODE)
	$(VENV)/bin/mypy $(CODE)
	$(VENV)/bin/pytest tests -n $(WORKERS)

format: $(INSTALLED) ## repair what `check` only reports
	$(VENV)/bin/ruff format $(CODE)
	$(VENV)/bin/ruff check --fix $(CODE)

lock: $(INSTALLED) ## pin the newest Python packages that pyproject.toml allows, with hashes
	$(VENV)/bin/pip install --quiet uv
	$(VENV)/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-emit-find-links --all-extras --custom-compile-command "make lock" \
		pyproject.toml --output-file requirements.lock
	@mkdir -p compose/images/exporter
	$(VENV)/bin/uv pip compile --quiet --python-version 3.13 --python-platform linux --generate-hashes \
		--no-emit-index-url --no-emit-find-links --constraint requirements.lock \
		--custom-compile-command "make lock" \
		--group pyproject.toml:exporter --output-file compose/images/exporter/requirements.txt

# Debian keeps the venv module in a package of its own.
$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV) || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		|| { echo 'error: this Python has no venv module' >&2; echo 'hint: install python3-venv' >&2; exit 4; }; \
		apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv --clear $(VENV); }

$(INSTALLED): requirements.lock pyproject.toml | $(VENV)/bin/python
	@echo 'installing Python packages from requirements.lock'
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
