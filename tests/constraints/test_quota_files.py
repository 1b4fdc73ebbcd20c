"""Quotas in files: what is written reads back the same, and what is wrong is said."""

from __future__ import annotations

import json

import numpy as np
import pytest

from smdeclust import Constraints, InvalidInputError

NAMES = ["ann", "bob", "cid", "dan"]


def all_kinds(**points) -> Constraints:
    """Counts, shares, sums and means; yes or no; whole numbers as values; one side only."""
    known = Constraints(must_link=[(0, 1)], by_row=True, **points)
    known = known.quota(["f", "m", "f", None], 0.1, {"f": 0.7, "m": 1.0}, name="gender")
    known = known.quota([True, False, True, False], low=1, name="senior")
    known = known.quota(np.array([3, 4, 4, 3]), {3: 1}, {4: 2}, name="grade")
    known = known.quota([0.1, 0.0, -2.5, 1e-7], high=[1 / 3, None], name="amount")
    return known.quota([20, 30, 40, 50], 25, 45.5, of="mean", name="age")


@pytest.mark.parametrize("points", [{"n_points": 4}, {"ids": NAMES}])
def test_round_trip(tmp_path, points):
    """Every quota comes back equal, to the last bit; by id in any order of the points."""
    known = all_kinds(**points)
    known.write(tmp_path / "known.json")
    assert Constraints.read(tmp_path / "known.json", **points) == known
    assert [type(q.value) for q in Constraints.read(tmp_path / "known.json", **points).quotas] == [
        str, str, bool, int, int, type(None), type(None),
    ]  # fmt: skip
    if "ids" in points:
        turned = Constraints.read(tmp_path / "known.json", ids=NAMES[::-1])
        assert turned[[3, 2, 1, 0]] == known
        known.write(tmp_path / "rows.json", by_row=True)
        assert Constraints.read(tmp_path / "rows.json", ids=NAMES, by_row=True) == known


def test_of_some_rows(tmp_path):
    """A value that no point has any more is still bounded."""
    known = all_kinds(n_points=4)[[1, 3]]
    known.write(tmp_path / "known.json")
    assert Constraints.read(tmp_path / "known.json", n_points=2) == known


def test_several_files_are_joined(tmp_path):
    """Pairs of one, quotas of another."""
    known = all_kinds(n_points=4)
    known._with(quotas=()).write(tmp_path / "pairs.csv")
    known._with(must_link=known.must_link[:0]).write(tmp_path / "quotas.json")
    both = Constraints.read([tmp_path / "pairs.csv", tmp_path / "quotas.json"], n_points=4)
    assert both == known


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"points": [9]}, "row 9, expected rows 0 to 3"),
        ({"points": [0, 0]}, "a point twice in the quota on it"),
        ({"points": "all"}, "expected a list of points"),
        ({"points": [0], "counts": [1, 2]}, "one count each"),
        ({"value": None, "of": "sum", "counts": ["x"]}, "found 'x' in quotas, expected a number"),
        ({"low": [1, "some"]}, "found 'some' in quotas, expected a number"),
        ({"low": [1, 2], "high": [1, 2, 3]}, "2 numbers in low, 3 in high"),
        ({"low": [1, 2], "high": [2, 1]}, "low=2 is more than high=1"),
        ({"low": "some"}, "found 'some' in quotas, expected a number"),
        ({"low": 3, "high": 2}, "low=3 is more than high=2"),
        ({"of": "sum"}, "it has no sum"),
        ({"of": "all"}, "it has no all"),
        ({"colour": 1}, "in quotas, expected a quota"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, change, words):
    """Points that are not there, bounds that are no numbers, unknown words."""
    quota = {"column": "it", "value": "f", "of": "count", "low": 1, "points": [0]} | change
    path = tmp_path / "known.json"
    path.write_text(json.dumps({"quotas": [quota]}))
    with pytest.raises(InvalidInputError, match=words):
        Constraints.read(path, n_points=4)
    for whole, said in ((4, "a list of quotas"), ([4], "a quota {")):
        path.write_text(json.dumps({"quotas": whole}))
        with pytest.raises(InvalidInputError, match=said):
            Constraints.read(path, n_points=4)


def test_quotas_need_the_number_of_points(tmp_path):
    """A share is of all points, so a file of quotas is not read without their number."""
    all_kinds(n_points=4).write(tmp_path / "known.json")
    with pytest.raises(InvalidInputError, match="Pass n_points=... or ids=..."):
        Constraints.read(tmp_path / "known.json")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"counts": [None, 1]}, "an empty one"),
        ({"counts": True}, "one count each"),
        ({"value": "f", "of": "count", "counts": [2, 3]}, "beside a value"),
        ({"value": ["f"], "of": "count"}, "in quotas"),
        ({"column": None}, "in quotas"),
        ({"low": 3, "high": 1}, "bad.json: quota on g: low=3 is more than high=1"),
    ],
)
def test_bad_entries_are_named(tmp_path, entry, words):
    """Nothing is guessed, and the file is named."""
    quota = {"column": "g", "of": "sum", "points": [0, 1]} | entry
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({"quotas": [quota]}))
    with pytest.raises(InvalidInputError, match=words):
        Constraints.read(path, n_points=4)


@pytest.mark.parametrize("values", [[10**18, 1], [-1, 2]])
def test_whole_values_come_back(tmp_path, values):
    """Values of any length, of both signs."""
    known = Constraints(n_points=4).quota(values * 2, low=0.2, of="share", name="g")
    known.write(tmp_path / "q.json")
    again = Constraints.read(tmp_path / "q.json", n_points=4)
    assert [quota.value for quota in again.quotas] == [quota.value for quota in known.quotas]
