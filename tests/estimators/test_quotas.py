"""Quotas: counts, shares, sums and means in every cluster, against enumeration."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from smdeclust import (
    BLPKMeans,
    Constraints,
    GuidedClustering,
    InfeasibleConstraintsError,
    InvalidInputError,
    SMDEClust,
    suggest_labels,
    suggest_pairs,
)
from smdeclust.assignment import exact_assignment, milp_assignment
from smdeclust.estimators.soft import prices_of_bounds
from smdeclust.exact import certify
from smdeclust.problem import Problem
from smdeclust.structure.label_program import LabelProgram

N, K = 9, 3
EVERY = np.array(list(itertools.product(range(K), repeat=N)))


def points(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(N, 2))


def kept(labels: np.ndarray, column: np.ndarray, value, low, high, of: str) -> np.ndarray:
    """Which of these labels keep a quota, by the definition."""
    counts = (column == value) * 1.0 if value is not None else column.astype(float)
    fits = np.ones(len(labels), dtype=bool)
    for k in range(K):
        inside = labels == k
        held, size = inside @ counts, inside.sum(axis=1)
        held = held / np.maximum(size, 1) if of in ("share", "mean") else held
        fits &= (size > 0) & (held >= low - 1e-9) & (held <= high + 1e-9)
    return fits


def least(X, labels, penalty=0.0):
    total = np.zeros(len(labels)) + penalty
    for k in range(K):
        inside = (labels == k) * 1.0
        mass = np.maximum(inside.sum(axis=1), 1e-300)
        total += inside @ (X**2).sum(axis=1) - (((inside @ X) ** 2).sum(axis=1)) / mass
    return float(total.min())


CASES = {
    "counts": ("f", 1, 2, "count"),
    "shares": ("f", 0.3, 0.6, "share"),
    "a sum": (None, 2.0, 8.0, "sum"),
    "a mean": (None, 0.8, 2.5, "mean"),
}
GENDER = np.array(list("fmfmmfmfm"))
AMOUNT = np.array([1.0, 2.0, 0.5, 3.0, 1.5, 2.0, 1.0, 0.5, 2.5])


def known_of(case: str, **pairs) -> tuple[Constraints, np.ndarray]:
    value, low, high, of = CASES[case]
    column = AMOUNT if value is None else GENDER
    known = Constraints(**pairs, n_points=N)
    if value is None:
        known = known.quota(column, low, high, of=of, name="amount")
    else:
        known = known.quota(column, {value: low}, {value: high}, name="gender")
    assert [q.of for q in known.quotas] == [of]
    return known, kept(EVERY, column, value, low, high, of)


@pytest.mark.parametrize("case", CASES)
def test_fit_and_assignments_agree_with_enumeration(case):
    """With pairs and without: the fit, the exact assignment and the plain MILP."""
    for pairs in ({}, {"must_link": [(0, 3)], "cannot_link": [(1, 2), (4, 5)]}):
        X = points(1)
        known, fits = known_of(case, **pairs)
        if pairs:
            fits = fits & (EVERY[:, 0] == EVERY[:, 3])
            fits &= (EVERY[:, 1] != EVERY[:, 2]) & (EVERY[:, 4] != EVERY[:, 5])
        model = SMDEClust(K, search="quick", random_state=0).fit(X, constraints=known)
        assert model.inertia_ == pytest.approx(least(X, EVERY[fits]), rel=1e-9)
        (held,) = model.quotas_
        assert np.allclose(held["held"], known.quotas[0].held(model.labels_, K))
        problem = Problem.build(X, K, known.must_link, known.cannot_link, quotas=known.quotas)
        centers = X[[0, 4, 8]]
        squares = ((X[:, None] - centers) ** 2).sum(axis=2)
        expected = squares[np.arange(N), EVERY[fits]].sum(axis=1).min()
        assert exact_assignment(problem, centers).cost == pytest.approx(expected, rel=1e-9)
        assert milp_assignment(problem, centers).cost == pytest.approx(expected, rel=1e-9)


def test_several_quotas_with_sizes_and_soft_pairs():
    """Two columns, sizes and a soft pair at once."""
    X = points(2)
    known = Constraints(soft_must_link=[(0, 8)], soft_must_link_price=0.5, n_points=N)
    known = known.quota(GENDER, 1, 3, name="gender").quota(AMOUNT, high=7.0, name="amount")
    assert len(known.quotas) == 3  # both genders, and the sum
    model = SMDEClust(K, size_min=2, size_max=4, search="quick", random_state=0)
    model.fit(X, constraints=known)
    fits = kept(EVERY, AMOUNT, None, -np.inf, 7.0, "sum")
    for value in "fm":
        fits &= kept(EVERY, GENDER, value, 1, 3, "count")
    sizes = np.array([(k == EVERY).sum(axis=1) for k in range(K)])
    fits &= ((sizes >= 2) & (sizes <= 4)).all(axis=0)
    labels = EVERY[fits]
    expected = least(X, labels, 0.5 * (labels[:, 0] != labels[:, 8]))
    assert model.objective_ == pytest.approx(expected, rel=1e-9)


def test_new_rows_under_what_is_left():
    """predict: quotas of the new rows alone, and of old and new rows together."""
    X, new = points(3), points(4)
    model = SMDEClust(K, search="quick", random_state=0).fit(X)
    squares = ((new[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    alone = Constraints(n_points=N).quota(GENDER, {"f": 1}, {"f": 2}, name="gender")
    both = Constraints(n_points=2 * N).quota(
        np.concatenate([GENDER, GENDER]), {"f": 0.3}, {"f": 0.7}, name="gender"
    )
    for known, before in ((alone, None), (both, model.labels_)):
        labels = model.predict(new, constraints=known)
        fits = []
        for each in EVERY:
            whole = each if before is None else np.concatenate([before, each])
            held = known.quotas[0].held(whole, K)
            low, high = known.quotas[0].low, known.quotas[0].high
            fits.append(bool(((held >= low - 1e-9) & (held <= high + 1e-9)).all()))
        expected = squares[np.arange(N), EVERY[np.array(fits)]].sum(axis=1).min()
        assert squares[np.arange(N), labels].sum() == pytest.approx(expected, rel=1e-9)


def test_new_rows_that_cannot_keep_a_quota_are_explained():
    """Which value, how many there are and are needed, and the nearest bound that totals allow."""
    model = SMDEClust(K, search="quick", random_state=0).fit(points(3))
    known = Constraints(n_points=N).quota(GENDER, {"f": 2}, name="gender")
    with pytest.raises(InfeasibleConstraintsError, match="need 6, and there are 4. low can be"):
        model.predict(points(4), constraints=known)


@pytest.mark.parametrize(
    ("column", "low", "words"),
    [
        (np.ones((N, 2)), 1, "one entry for each point, not a table"),
        (GENDER, {"f": [[1, 2], 1]}, "one number for all clusters"),
        (GENDER, {"f": []}, "one number for all clusters"),
        (GENDER, {"f": [1, 2, np.inf]}, "one number for all clusters"),
        (GENDER, {"f": [1, 2.5, 1.5], "m": [0.2, 2, 0.2]}, "a share is 0 to 1, got 2.5"),
        (GENDER, "many", "one number for all clusters"),
    ],
)
def test_what_is_no_column_or_no_bound_is_refused(column, low, words):
    """Tables, lists of bounds and words."""
    with pytest.raises(InvalidInputError, match=words):
        Constraints(n_points=N).quota(column, low)


def test_bounds_that_differ_by_cluster():
    """They are taken in any order, the same for sizes and quotas; bounds are told by cluster."""
    known = Constraints(n_points=N).quota(GENDER, {"f": [0, 1, 3]}, {"f": [0, None, 3]}, name="it")
    known = known.quota(AMOUNT, high=[2, None, 1.5], of="mean", name="amount")
    model = SMDEClust(K, size_min=[2, 1, 4], search="quick", random_state=0)
    model.fit(points(5), constraints=known)
    order = [[2, 1, 4].index(low) for low in model.size_bounds_[:, 0]]
    girls, amounts = model.quotas_
    assert girls["low"].tolist() == [[0, 1, 3][j] for j in order]
    assert girls["high"].tolist() == [[0, np.inf, 3][j] for j in order]
    assert amounts["low"] is None
    assert ((girls["held"] >= girls["low"]) & (girls["held"] <= girls["high"])).all()
    assert (amounts["held"] <= amounts["high"] + 1e-9).all()
    assert (model.cluster_sizes_ >= model.size_bounds_[:, 0]).all()
    problem = Problem.build(points(5), K, quotas=known.quotas, size_min=[2, 1, 4])
    assert problem.holds(model.labels_)
    assert pickle.loads(pickle.dumps(known)) == known


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"low": {"f": [1, 2]}}, "'f': low must be one number or one for each of .* got 2 numbers"),
        ({"low": {"f": [1, 2, 2]}}, "need 5, and there are 4. low can be at most 1"),
        (
            {"high": {"m": [1, 2, 1]}},
            "at most 1, 2, 1 of 'm' have room for 4, and there are 5. high must",
        ),
        ({"low": {"f": [0.5, 0.6, 0.7]}}, "at least 0.5, 0.6, 0.7 in the clusters, but over"),
    ],
)
def test_impossible_bounds_that_differ_are_explained(bounds, words):
    """All of them, their sum, how many there are, and the nearest bound that totals allow."""
    known = Constraints(n_points=N).quota(GENDER, **bounds, name="it")
    with pytest.raises((InfeasibleConstraintsError, InvalidInputError), match=words):
        SMDEClust(K).fit(points(0), constraints=known)


def test_fractions_of_zeros_and_ones_are_shares():
    """A sum between 0.3 and 0.6 makes no sense there."""
    known = Constraints(n_points=N)
    assert known.quota((GENDER == "f") * 1, 0.3, 0.6).quotas[0].of == "mean"
    assert known.quota((GENDER == "f") * 1, 1, 2).quotas[0].of == "sum"
    assert known.quota(AMOUNT, 2.5).quotas[0].of == "sum"


@pytest.mark.parametrize(
    ("column", "bounds", "words"),
    [
        (GENDER, {"low": {"f": 2}}, "need 6, and there are 4. low can be at most 1"),
        (GENDER, {"high": {"m": 1}}, "have room for 3, and there are 5. high must be at least 2"),
        (GENDER, {"low": {"f": 0.6}}, r"it is 0.4444 \(4 of 9\). low can be at most 0.44"),
        (GENDER, {"high": {"f": 0.3}}, "high must be at least 0.45"),
        (AMOUNT, {"low": 6.0}, "need 18, and there are 14"),
        (GENDER, {"low": 0.5}, "'f' .* low can be at most 0.44"),
        (["a"] * 4 + ["b"] * 5, {"low": 0.52}, "'a' .* low can be at most 0.44"),
        (["b"] * 5 + ["a"] * 4, {"low": 0.6}, "'b' .* low can be at most 0.44"),
        (["x"] * 7 + ["?"] * 2, {"high": {"?": 0.1}}, "high must be at least 0.23"),
        (["x"] * 7 + ["?"] * 2, {"low": {"?": 0.1}}, r"\(2 of 9\). low can be at most 0\."),
    ],
)
def test_impossible_quotas_are_explained(column, bounds, words):
    """Which value, how many there are and are needed, and the nearest bound that totals allow."""
    known = Constraints(n_points=N).quota(column, **bounds, name="it")
    with pytest.raises(InfeasibleConstraintsError, match=words):
        SMDEClust(K).fit(points(0), constraints=known)


def test_a_gap_in_numbers_is_named():
    """By the id where there is one."""
    known = Constraints(ids=[f"pupil {i}" for i in range(N)])
    with pytest.raises(InvalidInputError, match=r"'pupil 2' \(row 2\) has no number. Fill it in"):
        known.quota([1.5, 2.5, None] + [1.0] * 6, low=1, name="grade")


def test_pairs_in_the_way_are_explained():
    """A group that is too large for a quota names its rows; quotas that clash with pairs say so."""
    known = Constraints(must_link=[(0, 2), (2, 5)], n_points=N)
    known = known.quota(GENDER, high={"f": 2}, name="gender")
    with pytest.raises(InfeasibleConstraintsError, match=r"rows 0, 2, 5.*high must be at least 3"):
        SMDEClust(K).fit(points(0), constraints=known)
    apart = Constraints(cannot_link=[(1, 3), (3, 4), (1, 4)], n_points=N)
    apart = apart.quota([True, True] + [False] * 7, high=1, name="first")
    assert SMDEClust(K, search="quick").fit(points(0), constraints=apart).labels_ is not None
    clash = Constraints(cannot_link=[(0, 1)], n_points=N)
    clash = clash.quota([1.0, 1.0] + [0.0] * 7, low=0.0, high=2.0, name="pair")
    clash = clash.quota(["a", "a"] + ["b"] * 7, high={"b": 3}, name="kind")
    clash = clash.quota([True, False, True] + [False] * 6, low=1, name="yes")
    with pytest.raises(InfeasibleConstraintsError, match="need 3, and there are 2"):
        SMDEClust(K).fit(points(0), constraints=clash)


def test_how_quotas_are_given():
    """Counts, shares, yes or no, numbers; what is wrong is said; they travel with the rows."""
    known = Constraints(n_points=N).quota(GENDER, low=0.2, high=0.8, name="gender")
    assert [(q.value, q.of) for q in known.quotas] == [("f", "share"), ("m", "share")]
    (yes,) = Constraints(n_points=2).quota([True, False], low=1).quotas
    assert (yes.value, yes.of, yes.counts.tolist()) == (True, "count", [1.0, 0.0])
    assert repr(known) == "Constraints of 9 points: 2 quotas"
    assert known[[0, 1, 2]].quotas[0].counts.tolist() == [1.0, 0.0, 1.0]
    assert pickle.loads(pickle.dumps(known)) == known
    assert known != Constraints(n_points=N)
    assert (known | known) == known
    for column, given, words in (
        (GENDER, {}, "low=, high= or both"),
        (GENDER[:3], {"low": 1}, "3 entries for 9"),
        (GENDER, {"low": {"female": 1}}, "no point has the value 'female'"),
        (GENDER, {"low": 3, "high": 1}, "more than"),
        (GENDER, {"low": -1}, "0 or more"),
        (GENDER, {"low": 0.5, "high": 1.5}, "0 to 1"),
        (GENDER, {"low": 1, "of": "mean"}, "column of numbers"),
        ([1.0, np.nan] + [2.0] * 7, {"low": 1}, "row 1 has no number"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            Constraints(n_points=N).quota(column, **given)


def test_who_does_not_know_quotas_says_so(tmp_path):
    """Other estimators and files of pairs refuse them by name."""
    known = Constraints(n_points=N).quota(GENDER, high={"f": 2}, name="gender")
    with pytest.raises(InvalidInputError, match="BLPKMeans does not support quotas"):
        BLPKMeans(K).fit(points(0), constraints=known)
    with pytest.raises(InvalidInputError, match="certify does not support quotas.* pairs alone"):
        certify(points(0), np.arange(N) % K, constraints=known)
    with pytest.raises(InvalidInputError, match="The format csv cannot store quotas"):
        known.write(tmp_path / "pairs.csv")


def test_check_judges_quotas():
    """One point of a value that every cluster needs: not feasible, in a sentence."""
    known = Constraints(n_points=4).quota(list("fmmm"), {"f": 1}, name="gender")
    found = known.check(2)
    assert not found
    assert "gender" in repr(found)
    assert known.check(1)


def test_one_call_means_one_thing():
    """Shares and counts are not mixed: 1.0 beside fractions is all of a cluster."""
    quotas = Constraints(n_points=4).quota(list("abab"), {"a": 0.2}, {"a": 0.8, "b": 1.0}).quotas
    assert [quota.of for quota in quotas] == ["share", "share"]


def test_quotas_are_in_the_order_of_the_labels():
    """In a learned distance, too, whose clusters are numbered again."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1.0, 10.0, 1.0] + np.repeat([[0], [3], [6]], 20, axis=0) * [
        1,
        0,
        -1,
    ]
    amount = rng.random(60)
    known = Constraints([(0, 1), (20, 21), (40, 41)], [(0, 20), (20, 40)], n_points=60)
    known = known.quota(amount, 2.0, name="amount")
    for seed in range(3):
        model = SMDEClust(3, metric="learned", random_state=seed, search="quick")
        model.fit(X, constraints=known)
        held = np.bincount(model.labels_, amount, 3)
        assert np.allclose(model.quotas_[0]["held"], held)


