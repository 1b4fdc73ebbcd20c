"""One suite for every storage: the same claims wherever the points live."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest

from smdeclust import SMDEClust
from smdeclust.exceptions import InfeasibleConstraintsError, InvalidInputError
from smdeclust.local_search import last_proof, local_search, search_all
from smdeclust.local_search.search import search_at_prices
from smdeclust.local_search.state import Limits
from smdeclust.points.arrays import BlockPoints, DensePoints
from smdeclust.problem import Problem
from tests.fuzz import random_instance
from tests.points.made import far_blobs, made

STORAGES = ["dense", "blocks", "sparse", "dask", "torch"]


@pytest.fixture(params=STORAGES)
def storage(request):
    """The name of a storage; what it needs is there."""
    if request.param == "dask":
        pytest.importorskip("dask", reason="needs Dask: smdeclust[dask]")
    if request.param == "torch":
        pytest.importorskip("torch", reason="needs PyTorch: smdeclust[torch]")
    return request.param


def build(storage, X, *given, **pairs):
    """A problem with its points in this storage, in chunks of 200 rows for Dask."""
    if storage != "dask":
        return Problem.build(X, *given, **pairs, storage=storage)
    from concurrent.futures import ThreadPoolExecutor
    from functools import partial

    import dask.array as da

    from smdeclust.points.dask_points import DaskPoints, Threads

    where = partial(DaskPoints, cluster=Threads(ThreadPoolExecutor(2)))
    chunked = da.from_array(np.asarray(X), chunks=(200, -1))
    return Problem.build(chunked, *given, **pairs, storage=where)


def search(problem, start, **limits):
    """The general loop, also where the storage has a faster one of its own."""
    return search_at_prices(problem, [start], Limits(**limits))[0]


def labels_of(problem, solution):
    return np.asarray(problem.points.describe(solution.labels)[0])


def tolerance(storage, exact, single=1e-5):
    return single if storage == "torch" else exact


def test_a_search_ends_where_the_compiled_loop_ends(storage):
    """Same start, same objective and iterations as the compiled loop; all pairs kept; what
    `describe` says is true of the points themselves."""
    X, k, must, cannot = made(n=1000)
    judge = Problem.build(X, k, must, cannot)
    problem = build(storage, X, k, must, cannot)
    rng = np.random.default_rng(1)
    for _ in range(3):
        rows = rng.choice(len(X), k, replace=False)
        expected = local_search(judge, judge.enter(X[rows]))
        found = search(problem, problem.enter(X[rows]))
        assert found.objective == pytest.approx(expected.objective, rel=tolerance(storage, 1e-9))
        labels, centers, value = problem.points.describe(found.labels)
        labels = np.asarray(labels)
        assert judge.violations(labels) == (0, 0)
        gaps = X - centers[labels]
        assert value == pytest.approx(float((gaps * gaps).sum()), rel=1e-12)
        assert value == pytest.approx(found.objective, rel=tolerance(storage, 1e-10))


def test_one_iteration_is_the_exact_assignment(storage):
    """From any start, empty clusters and dense cannot-links, weights and more features than points
    included, one iteration costs what the exact assignment costs, feasibly."""
    from smdeclust.assignment import exact_assignment

    n_done = 0
    for seed in range(15 if storage == "dask" else 60):
        instance = random_instance(np.random.default_rng(seed))
        given = instance["k"], instance["must"], instance["cannot"], instance["weight"]
        try:
            judge = Problem.build(instance["X"], *given)
        except InfeasibleConstraintsError:
            continue
        problem = build(storage, instance["X"], *given)
        found = search(problem, problem.enter(instance["centers"]), max_iter=1)
        labels = labels_of(problem, found)
        assert judge.violations(labels) == (0, 0)
        heavy = judge.weights > 0
        assert len(np.unique(judge.group_labels(labels)[heavy])) == judge.n_clusters
        weight = np.ones(len(labels)) if instance["weight"] is None else instance["weight"]
        gaps = instance["X"] - instance["centers"][labels]
        cost = float(np.einsum("ij,ij->i", gaps, gaps) @ weight)
        optimum = exact_assignment(judge, instance["centers"]).cost
        scale = max(optimum, float(np.ptp(instance["X"])) ** 2)
        assert cost == pytest.approx(optimum, abs=tolerance(storage, 1e-9) * scale)
        n_done += 1
    assert n_done >= 10


def test_weights_count(storage):
    """Whole weights are as many points; a point of weight 0 changes nothing."""
    X, k, must, cannot = made(n=400)
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    weight[np.unique(np.concatenate([must, cannot]))] = 1.0
    rows = np.arange(k)
    problem = build(storage, X, k, must, cannot, weight)
    found = search(problem, problem.enter(X[rows]))
    copies = np.concatenate([np.arange(len(X)), np.flatnonzero(weight == 2)])
    kept = copies[weight[copies] > 0]
    first = np.full(len(X), -1)
    first[kept[::-1]] = np.arange(len(kept))[::-1]
    plain = Problem.build(X[kept], k, first[must], first[cannot])
    expected = local_search(plain, plain.enter(X[rows]))
    assert found.objective == pytest.approx(expected.objective, rel=tolerance(storage, 1e-9))


def test_the_deadline_is_kept(storage):
    """Past the deadline a search makes the one iteration that gives labels, and no more; a fit
    whose time is up gives a feasible clustering and says why it ended."""
    X, k, must, cannot = made(n=600)
    problem = build(storage, X, k, must, cannot)
    starts = [problem.enter(X[i : i + k]) for i in (0, 50)]
    assert all(s.n_iterations > 1 for s in search_at_prices(problem, starts, Limits()))
    late = search_at_prices(problem, starts, Limits(deadline=time.perf_counter()))
    assert [s.n_iterations for s in late] == [1, 1]
    assert problem.violations(labels_of(problem, late[0])) == (0, 0)


def fit(storage, X, k, must, cannot, weight=None, **setting):
    """A short run with its points in this storage."""
    short = {"population_size": 4, "max_generations": 2, "max_local_iter": 20, "random_state": 0}
    model = SMDEClust.from_paper("SMG-MDE", n_clusters=k, **(short | setting))
    if storage == "torch":
        model.set_params(device="cpu")
    elif storage == "dask":
        import dask.array as da

        X = da.from_array(X, chunks=(200, -1))
    else:
        model._storage = storage
    return model.fit(X, must_link=must, cannot_link=cannot, sample_weight=weight)


@pytest.mark.parametrize("assignment", ["greedy", "exact", "greedy-repair"])
def test_fits_agree(storage, assignment):
    """Mutation, weights, groups: fits keep all pairs, twice the same, and the storages that draw
    alike give the same solution; a device is proven by its last assignment."""
    X, k, must, cannot = made(n=700)
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    one, two = (
        fit(storage, X, k, must, cannot, weight, assignment=assignment, alpha=1.0) for _ in "12"
    )
    labels = np.asarray(one.labels_)
    np.testing.assert_array_equal(labels, np.asarray(two.labels_))
    judge = Problem.build(X, k, must, cannot, weight)
    assert judge.violations(labels) == (0, 0)
    assert one.inertia_ == pytest.approx(judge.objective(judge.group_labels(labels)), rel=1e-10)
    assert one.n_unproven_ == 0
    if storage in ("sparse", "dask"):
        blocks = fit("blocks", X, k, must, cannot, weight, assignment=assignment, alpha=1.0)
        assert one.inertia_ == pytest.approx(blocks.inertia_, rel=1e-10)
        np.testing.assert_array_equal(labels, blocks.labels_)
        assert one.n_local_iterations_ == blocks.n_local_iterations_


@pytest.mark.parametrize("replacement", ["immediate", "generation"])
def test_a_generation_at_once(storage, replacement):
    """Searches of a generation together, where the storage can, end as one by one."""
    X, k, must, cannot = made(n=500)
    expected = fit("dense", X, k, must, cannot, replacement=replacement, mutation=False)
    found = fit(storage, X, k, must, cannot, replacement=replacement, mutation=False)
    assert found.inertia_ == pytest.approx(expected.inertia_, rel=tolerance(storage, 1e-9))


def test_what_is_left_out_is_said(storage):
    """Only the dense storage goes deep; elsewhere `notes_` and the search itself say so."""
    X, k, must, cannot = made(n=300)
    model = fit(storage, X, k, must, cannot, local_search="deep")
    assert bool(model.notes_) == (storage != "dense")
    assert all("Kempe" in note for note in model.notes_)
    assert fit(storage, X, k, must, cannot).notes_ == []


@pytest.mark.parametrize("apart", [1e3, 1e4, 1e5])
def test_blobs_far_apart(storage, apart):
    """Three of six blobs far away: single precision cannot tell points of a blob apart, and the
    result is the engine's all the same, and proven."""
    X, classes = far_blobs(apart)
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, len(X), (60, 2))
    cannot = pairs[classes[pairs[:, 0]] != classes[pairs[:, 1]]]
    setting = {"population_size": 6, "max_local_iter": None, "max_generations": 6}
    expected = fit("dense", X, 6, None, cannot, **setting)
    found = fit(storage, X, 6, None, cannot, **setting)
    assert found.inertia_ == pytest.approx(expected.inertia_, rel=1e-5)
    assert found.n_unproven_ == 0


