"""Points on a device: the code that runs on a GPU, run on the processor."""

from __future__ import annotations

import time

import numpy as np
import pytest

from smdeclust import SMDEClust
from smdeclust.exceptions import InvalidInputError
from smdeclust.local_search.streaming import streaming_search
from smdeclust.points.array_points import ArrayPoints
from smdeclust.problem import Problem
from tests.fuzz import random_instance
from tests.local_search.test_streaming import made

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'smdeclust[torch]'")

from smdeclust.points import torch_points  # noqa: E402
from smdeclust.points.torch_device import DeviceMemoryError  # noqa: E402
from smdeclust.points.torch_points import TorchPoints  # noqa: E402
from smdeclust.points.torch_search import DeviceSearch  # noqa: E402


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [3, 20])
def test_searches_agree_with_the_engine(d, weighted):
    """From the same starts, many at once, device and engine go the same way, and end at objectives
    that differ by no more than rounding of ties on that way can make them."""
    X, k, must, cannot = made(d=d, shift=100.0)
    weight = None
    if weighted:
        weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    problem = Problem.build(X, k, must, cannot, weight)
    rng = np.random.default_rng(1)
    starts = [problem.enter(X[rng.choice(len(X), k, replace=False)]) for _ in range(6)]
    points = DeviceSearch(problem, "cpu")
    free = ArrayPoints(problem)
    for start, solution in zip(starts, points.search_all(starts, max_iter=1), strict=True):
        expected = streaming_search(problem, free, start, max_iter=1)
        assert solution.objective == pytest.approx(expected.objective, rel=1e-6)
    for start, solution in zip(starts, points.search_all(starts), strict=True):
        expected = streaming_search(problem, free, start)
        assert solution.objective == pytest.approx(expected.objective, rel=1e-2)
        assert problem.violations(problem.expand(solution.labels)) == (0, 0)
        assert solution.objective == pytest.approx(problem.objective(solution.labels), rel=1e-5)


@pytest.mark.parametrize("seed", range(40))
def test_any_instance_is_feasible(seed):
    """Empty clusters, dense cannot-links, more features than points: labels keep all pairs and
    fill all clusters, and the objective is theirs."""
    instance = random_instance(np.random.default_rng(seed))
    try:
        problem = Problem.build(
            instance["X"], instance["k"], instance["must"], instance["cannot"], instance["weight"]
        )
    except ValueError:
        return
    start = problem.enter(instance["centers"])
    (solution,) = DeviceSearch(problem, "cpu").search_all([start], max_iter=5)
    assert problem.violations(problem.expand(solution.labels)) == (0, 0)
    heavy = problem.weights > 0
    assert len(np.unique(solution.labels[heavy])) == problem.n_clusters
    size = max(problem.total_squares, 1e-300)
    assert solution.objective == pytest.approx(problem.objective(solution.labels), abs=1e-5 * size)


def test_data_in_parts_give_the_same(monkeypatch):
    """Where the products of all rows do not fit, rows go through in parts, with the same result."""
    X, k, must, cannot = made(n=900)
    problem = Problem.build(X, k, must, cannot)
    starts = [problem.enter(X[:k]), problem.enter(X[k : 2 * k])]
    whole = DeviceSearch(problem, "cpu").search_all(starts)
    monkeypatch.setattr(torch_points, "MOST_PRODUCTS", 4000)
    parts = DeviceSearch(problem, "cpu").search_all(starts)
    for one, two in zip(whole, parts, strict=True):
        assert one.objective == pytest.approx(two.objective, rel=1e-6)


@pytest.mark.parametrize("replacement", ["immediate", "generation"])
def test_fit_on_a_device(replacement):
    """fit with a device ends with a feasible clustering as good as the engine's, and an inertia
    that is evaluated in float64 from the data."""
    X, k, must, cannot = made()
    setting = {"n_clusters": k, "population_size": 5, "max_generations": 3, "random_state": 0}
    engine = SMDEClust.from_paper("SMG-MDE", replacement=replacement, **setting)
    engine.fit(X, must_link=must, cannot_link=cannot)
    device = SMDEClust.from_paper("SMG-MDE", replacement=replacement, device="cpu", **setting)
    device.fit(X, must_link=must, cannot_link=cannot)
    assert device.inertia_ == pytest.approx(engine.inertia_, rel=1e-2)
    gaps = X - device.cluster_centers_[device.labels_]
    assert device.inertia_ == pytest.approx(float((gaps * gaps).sum()), rel=1e-12)
    assert (device.labels_[must[:, 0]] == device.labels_[must[:, 1]]).all()
    assert (device.labels_[cannot[:, 0]] != device.labels_[cannot[:, 1]]).all()


def test_the_deadline_is_kept():
    """Past the deadline every search makes the one iteration that gives labels, and no more; a fit
    whose time is up returns a feasible clustering."""
    X, k, must, cannot = made(n=600)
    problem = Problem.build(X, k, must, cannot)
    starts = [problem.enter(X[i : i + k]) for i in (0, 50, 100)]
    points = DeviceSearch(problem, "cpu")
    assert max(s.n_iterations for s in points.search_all(starts)) > 1
    late = points.search_all(starts, deadline=time.perf_counter())
    assert [s.n_iterations for s in late] == [1, 1, 1]
    model = SMDEClust(k, device="cpu", replacement="generation", max_time=0.0, random_state=0)
    model.fit(X, must_link=must, cannot_link=cannot)
    assert model.stop_reason_ == "max_time"
    assert problem.violations(model.labels_) == (0, 0)


def test_bad_devices_are_named():
    """A device that is not there, or too small, is a clear error."""
    X, k, _, _ = made(n=300)
    if not torch.cuda.is_available():
        with pytest.raises(InvalidInputError, match="device='cuda' cannot be used"):
            SMDEClust(k, device="cuda").fit(X)
    with pytest.raises(InvalidInputError, match="device='abacus'"):
        SMDEClust(k, device="abacus").fit(X)


def test_a_full_device_is_a_clear_error(monkeypatch):
    """Out of memory on the device says how much was needed and what to do."""
    X, k, must, cannot = made(n=300)
    problem = Problem.build(X, k, must, cannot)

    def full(self):
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(TorchPoints, "_upload", full)
    with pytest.raises(DeviceMemoryError, match="GiB"):
        DeviceSearch(problem, "cpu")
