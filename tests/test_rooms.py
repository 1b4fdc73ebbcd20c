"""The rooms of the package: imports point one way."""

from __future__ import annotations

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
