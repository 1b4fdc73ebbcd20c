"""Rows in sentences: by their numbers, or by their ids."""

import pickle

import pytest

from smdeclust.exceptions import InfeasibleConstraintsError, Names
from smdeclust.structure import Structure

IDS = [f"p{i}" for i in range(13)]


def test_names():
    """Numbers follow the noun, ids need none; dots stay dots, and many rows end with some."""
    number, name = Names(), Names(IDS)
    assert number(3, 4, noun="rows", joint=" and ") == "rows 3 and 4"
    assert name(3, 4, noun="rows", joint=" and ") == "'p3' and 'p4'"
    assert name(1, "...", 10, joint=" - ") == "'p1' - ... - 'p10'"
    assert number(*range(13), most=2) == "0, 1, ..."


def test_an_error_with_ids():
    """Everything but the rows stays as it is, also where a number looks like a row."""
    with pytest.raises(InfeasibleConstraintsError) as caught:
        Structure.build(13, 3, cannot_link=[(4, 5), (3, 3)])
    error = caught.value
    assert str(error) == "cannot_link: pair 1 separates row 3 from itself. Remove that pair."
    named = error.by_id(IDS)
    assert str(named) == "cannot_link: pair 1 separates 'p3' from itself. Remove that pair."
    assert named.details == {**error.details, "ids": ["p3", "p3"]}
    again = pickle.loads(pickle.dumps(error))
    assert str(again.by_id(IDS)) == str(error)
    assert named.by_id(IDS[::-1]) is named
