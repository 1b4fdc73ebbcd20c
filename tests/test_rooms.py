"""The rooms of the package: imports point one way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_imports_point_one_way():
    """A room imports only from the rooms below it (see docs/architecture.md)."""
    use_cases = pytest.importorskip("importlinter.application.use_cases")
    from importlinter.configuration import configure

    configure()
    kept = use_cases.lint_imports(config_filename=str(ROOT / "pyproject.toml"), cache_dir=None)
    assert kept == use_cases.SUCCESS, "run lint-imports to see which import points the wrong way"


def test_points_know_no_problem():
    """Where the numbers live nothing is known of problems, assignments or searches: every file
    below says so itself."""
    for path in (ROOT / "src" / "smdeclust" / "points").glob("*.py"):
        text = path.read_text()
        for room in ("problem", "assignment", "local_search", "memetic", "estimators"):
            assert f"smdeclust.{room}" not in text, f"{path.name} imports {room}"


def test_only_one_place_looks_at_the_kind_of_points():
    """What kind of storage points have is asked in `points/choose.py` alone."""
    for room in ("problem", "assignment", "local_search", "memetic"):
        for path in (ROOT / "src" / "smdeclust" / room).rglob("*.py"):
            text = path.read_text()
            assert "is_large" not in text
            for name in ("DensePoints", "BlockPoints", "SparsePoints", "DaskPoints", "TorchPoints"):
                assert name not in text, f"{path.name} names {name}"


# Where people's knowledge comes in, and how often: each makes a Structure of what it was given.
DOORS = {
    "cli/check.py": 1,  # may these pairs and sizes be?
    "constraints/check.py": 1,  # may these quotas be?
    "estimators/base.py": 1,  # every fit
    "estimators/guided.py": 1,
    "estimators/learned_distance.py": 1,
    "estimators/soft.py": 1,  # plain k-means, without any knowledge
    "exact/certify.py": 1,
    "exact/parts.py": 1,  # a part of a problem, for a bound
    "problem.py": 1,
    "queries/active.py": 1,  # may this answer be?
    "studio/conflicts.py": 1,
}


def test_knowledge_is_put_together_at_the_doors_alone():
    """Nobody else assembles knowledge: everybody takes a Structure, or one derived from it."""
    root = ROOT / "src" / "smdeclust"
    found = {}
    for path in root.rglob("*.py"):
        count = len(re.findall(r"\b(?:Problem|Structure)\.build\(", path.read_text()))
        if count:
            found[path.relative_to(root).as_posix()] = count
    assert found == DOORS


# Where parts of a structure are made elsewhere, and of what.
PARTS = {
    "assignment/cores/instance.py": "PairGraph.from_edges",  # a part of a graph
    "baselines/pieces.py": "PairGraph.from_edges",  # a method that contracts nothing
    "estimators/new_points.py": "Coupling.of_pairs priced_graph Coupling.of_pairs",  # new rows
    "queries/picture.py": "cannot_link_graph",  # what answers imply, without clusters
}


def test_parts_of_structures_are_put_together_where_listed():
    """Groups, graphs and prices of pairs come from a Structure, with few exceptions."""
    root, found = ROOT / "src" / "smdeclust", {}
    makers = (
        r"\b(?:Structure\.contract|Coupling\.of_pairs|PairGraph\.from_edges|priced_graph"
        r"|cannot_link_graph|net_edges)(?=\()"
    )
    for path in root.rglob("*.py"):
        parts = re.findall(makers, path.read_text())
        if parts and path.parent.name != "structure":
            found[path.relative_to(root).as_posix()] = " ".join(parts)
    assert found == PARTS


def test_nothing_is_imported_by_string_to_get_around_that():
    """Only doors that load on first use, and names that people give, become modules."""
    root = ROOT / "src" / "smdeclust"
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"import_module|__import__", path.read_text())
    }
    assert found == {"__init__.py", "baselines/__init__.py", "paper/methods.py"}
