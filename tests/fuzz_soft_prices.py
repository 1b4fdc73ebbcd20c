"""Random soft pairs: one price everywhere, judged by enumeration.

Run with ``python -m tests.fuzz_soft_prices --instances 20000``. Each instance has repeated and
contradicting soft pairs of both kinds beside hard ones, ties, weights and odd units. Claims: prices
are the same for permuted rows (to the last digit) and other units; what labels are billed is what
the search pays; the exact assignment and ``predict`` cost what trying all labels gives, also after
a permutation; every fiftieth time a whole fit is made and its bill checked.
"""

from __future__ import annotations

import itertools

import numpy as np

from smdeclust import Constraints, SMDEClust
from smdeclust.assignment import exact_assignment
from smdeclust.estimators.new_points import label_new
from smdeclust.estimators.soft import SoftPrices
from smdeclust.exceptions import InfeasibleConstraintsError
from smdeclust.problem import Problem
from tests.seeds import run


def disagreement(seed: int) -> str | None:
    """What is wrong with one instance, or nothing."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(3, 8)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) if rng.random() < 0.6 else rng.integers(0, 3, (n, d)) * 0.1
    X = X * rng.choice([1.0, 1e-6, 1e5])
    weight = rng.random(n) + 0.1 if rng.random() < 0.3 else None
    first = rng.integers(0, n, 12)
    pairs = np.column_stack([first, (first + rng.integers(1, n, 12)) % n])
    pairs[6:9] = pairs[:3]  # repeats, some of the other kind
    together = rng.random(12) < 0.5
    confidence = rng.choice([0.5, 0.6, 0.9, 0.99], 12)
    soft, must, cannot = np.arange(12) < 10, np.arange(12) == 10, np.arange(12) == 11

    def known(place: np.ndarray) -> Constraints:
        rows = place[pairs]
        return Constraints(
            rows[must], rows[cannot], n_points=n,
            soft_must_link=rows[soft & together], soft_cannot_link=rows[soft & ~together],
            soft_must_link_confidence=confidence[soft & together],
            soft_cannot_link_confidence=confidence[soft & ~together],
        )  # fmt: skip

    order = rng.permutation(n)
    place = np.argsort(order)
    here, there = known(np.arange(n)), known(place)
    moved = None if weight is None else weight[order]
    try:
        plain = Problem.build(X, k, here.must_link, here.cannot_link, weight)
        again = Problem.build(X[order], k, there.must_link, there.cannot_link, moved)
    except InfeasibleConstraintsError:
        return None
    prices, other = SoftPrices.estimate(plain, None), SoftPrices.estimate(again, None)
    if prices != other:
        return f"prices {prices} and, permuted, {other}"
    scaled = SoftPrices.estimate(Problem.build(X * 4096.0, k, sample_weight=weight), None).spread
    if not np.isclose(scaled, prices.spread * 4096.0**2, rtol=1e-12):
        return "prices depend on the unit"
    problem = Problem.build(X, k, here.must_link, here.cannot_link, weight, soft=prices.pairs(here))
    permuted = Problem.build(
        X[order], k, there.must_link, there.cannot_link, moved, soft=other.pairs(there)
    )
    assert problem.soft is not None
    every = np.array(list(itertools.product(range(k), repeat=n)))
    same = every[:, problem.soft.pairs[:, 0]] == every[:, problem.soft.pairs[:, 1]]
    bill = (same != (np.arange(len(problem.soft)) < len(problem.soft.must_link))) @ (
        problem.soft.price
    )
    centers = X[rng.choice(n, k, replace=False)]
    squares = ((X[:, None] - centers) ** 2).sum(axis=2)
    costs = squares if weight is None else squares * weight[:, None]
    total = costs[np.arange(n), every].sum(axis=1) + bill
    kept = (every[:, pairs[10, 0]] == every[:, pairs[10, 1]]) & (
        every[:, pairs[11, 0]] != every[:, pairs[11, 1]]
    )
    fits = kept & ((np.diff(np.sort(every, axis=1)) > 0).sum(axis=1) + 1 == k)
    some = rng.choice(len(every), min(len(every), 30), replace=False)
    if any(problem.holds(every[i]) != fits[i] for i in some):
        return "labels are said to hold that do not, or the other way round"
    of_labels = [problem.soft.price[problem.soft.broken(every[i])].sum() for i in some]
    if not np.allclose(of_labels, bill[some], rtol=1e-12, atol=0):
        return "the bill of labels is not the sum of the prices of what they break"
    some = some[fits[some]]
    for labels, paid in zip(every[some], bill[some], strict=True):
        if not np.isclose(problem.penalty(problem.group_labels(labels)), paid, rtol=1e-9, atol=0):
            return "the bill is not what the search pays"
    expected = total[fits].min()
    # The mean of equal rows may differ from them in the last digit: a cost of that, squared.
    rounding = np.square(np.finfo(float).eps * np.abs(X).max()) * n
    for each in (problem, permuted):
        found = exact_assignment(each, centers)
        if not np.isclose(found.cost, expected, rtol=1e-9, atol=1e-12 * costs.max() + rounding):
            return f"exact assignment {found.cost}, enumeration {expected}"
    labels = label_new(squares, np.arange(k), here, prices)
    value = squares[np.arange(n), labels].sum()
    value += problem.soft.price[problem.soft.broken(labels)].sum()
    least = (squares[np.arange(n), every].sum(axis=1) + bill)[kept].min()
    if not np.isclose(value, least, rtol=1e-9, atol=1e-12 * squares.max() + rounding):
        return f"predict {value}, enumeration {least}"
    if seed % 50 == 0:
        model = SMDEClust(k, random_state=0).fit(X, constraints=here, sample_weight=weight)
        if model.soft_prices_ != prices:
            return "fit has other prices"
        if not np.isclose(model.objective_, model.inertia_ + sum(p.price for p in model.broken_)):
            return "the objective is not inertia and bill"
    return None


if __name__ == "__main__":
    run(disagreement, __doc__)