@pytest.mark.parametrize("views", [["given"], ["given", "classes"]])
def test_guided_clustering_keeps_quotas(views):
    """Quotas that bind hold beside pairs, in one view and in the consensus of several."""
    rng = np.random.default_rng(5)
    X = np.repeat([[0.0, 0.0], [4.0, 0.0]], 30, axis=0) + rng.normal(size=(60, 2))
    group = np.where(np.arange(60) < 24, "a", "b")  # all on one side
    known = Constraints([(0, 1), (30, 31)], [(0, 30)], n_points=60)
    known = known.quota(group, low={"a": 0.3}, name="group").quota(np.arange(60.0), high=1000)
    model = GuidedClustering(2, views=views, random_state=0).fit(X, constraints=known)
    (share, total) = model.quotas_
    assert share["held"].min() >= 0.3
    assert total["held"].max() <= 1000
    assert np.allclose(total["held"], np.bincount(model.labels_, np.arange(60.0)))
    labels = model.labels_
    assert labels[0] == labels[1] != labels[30] == labels[31]
    free = GuidedClustering(2, views=views, random_state=0).fit(
        X, constraints=known._with(quotas=())
    )
    assert known.quotas[0].held(free.labels_, 2).min() < 0.3


def test_guided_clustering_places_rows_under_quotas(monkeypatch):
    """Where views see only some rows, quotas hold for all of them; and new rows under what is
    left."""
    monkeypatch.setattr("smdeclust.estimators.guided.MAX_ROWS", 30)
    rng = np.random.default_rng(6)
    X = np.repeat([[0.0, 0.0], [4.0, 0.0]], 30, axis=0) + rng.normal(size=(60, 2))
    group = np.where(np.arange(60) < 24, "a", "b")
    known = Constraints(n_points=60).quota(group, {"a": 10}, name="group")
    model = GuidedClustering(2, views=["given"], random_state=0).fit(X, constraints=known)
    assert model.quotas_[0]["held"].min() >= 10
    more = Constraints(n_points=4).quota([True, True, False, False], 1, 1)
    labels = model.predict(X[:4], constraints=more)
    assert labels[0] != labels[1]


