"""Soft prices are made once: one number per pair, everywhere, whatever the order of the rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

from smdeclust import Constraints, InvalidInputError, SMDEClust, pair_costs
from smdeclust.assignment import exact_assignment, milp_assignment
from smdeclust.estimators.soft import SoftPrices
from smdeclust.problem import Problem
from smdeclust.structure import SoftPairs

IRIS, CLASSES = load_iris(return_X_y=True)


def some_pairs(seed: int, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of different rows, and whether each is a must-link."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    return np.column_stack([first, second]), rng.random(m) < 0.5


def prices_of(X, k, weight=None):
    return SoftPrices.estimate(Problem.build(X, k, sample_weight=weight), None).spread


@pytest.mark.parametrize("seed", range(8))
def test_order_and_units_do_not_matter(seed):
    """Permuted rows give the same price to the last digit, other units the same in these units."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(5, 60)), int(rng.integers(1, 5)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) if seed % 2 else rng.integers(0, 4, (n, d)) * 0.1
    weight = rng.random(n) + 0.5 if seed % 4 >= 2 else None
    here = prices_of(X, k, weight)
    order = rng.permutation(n)
    assert prices_of(X[order], k, None if weight is None else weight[order]) == here
    for unit in (1e-30, 1000.0, 1e60):
        assert prices_of(X * unit, k, weight) == pytest.approx(here * unit**2, rel=1e-9)
    assert prices_of(csr_array(X), k, weight) == pytest.approx(here, rel=1e-9)


def test_pairs_do_not_change_prices():
    """The same pair costs the same with and without any other knowledge."""
    one = SMDEClust(3, random_state=0).fit(IRIS, soft_must_link=[(0, 100, 0.9)])
    more = SMDEClust(3, random_state=1, size_max=60).fit(
        IRIS, soft_must_link=[(0, 100, 0.9)], must_link=[(0, 1)], cannot_link=[(50, 120)]
    )
    assert one.soft_prices_(0.9) == more.soft_prices_(0.9) == more.broken_[0].price


def test_permuted_rows_keep_the_same_pairs():
    """A fit on permuted rows ends at the same objective, with the same pairs broken."""
    pairs, together = some_pairs(3, 150, 40)
    order = np.random.default_rng(0).permutation(150)
    place = np.argsort(order)
    models = [
        SMDEClust(3, random_state=0).fit(
            X, soft_must_link=rows[together], soft_cannot_link=rows[~together]
        )
        for X, rows in ((IRIS, pairs), (IRIS[order], place[pairs]))
    ]
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-12)
    there = {(p.kind, frozenset(order[list(p.pair)].tolist())) for p in models[1].broken_}
    assert {(p.kind, frozenset(p.pair)) for p in models[0].broken_} == there


