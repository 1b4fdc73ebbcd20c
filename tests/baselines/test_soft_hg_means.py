"""S-HG-MEANS: the likelihood by hand, moves by differences, the paper's counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust import SoftHGMeans
from smdeclust.baselines.pieces import survivors
from smdeclust.baselines.soft_hg_means import CANNOT, MUST, Model, descend
from smdeclust.baselines.soft_hg_moves import (
    BETWEEN,
    LOG_FLOOR,
    WITHIN,
    annotation_change,
    gaussian_change,
    likelihood,
    make_state,
    move,
    pick_up,
    put_down,
)
from smdeclust.memetic.rules import max_generations
from smdeclust.problem import Problem, Solution

NONE = np.empty((0, 2), dtype=np.int64)


def objective(model, labels, beta=None):
    """Return the Gaussian part plus the annotation part, from scratch.

    `beta` is the prior to use instead of the one that the sizes of the clusters give.
    """
    sizes = np.bincount(labels, minlength=model.n_clusters)
    beta = model.prior(sizes) if beta is None else beta
    return gaussian(model, labels) + annotation(model, labels, beta)


def gaussian(model, labels):
    """Sum over clusters of SSE / (2 sigma^2) + n d ln sigma, at the best allowed sigma."""
    total = 0.0
    for k in range(model.n_clusters):
        inside = model.points[labels == k]
        gaps = inside - inside.mean(axis=0)
        squares, share = float((gaps**2).sum()), len(inside) * model.n_features
        variance = max(squares / share, model.least_variance)
        total += squares / (2 * variance) + share * 0.5 * np.log(variance)
    return total


def links(model, labels):
    """Return m as (2, K, K): links between clusters; one within a cluster counts twice."""
    m = np.zeros((2, model.n_clusters, model.n_clusters))
    source = np.repeat(np.arange(len(labels)), np.diff(model.indptr))
    np.add.at(m, (model.layers, labels[source], labels[model.indices]), 1.0)
    return m


def annotation(model, labels, beta):
    """Minus the logarithm of the block model's likelihood, and of the prior if there is one."""
    sizes = np.bincount(labels, minlength=model.n_clusters).astype(np.float64)
    m = links(model, labels)
    total = 0.0
    for layer in (MUST, CANNOT):
        if model.n_links[layer] == 0:
            continue
        for r in range(model.n_clusters):
            for s in range(r, model.n_clusters):
                same = r == s
                b = beta[layer, WITHIN if same else BETWEEN]
                pairs = sizes[r] * sizes[s]
                count = m[layer, r, s]
                rate = count / (pairs + (1 + same) * b) if count > 0 else 0.0
                fit = count * np.log(max(rate, LOG_FLOOR)) - rate * pairs
                total += (2 - same) * fit
                if model.confidence is not None:
                    total += 2 * (np.log(max(b, LOG_FLOOR)) - b * rate)
    return -0.5 * total


class TestHandWorked:
    """Points 0, 2 | 10, 14, one must-link inside the first cluster, one cannot-link between."""

    X = np.array([[0.0], [2.0], [10.0], [14.0]])
    LABELS = np.array([0, 0, 1, 1])

    def build(self, accuracy):
        problem = Problem.build(self.X, 2)
        return Model.build(problem, np.array([[0, 1]]), np.array([[1, 2]]), accuracy, 1e-3)

    def test_gaussian_part(self):
        """Variances 1 and 4: 2 (1/2 + ln 1) + 2 (1/2 + ln 2)."""
        assert gaussian(self.build(None), self.LABELS) == pytest.approx(2 + 2 * np.log(2))

    def test_annotation_part_without_prior(self):
        """m_must(0,0) = 2, rate 2/4; m_cannot(0,1) = 1, rate 1/4.

        Must: -1/2 (2 ln 1/2 - 2) = 1 + ln 2. Cannot: -1/2 x 2 (ln 1/4 - 1) = 1 + ln 4.
        """
        model = self.build(None)
        assert annotation(model, self.LABELS, np.zeros((2, 2))) == pytest.approx(2 + np.log(8))

    def test_prior(self):
        """p = 0.8, in = 6, out = 4: b_must = 5.6/0.8 = 7, b_cannot = 4.4/0.8 = 5.5, odds 4."""
        beta = self.build(0.8).prior(np.array([2, 2]))
        assert beta == pytest.approx(np.array([[7.0, 28.0], [22.0, 5.5]]))

    def test_variance_has_a_floor(self):
        """A cluster of one point has a finite likelihood."""
        model = self.build(None)
        assert np.isfinite(gaussian(model, np.array([0, 1, 1, 1])))


def random_model(seed, accuracy, n=30, k=4):
    rng = np.random.default_rng(seed)
    problem = Problem.build(rng.normal(size=(n, 3)), k)
    pairs = rng.integers(0, n, (30, 2))
    return rng, Model.build(problem, pairs[:15], pairs[15:], accuracy, 1e-3)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 100_000), accuracy=st.sampled_from([None, 0.6, 0.9, 1.0]))
