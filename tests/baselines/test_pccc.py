"""PCCC: break-even of a soft pair, exactness against enumeration, all-hard equals BLP-KM."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust import PCCC, BLPKMeans, InvalidInputError
from smdeclust.baselines.pccc import soft_assignment
from smdeclust.problem import Problem
from smdeclust.structure import SoftPairs
from tests.soft_programme import solve_programme


def hard_pairs(seed, n=50, k=4, m=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    truth = rng.integers(0, k, n)
    pairs = rng.integers(0, n, (m, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return X, pairs[same], pairs[~same]


class TestAllHard:
    """Without soft pairs."""

    @pytest.mark.parametrize("seed", range(6))
    def test_equals_blp_kmeans(self, seed):
        """From the same starts, without repositioning, PCCC and BLP-KM end alike."""
        X, ml, cl = hard_pairs(seed)
        ours = PCCC(4, n_init=3, repositioning=False, random_state=seed)
        ours.fit(X, must_link=ml, cannot_link=cl)
        blp = BLPKMeans(4, n_init=3, random_state=seed).fit(X, must_link=ml, cannot_link=cl)
        assert ours.n_repositions_ == 0  # no cluster was empty: there the two methods differ
        assert ours.inertia_ == pytest.approx(blp.inertia_, rel=1e-9)
        assert ours.objective_ == pytest.approx(ours.inertia_)
        assert ours.n_violations_ == 0

    @pytest.mark.parametrize("seed", range(3))
    def test_repositioning_is_never_worse(self, seed):
        """Repositioning is kept only where it lowers the objective."""
        X, ml, cl = hard_pairs(seed, n=80, k=6)
        values = [
            PCCC(6, n_init=1, repositioning=flag, random_state=seed)
            .fit(X, must_link=ml, cannot_link=cl)
            .objective_
            for flag in (False, True)
        ]
        assert values[1] <= values[0] * (1 + 1e-12)

    def test_repositioning_escapes_a_poor_start(self):
        """Three far clusters, two starting centers in one of them: the spare one moves over."""
        X = np.concatenate([np.arange(5.0), 100 + np.arange(5.0), 200 + np.arange(5.0)])[:, None]
        start = np.array([[0.0], [4.0], [150.0]])
        stuck, free = (
            PCCC(3, init=start, n_init=1, max_iter=50, repositioning=flag).fit(X)
            for flag in (False, True)
        )
        assert stuck.objective_ > 1e4
        assert free.objective_ == pytest.approx(30.0)
        assert free.n_repositions_ == 1


class TestBreakEven:
    """One soft pair is kept exactly where breaking it costs more."""

    # Rows 0, 1, 10, 11 and 4; see the sums in test_pck_means: apart costs 55/6 + penalty x
    # confidence, together 175/6, so the must-link is kept above 20.
    X = np.array([[0.0], [1.0], [10.0], [11.0], [4.0]])

    @pytest.mark.parametrize(("confidence", "kept"), [(0.4999, False), (0.5001, True)])
    def test_must_link(self, confidence, kept):
        """Penalty 40: the break-even confidence is 1/2."""
        model = PCCC(2, penalty=40.0, n_init=20, random_state=0)
        model.fit(self.X, soft_must_link=[(3, 4)], must_link_confidence=confidence)
        assert (model.labels_[3] == model.labels_[4]) == kept
        assert model.n_violations_ == (not kept)
        expected = 175 / 6 if kept else 55 / 6 + 40 * confidence
        assert model.objective_ == pytest.approx(expected)

    @pytest.mark.parametrize(("confidence", "kept"), [(0.4999, False), (0.5001, True)])
    def test_cannot_link(self, confidence, kept):
        """Rows 0 and 4 should be apart: {0, 1, 4}, {10, 11} plus the penalty, or as above."""
        model = PCCC(2, penalty=40.0, n_init=20, random_state=0)
        model.fit(self.X, soft_cannot_link=[(0, 4)], cannot_link_confidence=[confidence])
        assert (model.labels_[0] != model.labels_[4]) == kept
        assert model.n_violations_ == (not kept)

    def test_assignment_step(self):
        """For fixed centers 0 and 10 a point at 4 costs 16 or 36: the break-even is 20."""
        X, none = np.array([[0.0], [10.0], [4.0]]), np.empty((0, 2), dtype=np.int64)
        for cost, label in ((19.999, 0), (20.001, 1)):
            soft = SoftPairs(np.array([[1, 2]]), np.array([cost]), none, np.empty(0))
            problem = Problem.build(X, 2, soft=soft)
            centers = problem.enter(np.array([[0.0], [10.0]]))
            labels = problem.expand(soft_assignment(problem.contracted, centers, 2))
            assert labels[2] == label

    def test_hard_pairs_hold_against_soft_ones(self):
        """A hard pair is not broken for a soft one that contradicts it, whatever that costs."""
        model = PCCC(2, penalty=1e6, random_state=0)
        model.fit(self.X, must_link=[(0, 4)], soft_cannot_link=[(0, 4)], cannot_link=[(0, 1)])
        assert model.labels_[0] == model.labels_[4] != model.labels_[1]
        assert model.n_violations_ == 1
        assert model.objective_ == pytest.approx(model.inertia_ + 1e6)


def enumerate_best(problem, must, cannot, must_cost, cannot_cost, centers):
    """The least cost of all labels that keep the hard pairs, by trying all."""
    best = np.inf
    for groups in itertools.product(range(problem.n_clusters), repeat=problem.n_groups):
        labels = problem.expand(np.array(groups))
        if sum(problem.violations(labels)):
            continue
        cost = ((problem.X - centers[labels]) ** 2).sum()
        cost += sum(c for (i, j), c in zip(must, must_cost, strict=True) if labels[i] != labels[j])
        cost += sum(
            c for (i, j), c in zip(cannot, cannot_cost, strict=True) if labels[i] == labels[j]
        )
        best = min(best, cost)
    return best


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 100_000))
def test_assignment_is_optimal_for_the_model(seed):
    """With q = K the assignment costs what trying all labels gives; with q = 1 never less."""
    rng = np.random.default_rng(seed)
    n, k = 7, 3
    X = rng.normal(size=(n, 2))
    truth = rng.integers(0, k, n)
    truth[:k] = np.arange(k)
    hard = rng.integers(0, n, (3, 2))
    hard = hard[hard[:, 0] != hard[:, 1]]
    same = truth[hard[:, 0]] == truth[hard[:, 1]]
    must, cannot = rng.integers(0, n, (5, 2)), rng.integers(0, n, (5, 2))
    cannot = cannot[cannot[:, 0] != cannot[:, 1]]
    must_cost, cannot_cost = rng.random(len(must)) * 2, rng.random(len(cannot)) * 2
    soft = SoftPairs(must, must_cost, cannot, cannot_cost)
    problem = Problem.build(X, k, must_link=hard[same], cannot_link=hard[~same], soft=soft)
    centers = X[rng.choice(n, k, replace=False)]
    expected = enumerate_best(problem, must, cannot, must_cost, cannot_cost, centers)
    for q in (k, 1):
        labels = soft_assignment(problem.contracted, problem.enter(centers), q)
        points = problem.expand(labels)
        assert problem.violations(points) == (0, 0)
        cost = ((X - centers[points]) ** 2).sum() + problem.penalty(labels)
        if q == k:
            assert cost == pytest.approx(expected, rel=1e-9, abs=1e-9)
        else:
            assert cost >= expected - 1e-9


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 100_000))
def test_programme_is_optimal(seed):
    """HiGHS alone, without folding leaves, gives what trying all labels gives."""
    rng = np.random.default_rng(seed)
    n, k = 5, 3
    costs = rng.random((n, k)) * 10
    costs[rng.random((n, k)) < 0.2] = np.inf
    ends = np.array(list(itertools.combinations(range(n), 2)))[rng.random(10) < 0.6]
    together = rng.random(len(ends)) < 0.4
    penalty = rng.random(len(ends)) * 5
    penalty[~together & (rng.random(len(ends)) < 0.4)] = np.inf

    def cost(labels):
        same = labels[ends[:, 0]] == labels[ends[:, 1]]
        return costs[np.arange(n), labels].sum() + penalty[same != together].sum()

    best = min(cost(np.array(labels)) for labels in itertools.product(range(k), repeat=n))
    found = solve_programme(costs, ends, together, penalty)
    assert (np.inf if found is None else cost(found)) == pytest.approx(best)


def test_few_centers_grow_where_they_must():
    """Three mutually apart points near one center need all three, even with q = 1."""
    X = np.array([[0.0], [0.1], [0.2], [50.0], [100.0]])
    model = PCCC(3, q=1, n_init=5, random_state=0)
    model.fit(X, cannot_link=[(0, 1), (1, 2), (0, 2)])
    assert len(set(model.labels_[:3])) == 3


def test_penalty_follows_the_scale_of_the_data():
    """Data in other units give the same labels with the penalty that is chosen by default."""
    rng = np.random.default_rng(0)
    X, pairs = rng.normal(size=(40, 2)), rng.integers(0, 40, (20, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    one, other = (
        PCCC(3, n_init=2, random_state=0).fit(X * s, soft_cannot_link=pairs[:10]) for s in (1, 64)
    )
    assert np.array_equal(one.labels_, other.labels_)
    assert other.penalty_ == pytest.approx(one.penalty_ * 64**2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"soft_must_link": [(0, 9)]}, "soft_must_link: pair 0"),
        ({"soft_must_link": [(0, 1)], "must_link_confidence": 0.0}, "above 0"),
        (
            {"soft_must_link": [(0, 1)], "must_link_confidence": [0.5, 0.5]},
            "one for each of the 1 pairs",
        ),
        ({"soft_cannot_link": [(0, 1)], "cannot_link_confidence": 1.5}, "at most 1"),
        ({"soft_cannot_link": [(0, 1)], "cannot_link_confidence": "x"}, "number"),
    ],
)
def test_bad_soft_pairs(given, words):
    """What is wrong with soft pairs or confidences is said."""
    with pytest.raises(InvalidInputError, match=words):
        PCCC(2).fit(np.arange(5.0)[:, None], **given)


def test_a_repeated_soft_pair_adds_up():
    """A soft pair that is listed again, either way round, costs the sum of its prices."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20, 2))
    must, cannot = rng.permutation(20)[:8].reshape(-1, 2), rng.permutation(20)[:8].reshape(-1, 2)
    once = PCCC(3, random_state=0).fit(
        X, soft_must_link=must, soft_cannot_link=cannot, must_link_confidence=0.6,
        cannot_link_confidence=0.4,
    )  # fmt: skip
    again = PCCC(3, random_state=0).fit(
        X,
        soft_must_link=np.concatenate([must, must[:, ::-1]]),
        soft_cannot_link=np.concatenate([cannot[:, ::-1], cannot]),
        must_link_confidence=[0.5] * 4 + [0.1] * 4,
        cannot_link_confidence=0.2,
    )
    assert again.objective_ == pytest.approx(once.objective_, rel=1e-12)
    assert again.n_violations_ == once.n_violations_


def test_max_time_ends_a_start() -> None:
    """Without any time left, the first start makes one assignment and no other start follows."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = PCCC(4, max_time=0, random_state=0).fit(X, must_link=[(0, 1)], cannot_link=[(0, 2)])
    assert model.n_local_searches_ == model.n_local_iterations_ == 1
    assert model.labels_[0] == model.labels_[1] != model.labels_[2]


def test_both_names_of_the_confidences() -> None:
    """The confidences of soft pairs have the name of these pairs, and still the earlier one."""
    X = np.random.default_rng(1).normal(size=(40, 2))
    pairs = [(i, i + 20) for i in range(20)]
    new, old, sure = (
        PCCC(3, random_state=0).fit(X, soft_must_link=pairs, **given)
        for given in (
            {"soft_must_link_confidence": 0.01}, {"must_link_confidence": 0.01}, {},
        )
    )  # fmt: skip
    assert new.objective_ == old.objective_ < sure.objective_
    with pytest.raises(InvalidInputError, match="not both"):
        PCCC(3).fit(X, soft_must_link=pairs, soft_must_link_confidence=1, must_link_confidence=1)