def test_predict_pays_the_prices_of_fit():
    """A new point goes where its soft pair says if and only if the price of fit outweighs it."""
    pairs, together = some_pairs(5, 150, 30)
    model = SMDEClust(3, random_state=0).fit(IRIS, soft_must_link=pairs[together])
    every = ((IRIS[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    row = int(np.argmin(np.diff(np.sort(every, axis=1)[:, :2], axis=1)))  # between two clusters
    new, squares = IRIS[[row]], every[row]
    near, far = np.argsort(squares)[:2]
    old = int(np.flatnonzero(model.labels_ == far)[0])
    gap = squares[far] - squares[near]
    even = 1 / (1 + np.exp(-gap / (4 * model.soft_prices_.spread)))
    for confidence, label in ((even - 1e-6, near), (even + 1e-6, far)):
        known = Constraints(soft_must_link=[(old, 150, confidence)], n_points=151)
        assert model.predict(new, constraints=known)[0] == label
        twice = known.add(soft_must_link=[(150, old, 0.9999)])
        assert model.predict(new, constraints=twice)[0] == far


@pytest.mark.parametrize("seed", range(4))
def test_pair_costs_are_differences_of_fits(seed):
    """With soft pairs beside it, a hard pair saves what a fit without it saves, at equal prices."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    pairs, together = some_pairs(seed, 40, 14)
    known = Constraints(
        must_link=[(0, 1)], cannot_link=[(2, 3), (4, 5)], n_points=40,
        soft_must_link=pairs[together], soft_cannot_link=pairs[~together],
    )  # fmt: skip
    model = SMDEClust(3, random_state=0).fit(X, constraints=known)
    table = pair_costs(model, X, known)
    for row in table:
        less = known.drop(**{row.kind: [row.pair]})
        again = SMDEClust(3, random_state=0).fit(X, constraints=less)
        saved = max(table.objective - again.objective_, 0.0)
        assert row.saves == pytest.approx(saved, rel=1e-6, abs=1e-9)


def test_a_repeated_pair_adds_up_everywhere():
    """Listed three times, a pair costs three times as much: in the search, the bill and the exact
    assignment; and as much as one pair with the sum of the log-odds."""
    thrice = SMDEClust(3, random_state=0).fit(IRIS, soft_must_link=[(0, 100, 0.7)] * 3)
    odds = (0.7 / 0.3) ** 3
    once = SMDEClust(3, random_state=0).fit(IRIS, soft_must_link=[(0, 100, odds / (1 + odds))])
    assert thrice.objective_ == pytest.approx(once.objective_, rel=1e-9)
    assert sum(pair.price for pair in thrice.broken_) == pytest.approx(once.broken_[0].price)
    pair = np.array([[0, 100]] * 3)
    soft = SoftPairs(pair, np.full(3, 5.0), pair[:0], np.empty(0))
    problem = Problem.build(IRIS, 3, soft=soft)
    centers = IRIS[[0, 60, 110]]
    nearest = ((IRIS[:, None] - centers) ** 2).sum(axis=2)
    apart = nearest.min(axis=1).sum() + 15.0
    joined = apart - 15.0 + min(nearest[0] + nearest[100] - nearest[0].min() - nearest[100].min())
    found = exact_assignment(problem, centers)
    assert found.cost == pytest.approx(min(apart, joined))
    assert milp_assignment(problem, centers).cost == pytest.approx(found.cost)


@pytest.mark.parametrize("seed", range(12))
def test_the_plain_milp_knows_soft_pairs(seed):
    """Repeated, contradicting and self-referring soft pairs, sizes and weights: the same cost."""
    rng = np.random.default_rng(seed)
    n, k = 9, 3
    X = rng.normal(size=(n, 2))
    pairs, together = some_pairs(seed, n, 10)
    pairs[0] = 4
    together[0] = True
    prices = (
        pairs[together], rng.random(together.sum()) * 3,
        pairs[~together], rng.random((~together).sum()) * 3,
    )  # fmt: skip
    sizes = {"size_min": [1, 2, 3], "size_max": [3, 4, 5]} if seed % 2 else {}
    weight = rng.random(n) + 0.5 if seed % 3 == 0 else None
    problem = Problem.build(X, k, [(0, 1)], [(2, 3)], weight, soft=SoftPairs(*prices), **sizes)
    centers = X[rng.choice(n, k, replace=False)]
    squares = ((X[:, None] - centers) ** 2).sum(axis=2) * problem.point_weights[:, None]
    least = costs(squares, feasible(n, k, [(0, 1)], [(2, 3)], **sizes), *prices).min()
    exact, plain = exact_assignment(problem, centers), milp_assignment(problem, centers)
    assert exact.cost == pytest.approx(plain.cost, rel=1e-9)
    assert plain.cost == pytest.approx(least, rel=1e-9)


def feasible(n, k, must, cannot, size_min=1, size_max=None):
    """All labels that keep these pairs and sizes (rising ones, which hold in any order)."""
    every = np.array(list(itertools.product(range(k), repeat=n)))
    sizes = np.stack([(every == c).sum(axis=1) for c in range(k)], axis=1)
    sizes.sort(axis=1)
    fits = (sizes >= np.maximum(size_min, 1)).all(axis=1)
    fits &= (sizes <= (n if size_max is None else np.asarray(size_max))).all(axis=1)
    for i, j in must:
        fits &= every[:, i] == every[:, j]
    for i, j in cannot:
        fits &= every[:, i] != every[:, j]
    return every[fits]


def costs(squares, labels, must, must_price, cannot, cannot_price):
    """Squares and prices of broken pairs, for each row of labels."""
    total = np.take_along_axis(squares[None], labels[:, :, None], axis=2).sum(axis=(1, 2))
    total += (labels[:, must[:, 0]] != labels[:, must[:, 1]]) @ must_price
    return total + (labels[:, cannot[:, 0]] == labels[:, cannot[:, 1]]) @ cannot_price


@pytest.mark.parametrize("price", [1e308, 1e300, 6e299])
def test_prices_that_overflow_are_refused(price):
    """Six pairs at huge prices: a sentence, before any kernel."""
    X = np.arange(6.0)[:, None]
    pairs = list(itertools.combinations(range(4), 2))
    known = Constraints(soft_cannot_link=pairs, soft_cannot_link_price=price, n_points=6)
    with pytest.raises(InvalidInputError, match="add up"):
        SMDEClust(3, random_state=0).fit(X, constraints=known)
    with pytest.raises(InvalidInputError, match="add up"):
        SMDEClust(3, penalty=price, random_state=0).fit(X, soft_cannot_link=pairs)
    model = SMDEClust(3, random_state=0).fit(X)
    with pytest.raises(InvalidInputError, match="add up"):
        model.predict(X, constraints=known)


@pytest.mark.parametrize("price", [1e150, 1e299 / 6])
def test_large_prices_work(price):
    """What is not refused is solved: as few broken pairs as can be."""
    X = np.arange(6.0)[:, None]
    pairs = list(itertools.combinations(range(4), 2))
    known = Constraints(soft_cannot_link=pairs, soft_cannot_link_price=price, n_points=6)
    model = SMDEClust(3, random_state=0).fit(X, constraints=known)
    assert len(model.broken_) == 1


def test_an_infinite_penalty_is_explained():
    """penalty=inf says what hard pairs are for."""
    with pytest.raises(InvalidInputError, match="must_link= and cannot_link="):
        SMDEClust(3, penalty=np.inf).fit(IRIS, soft_cannot_link=[(0, 1)])


@pytest.mark.parametrize("seed", range(15))
def test_what_keeping_costs(seed):
    """Keeping a broken pair costs what enumeration says, with hard pairs, other soft pairs and
    sizes; never less than its price."""
    rng = np.random.default_rng(seed)
    n, k = 8, 3
    X = rng.normal(size=(n, 2))
    pairs, together = some_pairs(seed, n, 9)
    sizes = {"size_min": 2, "size_max": 4} if seed % 3 == 0 else {}
    model = SMDEClust(k, random_state=0, penalty=1.0, **sizes).fit(
        X, cannot_link=[(0, 1), (1, 2)], must_link=[(3, 4)],
        soft_must_link=[(*p, 0.7) for p in pairs[together]],
        soft_cannot_link=[(*p, 0.7) for p in pairs[~together]],
    )  # fmt: skip
    squares = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    prices = (
        pairs[together], np.full(together.sum(), 0.7),
        pairs[~together], np.full((~together).sum(), 0.7),
    )  # fmt: skip
    every = feasible(n, k, [(3, 4)], [(0, 1), (1, 2)], **sizes)
    rest = costs(squares, every, *prices)
    here = costs(squares, model.labels_[None], *prices)[0]
    for broken in model.broken_:
        i, j = broken.pair
        fits = (every[:, i] == every[:, j]) == (broken.kind == "must_link")
        kept = rest[fits] - (here - broken.price)
        assert broken.keeping == pytest.approx(kept.min(initial=np.inf), rel=1e-9)
        assert broken.keeping >= broken.price * (1 - 1e-9)
