"""The reference has an entry for every public name."""

from __future__ import annotations

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import smdeclust
from tests.docs.blocks import find_blocks

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in sorted(REFERENCE.glob("*.md")))
ENTRIES = re.findall(r"^::: (\S+)$", TEXT, re.MULTILINE)
ROOMS = [
    "smdeclust",
    "smdeclust.assignment",
    "smdeclust.datasets",
    "smdeclust.estimators",
    "smdeclust.exact",
    "smdeclust.paper",
    "smdeclust.io",
    "smdeclust.plotting",
    "smdeclust.problem",
    "smdeclust.queries",
]


def find(path: str) -> Any:
    """What a dotted path names; a module's attribute before a module of the same name."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError:
        return getattr(find(module), name)


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_in_the_reference(room: str) -> None:
    """Functions and classes have an entry, constants are mentioned."""
    module = import_module(room)
    entries = [find(path) for path in ENTRIES]
    missing = []
    for name in module.__all__:
        value = getattr(module, name)
        documented = any(value is entry for entry in entries) if callable(value) else None
        if documented is None:
            documented = name.startswith("__") or f"`{name}`" in TEXT
        if not documented:
            missing.append(name)
    assert not missing, f"{room}: {', '.join(missing)} not in docs/reference"


def test_every_public_name_has_an_example() -> None:
    """The first page of the reference uses every name of the package in code that runs."""
    blocks = find_blocks((REFERENCE / "index.md").read_text(encoding="utf-8"))
    words = set(re.findall(r"\w+", "\n".join(block.code for block in blocks if block.is_python)))
    assert set(smdeclust.__all__) - words <= {"__version__"}


def test_entries_have_docstrings() -> None:
    """What the reference shows says what it is."""
    for path in ENTRIES:
        assert (find(path).__doc__ or "").strip(), path


@pytest.mark.parametrize("path", ENTRIES)
def test_descriptions_are_paragraphs(path: str) -> None:
    """No paragraph before the sections is indented: Markdown would show it as code."""
    description = (inspect.getdoc(find(path)) or "").split("\n\nParameters\n")[0]
    assert "\n\n    " not in description.split("\n\nAttributes\n")[0]


SHOWN = [path for path in ENTRIES if ">>>" in (find(path).__doc__ or "")]


@pytest.mark.parametrize("path", SHOWN)
def test_examples_in_docstrings_run(path: str) -> None:
    """The examples of a class or function, and of its methods, give what they show."""
    thing = find(path)
    for test in doctest.DocTestFinder(recurse=True).find(thing, path, globs={}):
        assert doctest.DocTestRunner(verbose=False).run(test).failed == 0, test.name