def test_questions_do_not_mind_quotas():
    """Which pair to ask does not depend on bounds beyond the fit."""
    known = Constraints(n_points=N).quota(GENDER, {"f": 1}, {"f": 2}, name="gender")
    model = SMDEClust(K, search="quick", random_state=0).fit(points(3), constraints=known)
    asked = suggest_pairs(model, points(3), constraints=known)
    assert asked == suggest_pairs(model, points(3), constraints=Constraints(n_points=N))
    assert suggest_labels(model, points(3), constraints=known)


def relaxation(costs: np.ndarray, bounds) -> float:
    """The linear relaxation, by another solver."""
    program = LabelProgram(np.ones(costs.shape, dtype=bool))
    program.add_bounds(bounds)
    rows, low, high = program.rows()
    up, down = np.isfinite(high), np.isfinite(low)
    matrix = np.vstack([rows.toarray()[up], -rows.toarray()[down]])
    found = linprog(costs.ravel(), matrix, np.concatenate([high[up], -low[down]]), bounds=(0, 1))
    return float(found.fun)


@pytest.mark.parametrize("seed", range(6))
def test_prices_of_bounds_are_those_of_the_relaxation(seed):
    """The dual at these prices is the linear optimum; one more saves no more than its price."""
    rng, n = np.random.default_rng(seed), 24
    X, amount = rng.normal(size=(n, 2)) + 3 * rng.integers(0, K, n)[:, None], rng.random(n)
    group = np.where(np.arange(n) % 5 < 2, "a", "b")
    known = Constraints([(0, 1)] if seed % 2 else [], n_points=n)
    known = known.quota(group, {"a": 0.3 if seed % 3 else 3}, {"a": 0.5 if seed % 3 else 4})
    known = known.quota(amount, high=1.05 * amount.sum() / K, name="amount")
    sizes = {"size_min": [6, 7, 8] if seed == 1 else 7}
    model = SMDEClust(K, **sizes, random_state=0, search="quick").fit(X, constraints=known)
    problem = Problem.build(X, K, known.must_link, quotas=known.quotas, **sizes)
    costs = problem.group_costs(((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2))
    bounds = problem.group_bounds
    bounds = bounds.with_order(bounds.match(bounds.held(problem.group_labels(model.labels_))))
    prices = prices_of_bounds(problem, model.labels_, model.cluster_centers_)
    value = relaxation(costs, bounds)
    dual = bounds.priced(costs, prices).min(axis=1).sum() - bounds.charge(prices)
    assert dual == pytest.approx(value, rel=1e-7)
    assert (prices != 0).any()
    assert np.array_equal(model.size_prices_, prices[0])
    assert np.array_equal(model.quotas_[-1]["price"], prices[-1])
    shared = prices[1:-1].sum(axis=0)
    assert np.array_equal(model.quotas_[0]["price"], shared)
    for b, k in zip(*np.nonzero(prices), strict=True):
        low, high = bounds.low.copy(), bounds.high.copy()
        (high if prices[b, k] > 0 else low)[b, k] += np.sign(prices[b, k])
        saved = value - relaxation(costs, replace(bounds, low=low, high=high))
        assert -1e-7 * value <= saved <= abs(prices[b, k]) + 1e-7 * value


def test_no_price_where_nothing_binds():
    """Bounds that the clusters keep by themselves cost nothing."""
    X = points(1)
    free = SMDEClust(K, search="quick", random_state=0).fit(X)
    most = int(np.bincount(free.labels_, GENDER == "f").max())
    known = Constraints(n_points=N).quota(GENDER, high={"f": most}, name="gender")
    model = SMDEClust(K, search="quick", random_state=0).fit(X, constraints=known)
    assert model.inertia_ == pytest.approx(free.inertia_)
    assert not model.quotas_[0]["price"].any()
    assert not hasattr(model, "size_prices_")
