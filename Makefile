# The two commands a newcomer needs are `make demo` and `make test`; each makes its own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.demo-ready
# One release of PyTorch, so that tests of devices run on the processor wherever it can be had.
TORCH ?= torch==2.13.0

.PHONY: demo test quick lint types unit docs gallery recipes tutorials fuzz clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "$(TORCH)"
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(READY)

# The demo needs less: no PyTorch, no Dask, no browser.
$(DEMO_READY): pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[cli,report]"
	touch $(DEMO_READY)

demo: $(DEMO_READY)
	$(BIN)/smdeclust demo --out demo-output --force

test: lint types unit docs

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# A test that is skipped for want of a package is a failure here.
unit: $(READY)
	SMDECLUST_ALL_TESTS=1 $(BIN)/python -m pytest -n auto --dist loadfile

# For newcomers: lint and the tests that take no time, in under two minutes.
quick: $(READY)
	$(BIN)/ruff check .
	$(BIN)/python -m pytest -n auto -m "not slow and not browser and not data" tests/constraints tests/problem tests/assignment tests/estimators tests/memetic tests/io

# The documentation, into build/docs; warnings are errors.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The pictures of the gallery, from examples/.
gallery: $(READY)
	cd docs/gallery && for script in ../../examples/*.py; do \
	  ../../$(BIN)/python $$script > $$(basename $$script .py).txt || exit 1; done; rm -f *.npz

# The pictures of docs/recipes.
recipes: $(READY)
	$(BIN)/python -m tests.docs.recipes

# The notebooks of docs/tutorials, with what they print.
tutorials: $(READY)
	$(BIN)/python -m tests.docs.tutorials

# As many random instances against the plain MILP as asked: make fuzz N=100000
N ?= 10000
fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --instances $(N)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache demo-output
