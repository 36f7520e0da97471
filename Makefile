# Two commands do everything on a fresh machine: `make demo` and `make test`. Both build .venv themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := deep,postgres,parquet,model,test,docs
CORE := $(VENV)/.core
FULL := $(VENV)/.full

.PHONY: setup demo test test-long test-data test-ecosystem lint bench bench-cblearn docs docs-release clean

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

# Each neighbour is tested as it is installed, in environments of their own: cblearn asks for numpy 1.26, and the Label
# Studio server for much else. SKACTIVEML_SOURCE may name a checkout of scikit-activeml: its own template tests run too.
ECOSYSTEM := .venv-ecosystem
CBLEARN := .venv-cblearn
LABEL_STUDIO := .venv-label-studio

$(ECOSYSTEM)/.done: pyproject.toml tests/ecosystem/constraints.txt
	@echo "Setting up $(ECOSYSTEM) (once) ..."
	@$(PYTHON) -m venv $(ECOSYSTEM)
	@$(ECOSYSTEM)/bin/pip install --quiet -c tests/ecosystem/constraints.txt torch==2.13.0
	@$(ECOSYSTEM)/bin/pip install --quiet -c tests/ecosystem/constraints.txt -e ".[deep,parquet,model,notebook]" \
	  scikit-activeml pytorch-metric-learning datasets nbclient ipykernel pytest pytest-timeout hypothesis httpx
	@$(ECOSYSTEM)/bin/pip install --quiet --no-deps crowd-kit==1.4.2  # without transformers, which its labels do not need
	@touch $@

$(CBLEARN)/.done: pyproject.toml tests/ecosystem/constraints-cblearn.txt
	@echo "Setting up $(CBLEARN) (once) ..."
	@$(PYTHON) -m venv $(CBLEARN)
	@$(CBLEARN)/bin/pip install --quiet -c tests/ecosystem/constraints-cblearn.txt torch==2.13.0
	@$(CBLEARN)/bin/pip install --quiet -c tests/ecosystem/constraints-cblearn.txt \
	  cblearn pandas pydantic psutil pytest pytest-timeout hypothesis
	@$(CBLEARN)/bin/pip install --quiet --no-deps -e .  # infonn asks for numpy 2, and its learners run with 1.26
	@touch $@

$(LABEL_STUDIO)/.done: tests/ecosystem/constraints-label-studio.txt
	@echo "Setting up $(LABEL_STUDIO) (once) ..."
	@$(PYTHON) -m venv $(LABEL_STUDIO)
	@$(LABEL_STUDIO)/bin/pip install --quiet -c tests/ecosystem/constraints-label-studio.txt label-studio
	@touch $@

test-ecosystem: $(ECOSYSTEM)/.done $(CBLEARN)/.done $(LABEL_STUDIO)/.done
	INFONN_LABEL_STUDIO=$(LABEL_STUDIO)/bin/label-studio $(ECOSYSTEM)/bin/python -m pytest tests/ecosystem
	$(CBLEARN)/bin/python -m pytest tests/ecosystem/test_cblearn.py tests/ecosystem/test_guides.py

bench: setup
	$(BIN)/infonn bench

# The table of docs/cblearn.md: measures what docs/cblearn.json lacks, and writes the table anew.
bench-cblearn: $(CBLEARN)/.done
	$(CBLEARN)/bin/python -m infonn.adapters.cblearn_table docs/cblearn.json docs/cblearn.md

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The site of this version into the branch gh-pages, beside those of earlier ones: `make docs-release VERSION=0.1`.
docs-release: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mike deploy --update-aliases $(VERSION) latest

clean:
	rm -rf $(VENV) $(ECOSYSTEM) $(CBLEARN) $(LABEL_STUDIO) build dist site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
