"""What each pair costs, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from smdeclust import Constraints, InvalidInputError, SMDEClust, pair_costs
from tests.report.test_costly_pairs import _brute


@pytest.mark.parametrize("seed", range(4))
def test_savings_against_brute_force(seed):
    """Each saving is the optimum with all pairs less the optimum without the pair."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 2))
    hidden = np.concatenate([[0, 1], rng.integers(0, 2, 5)])
    drawn = np.array([(i, j) for i in range(7) for j in range(i)])[rng.permutation(21)[:6]]
    same = hidden[drawn[:, 0]] == hidden[drawn[:, 1]]
    known = Constraints(drawn[same], drawn[~same], n_points=7, ids=list("abcdefg"), by_row=True)
    model = SMDEClust(2, random_state=0).fit(X, constraints=known)
    base = _brute(X, 2, known.must_link, known.cannot_link)
    calls = []
    table = pair_costs(model, X, known, progress=lambda done, total: calls.append((done, total)))
    assert table.complete
    assert len(table) == 6
    assert calls[-1] == (6, 6)
    assert table.objective == pytest.approx(base)
    for row in table:
        must, cannot = known.must_link, known.cannot_link
        if row.kind == "must_link":
            must = np.delete(must, row.position, axis=0)
        else:
            cannot = np.delete(cannot, row.position, axis=0)
        assert row.saves == pytest.approx(base - _brute(X, 2, must, cannot), abs=1e-9)
        assert row.names == known.named(row.kind)[row.position]
        assert (row.n_moved > 0) == (row.saves > 0)
        if row.implied:
            assert row.saves == 0
    assert [row.saves for row in table] == sorted((row.saves for row in table), reverse=True)
    frame = table.to_frame()
    assert list(frame["saves"]) == [row.saves for row in table]
    assert "saves" in repr(table)
    assert "<table" in table._repr_html_()


def test_some_pairs():
    """A list of pairs, by row or by id, either way round; unknown ones are refused."""
    X, _ = load_iris(return_X_y=True)
    names = [f"p{i}" for i in range(150)]
    known = Constraints([("p0", "p149")], [("p1", "p2")], ids=names)
    model = SMDEClust(3, random_state=0, max_populations=1).fit(X, constraints=known)
    table = pair_costs(model, X, known, pairs=[("p149", "p0")])
    assert [row.kind for row in table] == ["must_link"]
    assert table[0].saves > 0
    assert 0 in table[0].moved or 149 in table[0].moved
    with pytest.raises(InvalidInputError, match="not a hard pair"):
        pair_costs(model, X, known, pairs=[("p5", "p0")])
    with pytest.raises(InvalidInputError, match='"all" or a list'):
        pair_costs(model, X, known, pairs="some")
    hurried = pair_costs(model, X, known, max_time=0.0)
    assert not hurried.complete
    assert len(hurried) == 1


def test_learned_distance_stays_the_same():
    """In a learned distance savings are measured in that distance."""
    X, _ = load_iris(return_X_y=True)
    known = Constraints([(0, 149)], [(1, 2)], n_points=150)
    model = SMDEClust(3, metric="diagonal", random_state=0, max_populations=1)
    model.fit(X, constraints=known)
    table = pair_costs(model, X, known)
    assert table.objective == pytest.approx(model.inertia_)
    assert all(0 <= row.saves < model.inertia_ for row in table)
