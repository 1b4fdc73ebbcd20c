# The two commands a newcomer needs are `make demo` and `make test`; each makes its own .venv.
WINDOWS := $(filter Windows_NT,$(OS))
PYTHON ?= $(if $(WINDOWS),python,python3)
VENV := .venv
# Where an environment keeps its programs: Scripts on Windows, bin elsewhere.
BIN := $(VENV)/$(if $(WINDOWS),Scripts,bin)
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.demo-ready
TORCH_READY := $(VENV)/.torch-ready
# One release of PyTorch, so that tests of devices run on the processor wherever it can be had.
# Where an index offers the build for processors, a tenth of the one for devices:
# make test TORCH="--index-url ADDRESS torch==2.13.0"
TORCH ?= torch==2.13.0

.PHONY: demo test quick lint types unit coverage docs gallery recipes tutorials fuzz wheel clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	$(BIN)/python -c "open('$(READY)', 'w')"

# Only the tests of devices need PyTorch.
$(TORCH_READY): $(READY)
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -c "open('$(TORCH_READY)', 'w')"

# The demo needs less: no Dask, no browser. pip says what it does: it may take a minute.
$(DEMO_READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --editable ".[cli,report]"
	$(BIN)/python -c "open('$(DEMO_READY)', 'w')"

demo: $(DEMO_READY)
	$(BIN)/smdeclust demo --out demo-output --force

test: lint types unit docs

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# A test that is skipped for want of a package is a failure here.
unit: export SMDECLUST_ALL_TESTS := 1
unit: $(TORCH_READY)
	$(BIN)/python -m pytest -n auto --dist worksteal

# The same, with the share of lines that they run (kernels are compiled, and left out).
coverage: $(TORCH_READY)
	$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term:skip-covered

# For newcomers: lint and the quick tests of every room, in under two minutes.
quick: $(READY)
	$(BIN)/ruff check .
	$(BIN)/python -m pytest -n auto --dist loadfile --quick

# The documentation, into build/docs; warnings are errors.
docs: export NO_MKDOCS_2_WARNING := 1
docs: $(READY)
	$(BIN)/mkdocs build --strict --quiet

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

# A wheel with compiled kernels for this system, checked in an empty environment.
wheel: $(READY)
	$(BIN)/python -m pip install --quiet build wheel
	$(BIN)/python -m benchmarks.wheel dist

clean:
	$(PYTHON) -c "import shutil; [shutil.rmtree(folder, ignore_errors=True) for folder in '$(VENV) build dist .pytest_cache .mypy_cache .ruff_cache demo-output'.split()]"