def test_moves_by_differences_equal_the_whole(seed, accuracy):
    """Along random moves the summed changes equal the objective from scratch."""
    rng, model = random_model(seed, accuracy)
    labels = rng.integers(0, model.n_clusters, len(model.points))
    labels[: model.n_clusters] = np.arange(model.n_clusters)
    beta = model.prior(np.bincount(labels, minlength=model.n_clusters))
    state = make_state(model, labels, beta)
    value = objective(model, labels, beta)
    assert likelihood(model.n_links, accuracy is not None, state) == pytest.approx(value)
    for _ in range(60):
        i, b = int(rng.integers(len(labels))), int(rng.integers(model.n_clusters))
        a = int(state.labels[i])
        if a == b or state.sizes[a] < 2:
            continue
        x = model.points[i]
        n_touched = pick_up(i, model.indptr, model.indices, model.layers, state)
        value += gaussian_change(x, a, b, state) + annotation_change(a, b, n_touched, state)
        move(i, x, a, b, n_touched, state)
        put_down(n_touched, state)
        assert objective(model, state.labels, beta) == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert np.allclose(state.links, links(model, state.labels))


@pytest.mark.parametrize("seed", range(5))
def test_descent_improves_and_reports_its_objective(seed):
    """The local search ends no worse than it began, with the objective of its labels."""
    rng, model = random_model(seed, 0.9)
    labels = rng.integers(0, model.n_clusters, len(model.points))
    labels[: model.n_clusters] = np.arange(model.n_clusters)
    found = descend(model, labels, rng)
    assert found.objective == pytest.approx(objective(model, found.labels))
    assert found.objective <= objective(model, labels) + 1e-9
    assert len(np.unique(found.labels)) == model.n_clusters


def test_linked_points_are_at_a_local_optimum():
    """After the local search no single linked point can move and gain, prior fixed."""
    rng, model = random_model(11, 0.9)
    labels = rng.integers(0, 4, 30)
    labels[:4] = np.arange(4)
    found = descend(model, labels, rng).labels
    beta = model.prior(np.bincount(found, minlength=4))
    value = objective(model, found, beta)
    sizes = np.bincount(found, minlength=4)
    for i in np.flatnonzero(np.diff(model.indptr) > 0):
        for b in range(4):
            if b != found[i] and sizes[found[i]] > 1:
                moved = found.copy()
                moved[i] = b
                assert objective(model, moved, beta) > value - 1e-6


@pytest.mark.parametrize(("accuracy", "n_broken"), [(0.6, 1), (1.0, 0)])
def test_wrong_pairs_are_broken_where_the_points_say_so(accuracy, n_broken):
    """A must-link across a gap is broken at accuracy 0.6, and kept at accuracy 1."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 6])
    right = [(i, i + 1) for i in range(0, 38, 2)] + [(i, i + 1) for i in range(40, 78, 2)]
    model = SoftHGMeans(2, confidence=accuracy, max_generations=3, random_state=0)
    model.fit(X, must_link=[*right, (39, 79)])
    assert model.n_violations_ == n_broken


def test_clones_survive_last():
    """Of equal solutions one competes; the others only fill up."""
    make = [
        Solution(np.array(labels), np.zeros((2, 1)), objective)
        for labels, objective in (([0, 0, 1], 1.0), ([0, 1, 1], 1.0), ([0, 0, 1], 2.0))
    ]
    kept = survivors(make, 2)
    assert [s.objective for s in kept] == [1.0, 2.0]


def test_best_never_gets_worse():
    """The history of the best objective never rises, and the last entry is the result."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    problem = Problem.build(X, 4)
    pairs = rng.integers(0, 60, (20, 2))
    model = Model.build(problem, pairs[:10], pairs[10:], 0.9, 1e-3)
    method = SoftHGMeans(population_size=5, n_offspring=5)
    state = method._evolve(problem, model, max_generations(6), rng)
    best = state.history.arrays()["best"]
    assert (np.diff(best) <= 0).all()
    assert state.best.objective == best[-1]
    assert len(state.population) == 5


@pytest.mark.data
@pytest.mark.parametrize("name", ["iris", "seeds"])
def test_feasible_where_the_paper_says_so(name, paper_data, monkeypatch):
    """With accuracy 1 every one of the 30 configurations of iris and of seeds is kept.

    Ten generations are enough for that; the full runs are in the benchmarks.
    """
    monkeypatch.setenv("SMDECLUST_DATA", str(paper_data))
    from smdeclust.datasets import load_constraints, load_set1

    data = load_set1(name)
    configurations = sorted(p.stem for p in (paper_data / "set1" / name / "constraints").iterdir())
    assert len(configurations) == 30
    broken = {}
    for configuration in configurations:
        pairs = load_constraints(data, configuration)
        model = SoftHGMeans(data.n_clusters, max_generations=10, random_state=0)
        model.fit(data.X, must_link=pairs.must_link, cannot_link=pairs.cannot_link)
        broken[configuration] = model.n_violations_
    assert set(broken.values()) == {0}
