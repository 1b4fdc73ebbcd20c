"""Points on a device: the code that runs on a GPU, run on the processor."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

from smdeclust import SMDEClust
from smdeclust.exceptions import InvalidInputError
from smdeclust.local_search import local_search, search_all
from smdeclust.problem import Problem
from tests.points.made import far_blobs, made

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'smdeclust[torch]'")

from smdeclust.points import torch_batch  # noqa: E402
from smdeclust.points.torch_points import DeviceMemoryError, TorchPoints  # noqa: E402


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [3, 20])
def test_searches_agree_with_the_engine(d, weighted):
    """From the same starts, many at once, device and engine find the same best objective to 1e-5;
    on the way rounding may break a tie, so single searches may differ by a little more."""
    X, k, must, cannot = made(d=d, shift=100.0)
    weight = None
    if weighted:
        weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    engine = Problem.build(X, k, must, cannot, weight)
    device = Problem.build(X, k, must, cannot, weight, storage="torch")
    rng = np.random.default_rng(1)
    starts = [engine.enter(X[rng.choice(len(X), k, replace=False)]) for _ in range(6)]
    best = [np.inf, np.inf]
    for start, solution in zip(starts, search_all(device, starts), strict=True):
        expected = local_search(engine, start)
        best = np.minimum(best, [solution.objective, expected.objective])
        assert solution.objective == pytest.approx(expected.objective, rel=1e-3)
        assert engine.violations(engine.expand(solution.labels)) == (0, 0)
        assert solution.objective == pytest.approx(engine.objective(solution.labels), rel=1e-6)
    assert best[0] == pytest.approx(best[1], rel=1e-5)


def test_double_precision_where_it_is_needed():
    """Blobs far from each other are told apart in double precision, and that stays so; ordinary
    data stay in single precision."""
    X, _ = far_blobs(1e4)
    far = Problem.build(X, 6, storage="torch")
    near = Problem.build(X[:, :1] % 10.0, 6, storage="torch")
    for problem in (far, near):
        problem_start = problem.enter(problem.X[:6])
        found = local_search(problem, problem_start)
        exact = problem.objective(found.labels)
        assert found.objective == pytest.approx(exact, rel=1e-6)
    assert far.points.is_double
    assert not near.points.is_double


def test_data_in_parts_give_the_same(monkeypatch):
    """Where the products of all rows do not fit, rows go through in parts, with the same result."""
    X, k, must, cannot = made(n=900)
    problem = Problem.build(X, k, must, cannot, storage="torch")
    starts = [problem.enter(X[:k]), problem.enter(X[k : 2 * k])]
    whole = search_all(problem, starts)
    monkeypatch.setattr(torch_batch, "MOST_PRODUCTS", 4000)
    parts = search_all(problem, starts)
    for one, two in zip(whole, parts, strict=True):
        assert one.objective == pytest.approx(two.objective, rel=1e-6)


@pytest.mark.parametrize("one_in", [(2,), (64, 3), (64,)])
def test_rough_products_give_the_labels_of_single_precision(monkeypatch, one_in):
    """Where factors of a product are cut to eleven bits, as a GPU does, some rough labels are
    wrong; rows that may be are looked at again (all, where they are too many to be picked), and all
    searches end as without."""
    monkeypatch.setattr(torch_batch, "ONE_IN", one_in)
    X, k, must, cannot = made(d=2)
    problem, other = (Problem.build(X, k, must, cannot, storage="torch") for _ in range(2))
    rng = np.random.default_rng(0)
    starts = [problem.enter(X[rng.choice(len(X), k, replace=False)]) for _ in range(4)]
    expected = search_all(problem, starts)
    wrong, is_rough, scores = [], [], torch_batch.TorchBatch._scores

    @contextmanager
    def precision(points, name):
        is_rough.append(name == "tf32")
        yield
        is_rough.pop()

    def cut(values):
        return (values.view(torch.int32) & -(2**13)).view(torch.float32)

    def seen(self, norms, centers, rows):
        exact = scores(self, norms, centers, rows)
        if not is_rough[-1]:
            return exact
        assert (cut(centers) == centers).all()
        rough = scores(self, norms, centers, cut(rows))
        wrong.append(int((rough.argmin(dim=1) != exact.argmin(dim=1)).sum()))
        return rough

    monkeypatch.setattr(TorchPoints, "rough", True)
    monkeypatch.setattr(torch_batch, "LEAST_ROUGH", 0)
    monkeypatch.setattr(torch_batch, "precision", precision)
    monkeypatch.setattr(torch_batch.TorchBatch, "_scores", seen)
    monkeypatch.setattr(torch_batch.TorchBatch, "ahead", True)
    for one, two in zip(expected, search_all(other, starts), strict=True):
        assert two.objective == pytest.approx(one.objective, rel=1e-7)
        assert (two.labels == one.labels).all()
    assert sum(wrong) > 0


@pytest.mark.parametrize("one_in", [(2,), (64, 3), (64,)])
def test_sums_of_moved_rows_are_those_of_all(monkeypatch, one_in):
    """Sums that change by the rows that moved stay those of the labels, with weights and groups."""
    X, k, must, cannot = made(n=900)
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    weight[cannot] += 1.0  # what is linked must weigh something
    problem = Problem.build(X, k, must, cannot, weight, storage="torch")
    monkeypatch.setattr(torch_batch, "ONE_IN", one_in)
    with problem.points.begin(2) as batch:
        centers = np.stack([problem.enter(X[:k]), problem.enter(X[k : 2 * k])])
        for _ in range(6):
            costs = batch.label(centers)
            held, _ = batch.held()
            centers, _ = batch.move(costs.argmin(axis=2), [{}, {}])
        for s, labels in enumerate(batch._labels.numpy()):
            for c in range(k):
                inside = labels == c
                w, rows = problem.points.weights.numpy(), problem.points.rows.numpy()
                assert held[s, 0, c] == (w[inside] > 0).sum()
                assert batch._sums[s, c, -1] == w[inside].sum()
                expected = w[inside] @ rows[inside]
                np.testing.assert_allclose(batch._sums[s, c, :-1], expected, rtol=1e-4, atol=1e-3)


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
    assert device.inertia_ == pytest.approx(engine.inertia_, rel=1e-5)
    assert device.n_unproven_ == 0
    gaps = X - device.cluster_centers_[device.labels_]
    assert device.inertia_ == pytest.approx(float((gaps * gaps).sum()), rel=1e-12)
    assert (device.labels_[must[:, 0]] == device.labels_[must[:, 1]]).all()
    assert (device.labels_[cannot[:, 0]] != device.labels_[cannot[:, 1]]).all()


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

    def full(self):
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(TorchPoints, "_upload", full)
    with pytest.raises(DeviceMemoryError, match="GiB"):
        Problem.build(X, k, must, cannot, storage="torch")


def test_a_full_device_is_tried_again(monkeypatch):
    """A step that finds the device full is done once more, without the batches kept for later, and
    changes nothing; a batch that ends with an error is not kept."""
    X, k, must, cannot = made(n=300)
    problem = Problem.build(X, k, must, cannot, storage="torch")
    starts = [problem.enter(X[:k]), problem.enter(X[k : 2 * k])]
    expected = search_all(problem, starts)
    with problem.points.begin(1):
        pass
    assert len(problem.points._idle) == 2
    calls, often = [], 2

    def full(work):
        def at_times(self, *given):
            calls.append(work)
            if len(calls) % often == 0:
                raise torch.OutOfMemoryError("no room")
            return work(self, *given)

        return at_times

    for name in ("_scores", "_add", "_squares"):
        step = getattr(torch_batch.TorchBatch, name)
        monkeypatch.setattr(torch_batch.TorchBatch, name, full(step))
    for one, two in zip(expected, search_all(problem, starts), strict=True):
        assert one.objective == two.objective
        assert (one.labels == two.labels).all()
    assert len(problem.points._idle) == 1
    often = 1
    with pytest.raises(DeviceMemoryError, match="GiB"):
        search_all(problem, starts)
    assert not problem.points._idle


def test_ended_solutions_do_not_decide_on_the_precision(monkeypatch):
    """A solution that ended with an empty cluster is not looked at where precision is checked."""
    X = np.random.default_rng(0).normal(size=(200, 2))
    problem = Problem.build(X, 3, storage="torch")
    seen, none = [], np.empty((2, 0), np.int64)
    monkeypatch.setattr(TorchPoints, "check_precision", lambda self, *given: seen.append(given))
    with problem.points.begin(2) as batch:
        batch.label(np.stack([problem.enter(X[:3]), problem.enter(X[3:6])]))
        batch.held()
        centers, _ = batch.move(none, [{}, {}])
        centers = centers[[1]].clone()
        batch._centers[0, 2] = 1e3  # nothing is near it
        batch.keep([1])
        batch.label(centers)
        batch.held()
        centers, gains = batch.move(none[:1], [{}])
        assert batch._centers.isfinite().all()
    norms = centers.square().sum(dim=2)
    assert seen[-1] == (pytest.approx(gains[0]), pytest.approx(float(norms.max())))


def test_squares_of_linked_groups_keep_their_digits():
    """Sums of squares that are tiny against the distance of the clusters are right."""
    X = 1e-2 * np.random.default_rng(0).normal(size=(20, 2))
    X[::2] += 1e6
    cannot = np.arange(20).reshape(-1, 2)
    problem = Problem.build(X, 2, None, cannot, storage="torch")
    linked = np.arange(20)[None] % 2
    with problem.points.begin(1) as batch:
        batch.label(problem.enter(X[:2])[None])
        batch.held()
        centers, _ = batch.move(linked, [{}])
        found = batch.squares(0, centers[0], linked[0], {})
    assert found == pytest.approx(problem.objective(linked[0]), rel=1e-6)


def test_sums_of_weights_are_in_double_precision():
    """Weights that single precision cannot add up are added up."""
    X = np.random.default_rng(0).normal(size=(1000, 2))
    weight = np.where(np.arange(1000) % 2, 2.0**24, 1.0)
    problem = Problem.build(X, 1, sample_weight=weight, storage="torch")
    with problem.points.begin(1) as batch:
        batch.label(np.zeros((1, 1, 2)))
        batch.held()
        assert float(batch._sums[0, 0, -1]) == weight.sum()