def test_float32_points_give_float32_centers(storage):
    """Centers come in the precision of the points; float64 ones stay float64."""
    X, k, must, cannot = made(n=300)
    for dtype in (np.float32, np.float64):
        model = fit(storage, X.astype(dtype), k, must, cannot)
        assert model.cluster_centers_.dtype == dtype
        assert model.transform(X.astype(dtype)).shape == (300, k)


def test_fetch_enter_leave(storage):
    """Rows come as they are, and centers that enter leave where they came from."""
    X, k, _, _ = made(n=300)
    problem = build(storage, X, k)
    rows = np.array([250, 3, 3, 17])
    np.testing.assert_allclose(problem.points.fetch(rows), X[rows])
    there = problem.points.leave(problem.points.enter(X[rows]))
    np.testing.assert_allclose(there, X[rows], atol=1e-12)


def test_far_points_are_drawn_by_distance(storage):
    """Frequencies follow the weighted distances, rows in groups and linked ones included."""
    X = np.array([[0.0], [1.0], [2.0], [10.0], [30.0], [-5.0]])
    weight = np.array([1.0, 2.0, 1.0, 1.0, 1.0, 0.0])
    problem = build(storage, X, 2, [(0, 1)], [(2, 3)], weight)
    centers = problem.enter(np.array([[0.0], [12.0]]))
    rng = np.random.default_rng(0)
    linked, n_draws = np.array([0, 1]), 60 if storage == "dask" else 400
    drawn = [problem.points.draw_far(centers, linked, rng) for _ in range(n_draws)]
    rows = np.abs(np.array(drawn) - problem.enter(X)[:, 0]).argmin(axis=1)
    shares = np.bincount(rows, minlength=6) / n_draws
    far = np.array([0.0, 2.0, 2.0, 2.0, 18.0, 0.0])
    np.testing.assert_allclose(shares, far / far.sum(), atol=0.15 if storage == "dask" else 0.07)


