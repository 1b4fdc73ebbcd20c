"""New points under knowledge: exact at fixed centers, or a reason why not."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from smdeclust import (
    Constraints,
    InfeasibleConstraintsError,
    InvalidInputError,
    NoFeasibleSolutionError,
    SMDEClust,
)

N_OLD = 6
OLD = np.array([[0.0, 0], [0, 1], [5, 0], [5, 1], [0, 7], [1, 7]])
MODEL = SMDEClust(3, random_state=0, max_populations=1).fit(OLD)
SPREAD = MODEL.inertia_ / (N_OLD * 2)


def cost_of(labels, squares, known) -> float:
    """What these labels of the new rows cost; infinite where a hard pair is broken."""
    full = np.concatenate([MODEL.labels_, labels])
    cost = squares[np.arange(len(labels)), labels].sum()
    new = lambda pairs: (pairs >= N_OLD).any(axis=1)  # noqa: E731
    must, cannot = known.must_link, known.cannot_link
    if ((full[must[:, 0]] != full[must[:, 1]]) & new(must)).any():
        return np.inf
    if ((full[cannot[:, 0]] == full[cannot[:, 1]]) & new(cannot)).any():
        return np.inf
    for kind in ("soft_must_link", "soft_cannot_link"):
        pairs = getattr(known, kind)
        p = getattr(known, f"{kind}_confidence")
        same = full[pairs[:, 0]] == full[pairs[:, 1]]
        broken = (same if "cannot" in kind else ~same) & new(pairs)
        cost += (4 * SPREAD * np.log(p / (1 - p)))[broken].sum()
    return float(cost)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_cheapest_labels_against_brute_force(data):
    """Hard and soft pairs among new rows and to old ones: the least cost, or infeasible."""
    n = data.draw(st.integers(1, 5))
    seed = data.draw(st.integers(0, 999))
    X = np.random.default_rng(seed).uniform(-1, 8, (n, 2))
    row = st.integers(0, N_OLD + n - 1)
    pairs = st.lists(st.tuples(row, row).filter(lambda p: p[0] != p[1]), max_size=5)
    confidence = st.sampled_from([0.5, 0.7, 0.9, 0.99])
    soft = st.lists(st.tuples(row, row, confidence).filter(lambda p: p[0] != p[1]), max_size=4)
    known = Constraints(
        data.draw(pairs),
        data.draw(pairs),
        data.draw(soft),
        data.draw(soft),
        n_points=N_OLD + n,
    )
    squares = ((X[:, None] - MODEL.cluster_centers_) ** 2).sum(axis=2)
    least = min(cost_of(np.array(c), squares, known) for c in product(range(3), repeat=n))
    if np.isinf(least):
        with pytest.raises(InfeasibleConstraintsError, match="contradict each other"):
            MODEL.predict(X, constraints=known)
        return
    labels = MODEL.predict(X, constraints=known)
    assert cost_of(labels, squares, known) == pytest.approx(least)


def test_two_faces_in_one_photo():
    """Pairs among new rows alone need constraints of the new rows only."""
    X = np.array([[0.1, 0.4], [0.1, 0.6], [5.0, 0.4]])
    assert MODEL.predict(X)[0] == MODEL.predict(X)[1]
    labels = MODEL.predict(X, constraints=Constraints.from_groups([7, 7, 7], kind="cannot_link"))
    assert len(set(labels)) == 3
    assert labels[2] == MODEL.labels_[2]


def test_infeasible_is_explained():
    """The message and the details name the pairs, the old row included."""
    X = OLD[:2] + 0.1
    known = Constraints([(6, 0), (6, 7), (7, 2)], n_points=8)
    with pytest.raises(InfeasibleConstraintsError) as caught:
        MODEL.predict(X, constraints=known)
    assert "must-link 0 - 6" in str(caught.value) or "must-link 6 - 0" in str(caught.value)
    assert "new row i is row 6 + i" in str(caught.value)
    assert caught.value.reason == "new_rows"
    four = Constraints.from_groups([0, 0, 0, 0], kind="cannot_link")
    with pytest.raises(InfeasibleConstraintsError, match="cannot-link 0 - 1"):
        MODEL.predict(OLD[:4], constraints=four)
    names = Constraints([("new", "a"), ("new", "c")], ids=[*"abcdef", "new"])
    with pytest.raises(InfeasibleConstraintsError, match="must-link new - "):
        MODEL.predict(X[:1], constraints=names)


def test_mistakes():
    """Wrong numbers of rows and other objects are refused."""
    with pytest.raises(InvalidInputError, match=r"for 5 points.*or for 8 \(old rows first"):
        MODEL.predict(OLD[:2], constraints=Constraints(n_points=5))
    with pytest.raises(InvalidInputError, match="must be a smdeclust.Constraints"):
        MODEL.predict(OLD[:2], constraints=[(0, 1)])


def test_without_pairs_it_is_plain_predict_and_fits_pipelines():
    """No pairs: nearest centers. In a pipeline constraints go through by name."""
    X = np.random.default_rng(0).uniform(-1, 8, (40, 2))
    none = MODEL.predict(X, constraints=Constraints(n_points=40))
    np.testing.assert_array_equal(none, MODEL.predict(X))
    pipe = make_pipeline(StandardScaler(), SMDEClust(3, random_state=0, max_populations=1))
    pipe.fit(OLD)
    apart = Constraints(cannot_link=[(0, 1)], n_points=2)
    labels = pipe.predict(OLD[:2], constraints=apart)
    assert labels[0] != labels[1]


def test_constraints_must_say_which_rows_they_are_of():
    """Without n_points nobody knows whether row 0 is an old row or a new one."""
    with pytest.raises(InvalidInputError, match="n_points=2 .*or n_points=8"):
        MODEL.predict(OLD[:2], constraints=Constraints(cannot_link=[(0, 1)]))


def test_constraints_in_the_place_of_y_are_an_error():
    """fit(X, constraints) would cluster without them."""
    with pytest.raises(InvalidInputError, match="constraints="):
        SMDEClust(3).fit(OLD, Constraints(cannot_link=[(0, 1)], n_points=6))


def test_sizes_of_new_rows_need_no_constraints():
    """Bounds alone are enough."""
    labels = MODEL.predict(OLD, size_min=2, size_max=2)
    assert np.bincount(labels).tolist() == [2, 2, 2]


@pytest.mark.parametrize("sizes", [{}, {"size_min": 10}])
def test_time_that_ended_proves_nothing(sizes):
    """Dense cannot-links and no time: it is not said that there are no labels."""
    rng = np.random.default_rng(0)
    pairs = np.argwhere(np.triu(rng.random((60, 60)) < 0.5, 1))
    known = Constraints(cannot_link=pairs, n_points=60)
    with pytest.raises(NoFeasibleSolutionError, match="time"):
        MODEL.predict(rng.normal(size=(60, 2)), known, max_time=0.0, **sizes)


def test_ids_in_another_order_than_the_index():
    """Ids of the new rows, alone or after the old ones, are checked as ``fit`` does."""
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(OLD[:2], index=["p", "q"])
    for old in ([], [*"abcdef"]):
        MODEL.predict(X.to_numpy(), Constraints([("p", "q")], ids=[*old, "q", "p"]))
        MODEL.predict(X, Constraints([("p", "q")], ids=[*old, "p", "q"]))
        with pytest.raises(InvalidInputError, match="Row 0 of X is 'p'"):
            MODEL.predict(X, Constraints([("p", "q")], ids=[*old, "q", "p"]))
