"""Soft pairs: the objective is what it says, brute force agrees, confidences matter."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_iris

from smdeclust import Constraints, InvalidInputError, SMDEClust

X, y = load_iris(return_X_y=True)


def random_pairs(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct pairs, and whether each is a must-link."""
    every = np.array(list(itertools.combinations(range(n), 2)))
    return every[rng.choice(len(every), m, replace=False)], rng.random(m) < 0.5


def brute_force(
    Z: np.ndarray, k: int, pairs: np.ndarray, together: np.ndarray, price: np.ndarray
) -> float:
    """The least sum of squares plus prices over all clusterings with no empty cluster."""
    best = np.inf
    for labels in itertools.product(range(k), repeat=len(Z)):
        if labels[0] != 0 or len(set(labels)) < k:
            continue
        named = np.array(labels)
        f = sum(((Z[named == q] - Z[named == q].mean(axis=0)) ** 2).sum() for q in range(k))
        broken = (named[pairs[:, 0]] == named[pairs[:, 1]]) != together
        best = min(best, f + price[broken].sum())
    return float(best)


def tiny(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Constraints]:
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(7, 2))
    pairs, together = random_pairs(rng, 7, 8)
    price = rng.random(8) * 2
    price[rng.random(8) < 0.2] = np.inf  # hard ones among them
    hard = np.isinf(price)
    known = Constraints(
        must_link=pairs[together & hard],
        cannot_link=pairs[~together & hard],
        soft_must_link=pairs[together & ~hard],
        soft_must_link_price=price[together & ~hard],
        soft_cannot_link=pairs[~together & ~hard],
        soft_cannot_link_price=price[~together & ~hard],
        n_points=7,
    )
    return Z, pairs, together, price, known


@pytest.mark.parametrize("local_search", ["deep", "lloyd"])
def test_against_brute_force(local_search: str) -> None:
    """Hard and soft pairs mixed: never below brute force, and at it (the search is a heuristic)."""
    n_best = n_feasible = 0
    for seed in range(12):
        Z, pairs, together, price, known = tiny(seed)
        least = brute_force(Z, 3, pairs, together, price)
        if not np.isfinite(least):
            continue
        model = SMDEClust(3, local_search=local_search, random_state=0)
        model.fit(Z, constraints=known)
        broken = (model.labels_[pairs[:, 0]] == model.labels_[pairs[:, 1]]) != together
        assert model.objective_ == pytest.approx(model.inertia_ + price[broken].sum())
        assert model.objective_ >= least * (1 - 1e-9)
        n_feasible += 1
        n_best += model.objective_ <= least * (1 + 1e-9)
    assert n_feasible >= 6
    assert n_best == n_feasible


@pytest.mark.parametrize("storage", ["dense", "blocks", "sparse", "torch:cpu"])
def test_every_storage(storage: str) -> None:
    """Soft pairs cost the same wherever the points are."""
    if storage.startswith("torch"):
        pytest.importorskip("torch", reason="needs PyTorch: smdeclust[torch]")
    rng = np.random.default_rng(0)
    pairs, together = random_pairs(rng, len(X), 60)
    known = Constraints(
        soft_must_link=pairs[together], soft_cannot_link=pairs[~together], n_points=len(X)
    )

    def fit(where: str | None) -> SMDEClust:
        model = SMDEClust(3, local_search="lloyd", max_populations=4, random_state=0)
        model._storage = where
        return model.fit(X, constraints=known)

    plain, other = fit(None), fit(storage)
    assert other.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    assert other.objective_ == pytest.approx(
        other.inertia_ + sum(pair.price for pair in other.broken_)
    )


def test_confidences_matter() -> None:
    """A wrong pair is broken at a low confidence, and kept at a high one; 1 is a hard pair."""
    wrong = (0, 100)
    labels = {}
    for confidence in (0.6, 1.0):
        model = SMDEClust(3, random_state=0).fit(X, soft_must_link=[(*wrong, confidence)])
        labels[confidence] = model.labels_
    assert labels[0.6][0] != labels[0.6][100]
    assert labels[1.0][0] == labels[1.0][100]
    model = SMDEClust(3, random_state=0).fit(X, soft_must_link=[(*wrong, 0.6)])
    (broken,) = model.broken_
    assert broken.pair == wrong
    assert broken.kind == "must_link"
    assert broken.keeping > broken.price > 0
    assert model.objective_ == pytest.approx(model.inertia_ + broken.price)


