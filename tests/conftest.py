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
