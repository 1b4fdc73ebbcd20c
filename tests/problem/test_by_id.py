"""Rows in sentences, named by their ids."""

import pytest

from smdeclust.structure.pairs import by_id

IDS = [f"p{i}" for i in range(13)]


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("keeps rows 3 and 4 apart: 1 - 2 - 3.", "keeps 'p3' and 'p4' apart: 'p1' - 'p2' - 'p3'."),
        ("groups: 0, 1, ...; 10, 11", "groups: 'p0', 'p1', ...; 'p10', 'p11'"),
        ("in the way: must-link 10 - 11; 2 more", "in the way: must-link 'p10' - 'p11'; 2 more"),
        ("needs 5 clusters, not 4", "needs 5 clusters, not 4"),
        ("no rows: 13, 40", "no rows: 13, 40"),
    ],
)
def test_by_id(said, named):
    """Rows alone are named, and numbers that are no rows stay."""
    assert by_id(said, IDS) == named
