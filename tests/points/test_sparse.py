"""Sparse points: what dense points give, without ever being dense."""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust import PCCC, SMDEClust
from smdeclust.exceptions import InvalidInputError
from smdeclust.local_search import local_search
from smdeclust.points import row_batch
from smdeclust.points.choose import TOO_MANY_TO_COPY
from smdeclust.points.sparse import SparsePoints, SparseRows
from smdeclust.points.validation import as_sparse_points
from smdeclust.problem import Problem
from tests.fuzz import random_instance

SETTING = {"population_size": 4, "max_generations": 2, "max_local_iter": 12, "random_state": 0}


def made(n=1500, d=40, k=5, seed=0, density=0.15, dtype=np.float64):
    """Sparse classes that overlap, and pairs that agree with them."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, k, n)
    profile = rng.random((k, d)) * (rng.random((k, d)) < 2 * density)
    X = rng.poisson(4 * profile[classes]) + rng.poisson(density / 4, (n, d))
    X = (X * rng.uniform(0.5, 1.5, (n, d))).astype(dtype)
    pairs = rng.integers(0, n, (200, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return X, k, pairs[same], pairs[~same]


def sparse_problem(X, *given):
    """A problem whose points stay sparse however few they are."""
    return Problem.build(sp.csr_array(X), *given, storage="sparse")


def kept(storage, k, variant="SG-MDE"):
    """An estimator that keeps the points so."""
    model = SMDEClust.from_paper(variant, n_clusters=k, **SETTING)
    model._storage = storage
    return model


def thinned(instance, rng):
    """The instance with most of its numbers zero."""
    X = instance["X"]
    if rng.random() < 0.7:
        X = X * (rng.random(X.shape) < 0.4)
    centers = instance["centers"]
    if rng.random() < 0.5:
        centers = X[rng.integers(0, len(X), instance["k"])].astype(float)
    return instance | {"X": X, "centers": centers}


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_one_iteration_is_that_of_dense_points(seed):
    """Ties, duplicates, empty rows and clusters, weights, any pairs: means, scatter, the cost of
    the exact assignment and the objective are those of the dense points."""
    rng = np.random.default_rng(seed)
    made_up = thinned(random_instance(rng), rng)
    given_ = made_up["k"], made_up["must"], made_up["cannot"], made_up["weight"]
    try:
        dense = Problem.build(made_up["X"], *given_, storage="blocks")
    except ValueError:
        return
    sparse = sparse_problem(made_up["X"], *given_)
    whole = dense.total_squares
    np.testing.assert_allclose(sparse.offset, dense.offset, rtol=1e-12, atol=1e-12)
    assert sparse.total_squares == pytest.approx(whole, rel=1e-10)
    assert sparse.scatter == pytest.approx(dense.scatter, rel=1e-10, abs=1e-12 * whole)
    start = sparse.enter(made_up["centers"])

    def cost_at_start(labels):
        gaps = dense.means - start[labels]
        return float(np.einsum("ij,ij->i", gaps, gaps) @ dense.weights)

    found = local_search(sparse, start, max_iter=1)
    judge = local_search(dense, start, max_iter=1)
    assert dense.violations(dense.expand(found.labels)) == (0, 0)
    assert len(np.unique(found.labels)) == dense.n_clusters
    least = cost_at_start(judge.labels)
    slack = 1e-9 * max(least, float(np.ptp(made_up["X"])) ** 2)
    assert cost_at_start(found.labels) == pytest.approx(least, abs=slack)
    best = dense.objective(found.labels)
    assert found.objective == pytest.approx(best, rel=1e-8, abs=1e-13 * whole)
    assert sparse.objective(found.labels) == pytest.approx(best, rel=1e-11, abs=1e-14 * whole)


@pytest.mark.parametrize("variant", ["S-MDE", "SM-MDE", "SG-MDE", "SMG-MDE"])
@pytest.mark.parametrize("weighted", [False, True])
def test_fit_is_that_of_dense_points(variant, weighted):
    """The same seed gives the same labels, centers, inertia and counters."""
    X, k, must, cannot = made()
    weight = None
    if weighted:
        weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
        weight[np.unique(cannot)] = 1.5
    pairs = {"must_link": must, "cannot_link": cannot, "sample_weight": weight}
    dense = kept("blocks", k, variant).fit(X, **pairs)  # neither is copied
    sparse = kept("sparse", k, variant).fit(sp.csr_matrix(X), **pairs)
    assert sparse.inertia_ == pytest.approx(dense.inertia_, rel=1e-10)
    assert sparse.n_local_iterations_ == dense.n_local_iterations_
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    np.testing.assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, atol=1e-12)


def test_small_sparse_points_are_worked_on_as_dense_ones():
    """Below the size of which every problem keeps a copy the deep search runs, with the same
    result as for an array."""
    X, k, must, cannot = made(n=200, d=10)
    setting = {"population_size": 5, "max_populations": 1, "random_state": 0}
    dense = SMDEClust(k, **setting).fit(X, must_link=must[:20], cannot_link=cannot[:20])
    sparse = SMDEClust(k, **setting)
    sparse.fit(sp.coo_array(X), must_link=must[:20], cannot_link=cannot[:20])
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    assert sparse.inertia_ == dense.inertia_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_matrices_are_kept_as_given(dtype, index):
    """CSR of float32 or float64, whatever its indices, is not copied."""
    X = sp.csr_array(made(n=50, dtype=dtype)[0])
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    kept = as_sparse_points(X)
    assert np.shares_memory(kept.data, X.data)
    assert kept.dtype == dtype
    points = sparse_problem(X, 3).points
    assert points.X.data.dtype == dtype
    assert np.shares_memory(points.rows.arrays[2], X.data)


@pytest.mark.filterwarnings("ignore:Constructing a DIA")
@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "dia", "dok", "lil", "shuffled", "twice"])
def test_other_forms_mean_the_same(form):
    """Any format, unsorted indices, explicit zeros, entries stored in parts: the same result, and
    what was given is not changed."""
    X, k, must, cannot = made(n=300, d=12)
    whole = sp.csr_array(X)
    if form == "twice":
        parts = sp.coo_array(X)
        data = np.concatenate([parts.data / 2, parts.data / 2, np.zeros(3)])
        rows = np.concatenate([parts.coords[0], parts.coords[0], [0, 1, 2]])
        columns = np.concatenate([parts.coords[1], parts.coords[1], [0, 0, 0]])
        order = np.lexsort((rng_like(columns), rows))
        counts = np.bincount(rows, minlength=len(X))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        other = sp.csr_array((data[order], columns[order], indptr), shape=X.shape)
    elif form == "shuffled":
        other = whole.copy()
        for a, b in zip(other.indptr[:-1], other.indptr[1:], strict=True):
            other.indices[a:b] = other.indices[a:b][::-1].copy()
            other.data[a:b] = other.data[a:b][::-1].copy()
        other.has_sorted_indices = False
    else:
        other = whole.asformat(form)
    before = other.copy()
    pairs = {"must_link": must[:30], "cannot_link": cannot[:30]}
    expected, model = kept("sparse", k).fit(whole, **pairs), kept("sparse", k).fit(other, **pairs)
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=1e-12)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(other), expected.predict(X))
    assert other.nnz == before.nnz
    np.testing.assert_array_equal(other.toarray(), before.toarray())


def rng_like(columns):
    """Any order of the columns of a row."""
    return np.random.default_rng(0).permutation(len(columns))


def test_predict_transform_and_score_are_those_of_dense_points():
    """New points too, sparse or dense, whichever was fitted."""
    X, k, _, _ = made(dtype=np.float32)
    model = SMDEClust.from_paper(n_clusters=k, **SETTING).fit(X[:1000])
    new = sp.csr_array(X[1000:])
    weight = np.arange(len(X) - 1000, dtype=float)
    np.testing.assert_array_equal(model.predict(new), model.predict(X[1000:]))
    np.testing.assert_allclose(model.transform(new), model.transform(X[1000:]), rtol=1e-9)
    assert model.score(new) == pytest.approx(model.score(X[1000:]), rel=1e-10)
    assert model.score(new, sample_weight=weight) == pytest.approx(
        model.score(X[1000:], sample_weight=weight), rel=1e-10
    )
    with pytest.raises(ValueError, match="features"):
        model.predict(sp.csr_array(X[:, :5]))


@pytest.mark.parametrize(("far", "spread"), [(1e4, 1e-2), (1e6, 1e-3), (1e8, 1e-3)])
def test_small_spread_far_from_zero(far, spread):
    """All entries stored and nearly equal, where |x|^2 - 2xy + |y|^2 has no digit left: labels of
    the nearest centers, distances and the objective are those of direct differences."""
    rng = np.random.default_rng(0)
    X = far + spread * rng.normal(size=(400, 6))
    X[:, 4:] = 0.0
    matrix = sp.csr_array(X)
    dense, sparse = Problem.build(X, 4, storage="blocks"), sparse_problem(matrix, 4)
    start = dense.enter(X[:4])
    one = local_search(sparse, start, max_iter=1)
    gaps = (X[:, None] - dense.offset) - start[None]
    np.testing.assert_array_equal(one.labels, (gaps**2).sum(axis=2).argmin(axis=1))
    assert sparse.objective(one.labels) == pytest.approx(dense.objective(one.labels), rel=1e-9)
    assert sparse.total_squares == pytest.approx(dense.total_squares, rel=1e-9)
    rows = SparseRows(matrix, sparse.offset)
    squares = rows.squares_against(rows.against(start))
    np.testing.assert_allclose(squares, (gaps**2).sum(axis=2), rtol=1e-7, atol=1e-18 * far**2)
    whole = local_search(sparse, start)
    assert whole.objective == pytest.approx(local_search(dense, start).objective, rel=1e-6)


def test_bounds_hold_through_many_iterations():
    """Searches that settle rows by their bounds end where every row is looked at again."""
    X, k, must, cannot = made(n=3000, density=0.05)
    problem = sparse_problem(X, k, must, cannot)
    points = problem.points
    assert isinstance(points, SparsePoints)
    old = points.begin(1)
    rng = np.random.default_rng(3)
    centers = problem.enter(X[rng.choice(len(X), k, replace=False)])
    for _ in range(40):  # through a renewal of the sums
        old.label(centers[None])
        new = points.begin(1)
        new.label(centers[None])
        sums, fresh = old._sums, new._sums
        np.testing.assert_array_equal(old.all_rows.labels, new.all_rows.labels)
        np.testing.assert_allclose(sums.sums, fresh.sums, atol=1e-9)
        np.testing.assert_array_equal(sums.counts, fresh.counts)
        centers = centers + 0.02 * rng.normal(size=centers.shape)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    """One thread or four: the same labels and the same objective to the last bit."""
    monkeypatch.setattr(row_batch, "LEAST_ROWS", 64)
    X, k, must, cannot = made()
    found = []
    for n_threads in (1, 4):
        storage = partial(SparsePoints, n_threads=n_threads)
        problem = Problem.build(sp.csr_array(X), k, must, cannot, storage=storage)
        found.append(local_search(problem, problem.enter(X[:k])))
    one, four = found
    assert one.objective == four.objective
    np.testing.assert_array_equal(one.labels, four.labels)


def test_nothing_as_large_as_the_dense_points_is_made():
    """A fit with pairs and mutation holds a small part of what the dense points would take."""
    rng = np.random.default_rng(0)
    X = sp.random_array((20_000, 2_000), density=0.002, format="csr", rng=rng)
    pairs = rng.choice(20_000, (200, 2), replace=False)
    model = SMDEClust.from_paper("SMG-MDE", n_clusters=4, **(SETTING | {"max_local_iter": 3}))
    model.fit(X[:4000], cannot_link=pairs[pairs.max(axis=1) < 4000])  # compiled, not measured
    tracemalloc.start()
    model.fit(X, must_link=pairs[:100], cannot_link=pairs[100:])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert X.shape[0] * X.shape[1] >= TOO_MANY_TO_COPY
    assert peak < 0.05 * X.shape[0] * X.shape[1] * 8


def test_extreme_shapes():
    """All zero, empty rows, as many clusters as points, more features than points, one column."""
    model = kept("sparse", 3)
    model.fit(sp.csr_array((7, 5)), cannot_link=[(0, 1)])
    assert model.inertia_ == 0
    assert len(np.unique(model.labels_)) == 3
    eye = sp.csr_array(np.eye(6))
    model = kept("sparse", 6).fit(eye)
    assert model.inertia_ == 0
    assert sorted(model.labels_) == list(range(6))
    wide = sp.random_array((30, 500), density=0.02, format="csr", rng=np.random.default_rng(0))
    dense = kept("blocks", 3).fit(wide.toarray())
    sparse = kept("sparse", 3).fit(wide)
    assert sparse.inertia_ == pytest.approx(dense.inertia_, rel=1e-9)
    column = sp.csr_array(np.array([[0.0], [0.0], [5.0], [5.5]]))
    model = kept("sparse", 2).fit(column, must_link=[(0, 3)])
    assert model.labels_[0] == model.labels_[3]


def test_bad_matrices_are_named():
    """NaN and infinity with their place, complex numbers, no rows, damaged indices."""
    X = sp.csr_array(made(n=60)[0])
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity")):
        holed = X.copy()
        place = int(holed.indptr[17]) + 1
        holed.data[place] = value
        where = f"row 17, column {holed.indices[place]}"
        with pytest.raises(InvalidInputError, match=f"{name} .{where}"):
            SMDEClust(3).fit(holed)
    with pytest.raises(ValueError, match="[Cc]omplex"):
        SMDEClust(3).fit(X.astype(complex))
    with pytest.raises(ValueError, match="0 sample"):
        SMDEClust(3).fit(X[:0])
    with pytest.raises(InvalidInputError, match="spans"):
        SMDEClust(3).fit(X * 1e200)
    damaged = X.copy()
    damaged.indices[5] = 10**6
    with pytest.raises(InvalidInputError, match="damaged"):
        SMDEClust(3).fit(damaged)
    damaged = X.copy()
    damaged.indptr[3] = damaged.indptr[-1]
    with pytest.raises(InvalidInputError, match="damaged"):
        SMDEClust(3).fit(damaged)


def test_what_takes_dense_points_only_says_so():
    """Rivals and what needs a contracted copy name the way out; a device refuses sparse points."""
    X = sp.csr_array(made(n=60)[0])
    with pytest.raises(InvalidInputError, match="toarray"):
        PCCC(3).fit(X)
    with pytest.raises(InvalidInputError, match="toarray"):
        _ = sparse_problem(X, 3).means
    with pytest.raises(InvalidInputError, match="toarray"):
        _ = sparse_problem(X, 3).contracted
    with pytest.raises(InvalidInputError, match="device"):
        SMDEClust(3, device="cpu").fit(X)
