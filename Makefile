# Everything that a developer runs. `make test` sets up a bare machine by itself.
# Choose tools with PYTHON=, CHROMIUM=; hand arguments to pytest with ARGS=.

SHELL := /bin/bash
BIN := .venv/bin
PY := .venv/.ready
JS := js/node_modules/.package-lock.json
KERNELS := .venv/ipykernel/.ready
BUNDLE := acp_notebook/widget/static
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint build check-bundle check-install bench soak test-real screenshots clean

help:
	@echo "make demo           open examples/quickstart.ipynb in JupyterLab (HEADLESS=1: run it and print the transcript)"
	@echo "make test           set up and run all tests        make lint     style and types"
	@echo "make build          the page's bundle and a wheel   make bench    speed, as ratios"
	@echo "make soak           long random tests               make test-real  real agents"
	@echo "make screenshots    pictures of the chat in JupyterLab"
	@echo "make clean          remove what these made"

# --- set-up: stamps are newer than what they were made from

$(PY): pyproject.toml scripts/python.sh
	@python=$$(scripts/python.sh) && { [ -x $(BIN)/python ] || "$$python" -m venv .venv; }
	$(BIN)/python -m pip install -qq -e '.[dev]'
	@touch $@

$(JS): js/package.json js/package-lock.json
	@scripts/node.sh
	cd js && npm ci --no-audit --no-fund --loglevel=error >/dev/null
	@touch $@

$(KERNELS): $(PY) scripts/kernels.sh
	scripts/kernels.sh $(BIN)/python $(@D) 6.31.0 7.3.0
	@touch $@

setup: $(PY) $(JS) $(KERNELS)
	@scripts/chromium.sh >/dev/null

# --- daily work

demo: $(PY)
	$(BIN)/python scripts/demo.py $(if $(HEADLESS),--headless)

lint: $(PY) $(JS)
	$(BIN)/ruff check -q .
	$(BIN)/ruff format -q --check .
	$(BIN)/mypy
	cd js && npm run --silent typecheck

# The page's tests come first, so that pytest's summary is the last line.
test: setup
	cd js && npm run --silent test -- --reporter=dot
	CHROMIUM="$$(scripts/chromium.sh)" $(PYTEST) -n 2 --dist loadfile --nbval --nbval-current-env tests examples $(ARGS)

build: $(PY) $(JS)
	cd js && npm run --silent build
	$(BIN)/python -m pip wheel -qq --no-deps --wheel-dir dist .

check-bundle: $(JS)
	cd js && npm run --silent build
	@changed=$$(git status --porcelain -- $(BUNDLE)); [ -z "$$changed" ] || \
		{ echo "The committed bundle is not what js/ builds to:"; echo "$$changed"; exit 1; }
	@echo "the committed bundle is what js/ builds to"

check-install: $(PY)
	@scripts/check_install.sh $(BIN)/python

# --- not in CI

bench: $(PY)
	$(PYTEST) -q -s -o python_files='bench_*.py' tests/benches $(ARGS)

soak: $(PY)
	$(PYTEST) -q -m soak --timeout=3600 tests $(ARGS)

test-real: setup
	CHROMIUM="$$(scripts/chromium.sh)" $(PYTEST) -q -m real --timeout=600 tests/real $(ARGS)

screenshots: setup
	CHROMIUM="$$(scripts/chromium.sh)" $(PYTEST) -q tests/e2e $(ARGS)
	@ls screenshots/*.png

clean:
	rm -rf .venv build dist js/node_modules js/coverage screenshots htmlcov .coverage* \
		.mypy_cache .ruff_cache .pytest_cache .hypothesis
	find acp_notebook tests scripts -name __pycache__ -prune -exec rm -rf {} +
