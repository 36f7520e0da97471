# Two commands do everything on a fresh machine: `make demo` and `make test`. Both build .venv themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := deep,postgres,parquet,test,docs
CORE := $(VENV)/.core
FULL := $(VENV)/.full

.PHONY: setup demo test test-long test-data lint bench docs clean

setup: $(FULL)

$(CORE): pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	@touch $@

$(FULL): $(CORE)
	@echo "Installing what the tests and the documentation need (once) ..."
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@

demo: $(CORE)
	$(BIN)/infonn demo

lint: setup
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/mypy
	$(BIN)/oxlint --deny-warnings src/infonn/web/static

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