@pytest.mark.parametrize("storage", ["dense", "blocks", "sparse"])
def test_problems_can_be_sent_away(storage):
    """A problem that was searched survives pickling: work spaces stay behind."""
    X, k, must, cannot = made(n=300)
    problem = build(storage, X, k, must, cannot)
    start = problem.enter(X[:k])
    expected = search(problem, start)
    again = pickle.loads(pickle.dumps(problem))
    assert search(again, start).objective == expected.objective


def test_the_choice_of_storage():
    """Small arrays are contracted, large ones stay where they are; the choice can be made by the
    caller, and an unknown name is an error."""
    X, k, _, _ = made(n=300)
    assert isinstance(Problem.build(X, k).points, DensePoints)
    wide = np.zeros((2, 2**21))
    wide[0] = 1.0
    assert isinstance(Problem.build(wide, 2).points, DensePoints)
    tall = np.zeros((2**21, 2))
    tall[0] = 1.0
    assert isinstance(Problem.build(tall, 2).points, BlockPoints)
    with pytest.raises(InvalidInputError, match="storage must be"):
        Problem.build(X, k, storage="tape")


def test_proofs_in_double_precision():
    """What a device found is proven only by an assignment in double precision."""
    pytest.importorskip("torch", reason="needs PyTorch: smdeclust[torch]")
    X, k, must, cannot = made(n=500)
    problem = Problem.build(X, k, must, cannot, storage="torch")
    (found,) = search_all(problem, [problem.enter(X[:k])])
    assert not found.proven
    proven = last_proof(problem, found, Limits())
    assert proven.proven
    assert proven.objective <= found.objective * (1 + 1e-7)


def test_a_generator_as_random_state():
    """A numpy Generator is used as it is: the same state gives the same run."""
    X, k, must, cannot = made(n=200)
    runs = [
        fit("dense", X, k, must, cannot, random_state=np.random.default_rng(5)) for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0].labels_, runs[1].labels_)
    assert runs[0].history_["best"].tolist() == runs[1].history_["best"].tolist()