def test_half_is_worth_nothing() -> None:
    """A confidence of 0.5 changes nothing."""
    rng = np.random.default_rng(1)
    pairs, _ = random_pairs(rng, len(X), 30)
    plain = SMDEClust(3, random_state=0).fit(X)
    soft = SMDEClust(3, random_state=0).fit(X, soft_cannot_link=[(i, j, 0.5) for i, j in pairs])
    assert soft.inertia_ == pytest.approx(plain.inertia_)
    assert soft.objective_ == pytest.approx(plain.inertia_)


def test_contradictions_among_soft_pairs_are_no_error() -> None:
    """Together and apart at once: the surer one is kept."""
    model = SMDEClust(3, random_state=0).fit(
        X, soft_must_link=[(0, 1, 0.9)], soft_cannot_link=[(0, 1, 0.7)]
    )
    assert [pair.kind for pair in model.broken_] == ["cannot_link"]


def test_penalty_is_a_price() -> None:
    """With a penalty, a broken pair costs that times its confidence."""
    model = SMDEClust(3, penalty=0.25, random_state=0).fit(X, soft_must_link=[(0, 100, 0.8)])
    assert [pair.price for pair in model.broken_] == [pytest.approx(0.2)]


def test_with_sizes_and_a_learned_distance() -> None:
    """Soft pairs go with bounds on sizes, and with a distance that pairs teach."""
    pairs = [(0, 100, 0.7), (1, 60, 0.7)]
    sized = SMDEClust(3, size_max=55, random_state=0).fit(X, soft_must_link=pairs)
    assert np.bincount(sized.labels_).max() <= 55
    assert sized.objective_ == pytest.approx(sized.inertia_ + sum(p.price for p in sized.broken_))
    learned = SMDEClust(3, metric="learned", random_state=0)
    learned.fit(X, must_link=[(0, 1), (50, 51)], soft_must_link=pairs)
    assert len(learned.broken_) == 2


def test_warm_start_with_soft_pairs() -> None:
    """A refit with one more soft pair is no worse than a fit from nothing."""
    rng = np.random.default_rng(2)
    pairs, together = random_pairs(rng, len(X), 40)
    known = Constraints(
        soft_must_link=pairs[together], soft_cannot_link=pairs[~together], n_points=len(X)
    )
    first = SMDEClust(3, random_state=0).fit(X, constraints=known)
    more = known.add(soft_cannot_link=[(3, 9, 0.99)])
    warm = SMDEClust(3, init=first.labels_, random_state=0).fit(X, constraints=more)
    cold = SMDEClust(3, random_state=0).fit(X, constraints=more)
    assert warm.objective_ <= cold.objective_ * (1 + 1e-6)


def test_bad_input() -> None:
    """Confidences and penalties out of range are named."""
    with pytest.raises(InvalidInputError, match="confidence"):
        SMDEClust(3).fit(X, soft_must_link=[(0, 1, 1.5)])
    with pytest.raises(InvalidInputError, match="penalty"):
        SMDEClust(3, penalty=-1).fit(X, soft_must_link=[(0, 1)])


def test_what_keeping_a_broken_pair_costs_moves_whole_groups():
    """Groups move as one; a pair inside a must-link group cannot be kept at all."""
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
    model = SMDEClust(2, random_state=0, penalty=0.01)
    must = {"must_link": [(0, 1), (1, 2)]}
    model.fit(X, **must, soft_cannot_link=[(0, 1, 0.9)], soft_must_link=[(2, 3, 0.9)])
    keeping = {pair.kind: pair.keeping for pair in model.broken_}
    assert keeping["cannot_link"] == np.inf
    # Row 3 to the mean at 1, or the group of three to the mean at 10.5: the former is cheaper.
    assert keeping["must_link"] == pytest.approx(81.0 - 0.25)
