# Two commands do everything on a fresh machine: `make demo` and `make test`. Both build .venv themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := deep,postgres,parquet,test,docs
STAMP := $(VENV)/.installed

.PHONY: setup demo test test-long test-data lint bench docs clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@

demo: setup
	$(BIN)/infonn demo

lint: setup
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -m "not slow and not data" -n 2

test-long: setup
	$(BIN)/python -m pytest -m "slow"

test-data: setup
	$(BIN)/python -m pytest -m "data"

bench: setup
	$(BIN)/infonn bench

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build dist site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
