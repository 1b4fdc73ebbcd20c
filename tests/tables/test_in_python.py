"""Tables and ids in Python: wrong columns, integer indexes and contradictions say what to do."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from smdeclust import Constraints, InfeasibleConstraintsError, InvalidInputError, SMDEClust


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    ids = [f"p{i}" for i in range(12)]
    return pd.DataFrame({"a": rng.normal(size=12), "b": rng.normal(size=12)}, index=ids)


def test_a_column_of_text(frame):
    """The column, the value, the row and what to do; a fit leaves nothing behind."""
    model = SMDEClust(2)
    with pytest.raises(InvalidInputError, match="Column 'city' has 'Rome' in row 0.*TableFeatures"):
        model.fit(frame.assign(city="Rome"))
    assert not hasattr(model, "labels_")
    fitted = SMDEClust(2, random_state=0).fit(frame)
    with pytest.raises(InvalidInputError, match="Column 'b' has 'x' in row 2"):
        fitted.predict(frame.assign(b=["1", "2", "x", *["3"] * 9]))


def test_an_index_of_other_integers(frame):
    """Bare pairs on such a frame warn; on 0..N-1, and with constraints, they do not."""
    odd = frame.set_index(np.arange(100, 112))
    with pytest.warns(UserWarning, match="row positions from 0 to 11.*first row is 100"):
        SMDEClust(2, random_state=0).fit(odd, must_link=[(0, 1)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = Constraints(must_link=[(100, 101)], ids=odd.index)
        labels = SMDEClust(2, random_state=0).fit(odd, constraints=known).labels_
        assert labels[0] == labels[1]
        SMDEClust(2, random_state=0).fit(frame.reset_index(drop=True), must_link=[(0, 1)])
        SMDEClust(2, random_state=0).fit(frame, must_link=[(0, 1)])


def test_contradictions_by_id(frame):
    """Ids of the constraints, or of the frame, are in the message in place of rows."""
    pairs = {"must_link": [("p1", "p2"), ("p2", "p3")], "cannot_link": [("p1", "p3")]}
    known = Constraints(**pairs, ids=frame.index)
    with pytest.raises(InfeasibleConstraintsError, match="join them: 'p1' - 'p2' - 'p3'") as caught:
        SMDEClust(3).fit(frame.to_numpy(), constraints=known)
    assert set(caught.value.details["ids"]) == {"p1", "p2", "p3"}
    rows = {"must_link": [(1, 2)], "cannot_link": [(2, 1)]}
    with pytest.raises(InfeasibleConstraintsError, match="separates 'p2' and 'p1'"):
        SMDEClust(3).fit(frame, **rows)
    apart = Constraints(cannot_link=[("p1", "p2"), ("p2", "p3"), ("p1", "p3")], ids=frame.index)
    with pytest.raises(InfeasibleConstraintsError) as caught:
        SMDEClust(2, metric="auto").fit(frame, constraints=apart)
    assert "One point of each: 'p1', 'p2', 'p3'." in str(caught.value)
