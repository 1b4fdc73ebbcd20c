# The two commands a newcomer needs are `make demo` and `make test`; each makes its own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint types unit docs gallery fuzz clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(READY)

demo: $(READY)
	$(BIN)/smdeclust demo --out demo-output

test: lint types unit docs

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

unit: $(READY)
	$(BIN)/python -m pytest

# The documentation, into build/docs; warnings are errors.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The pictures of the gallery, from examples/.
gallery: $(READY)
	cd docs/gallery && for script in ../../examples/*.py; do \
	  ../../$(BIN)/python $$script > $$(basename $$script .py).txt || exit 1; done; rm -f *.npz

# As many random instances against the plain MILP as asked: make fuzz N=100000
N ?= 10000
fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --instances $(N)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache demo-output
