"""What every test may use: where the paper's data lie, or a skip that says why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def find_data_root() -> Path | None:
    """Return the folder of the paper's data, or None where there is none.

    ``SMDECLUST_DATA`` is looked at first, then ``shared/data`` beside the repository.
    """
    given = os.environ.get("SMDECLUST_DATA")
    if given:
        return Path(given) if Path(given).is_dir() else None
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return beside if beside.is_dir() else None


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """The folder of the paper's data; the test is skipped where it is absent."""
    root = find_data_root()
    if root is None:
        pytest.skip("the paper's data are absent: set SMDECLUST_DATA to their folder")
    return root


# Reasons for which a test may be skipped where everything is installed (SMDECLUST_ALL_TESTS=1).
MAY_SKIP = (
    "the paper's data are absent",
    "needs a GPU",
    "system",
    "POSIX",
    "ARRAY_API",
    "all other blocks ran",
)

# With --quick, so many tests of each file are run, each with its first parameters.
QUICK_TESTS = 3


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--quick``: something of everything, in about a minute."""
    parser.addoption("--quick", action="store_true", help="a few tests of every file")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of ``--quick``: the same ones each time."""
    for item in items:
        if _checks_sparse_where_none_is_taken(item):
            item.add_marker(pytest.mark.skip(reason="scikit-learn 1.6 gives sparse data to all"))
    if not config.getoption("--quick"):
        return
    chosen: dict[str, dict[str, pytest.Item]] = {}
    for item in items:
        of_file = chosen.setdefault(str(item.path), {})
        function = getattr(item, "originalname", item.name)
        slow = any(item.get_closest_marker(mark) for mark in ("slow", "browser", "data"))
        if not slow and function not in of_file and len(of_file) < QUICK_TESTS:
            of_file[function] = item
    kept = [item for of_file in chosen.values() for item in of_file.values()]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def _checks_sparse_where_none_is_taken(item: pytest.Item) -> bool:
    """Whether this is the check of scikit-learn 1.6 that does not ask for the tag `sparse`."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    if "check" not in given or "equivalence_on_sparse_data" not in str(given["check"]):
        return False
    return not given["estimator"].__sklearn_tags__().input_tags.sparse


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With everything installed, a test that was skipped for want of a package is a failure."""
    if os.environ.get("SMDECLUST_ALL_TESTS") != "1" or hasattr(session.config, "workerinput"):
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reasons = {str(report.longrepr[2]) for report in reporter.stats.get("skipped", [])}
    wrong = sorted(r for r in reasons if not any(fine in r for fine in MAY_SKIP))
    if wrong:
        reporter.write_line("\nSkipped, but must run where everything is installed:", red=True)
        for reason in wrong:
            reporter.write_line(f"  {reason}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
