"""Dask: the same numbers as in memory, on real worker processes, and clear errors."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from smdeclust import SMDEClust
from smdeclust.exceptions import InfeasibleConstraintsError, InvalidInputError
from smdeclust.problem import Problem
from tests.points.made import made

da = pytest.importorskip("dask.array", reason="needs Dask: pip install 'smdeclust[dask]'")
distributed = pytest.importorskip("distributed", reason="needs distributed: smdeclust[dask]")

from smdeclust.points import dask_points  # noqa: E402
from smdeclust.points.dask_points import Cluster, WorkersLostError  # noqa: E402

SETTING = {"population_size": 4, "max_generations": 1, "max_local_iter": 8, "random_state": 0}


def a_cluster(**options):
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", **options
    )


@pytest.fixture(scope="module")
def two_processes():
    """Two worker processes, started once; a worker that ends is replaced."""
    with a_cluster(processes=True) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def within():
    """A cluster inside this process, with messages but without processes."""
    with a_cluster(processes=False) as cluster:
        yield cluster


@pytest.fixture
def client(two_processes):
    """Two worker processes, used by this test."""
    with distributed.Client(two_processes) as client:
        client.wait_for_workers(2)
        yield client


@pytest.fixture
def threads(within):
    """The cluster inside this process, used by this test."""
    with distributed.Client(within) as client:
        yield client


def in_blocks(k, variant="SG-MDE", **setting):
    """An estimator that works block by block in memory as well."""
    model = SMDEClust.from_paper(variant, n_clusters=k, **(SETTING | setting))
    model._storage = "blocks"
    return model


def fit_both(variant, X, chunks, k, must, cannot, weight=None):
    here = in_blocks(k, variant)
    here.fit(X, must_link=must, cannot_link=cannot, sample_weight=weight)
    there = SMDEClust.from_paper(variant, n_clusters=k, **SETTING)
    remote = da.from_array(X, chunks=chunks)
    there.fit(remote, must_link=must, cannot_link=cannot, sample_weight=weight)
    return here, there


def test_same_numbers_as_in_memory(client):
    """Two processes, pairs across blocks: labels, centers, inertia, counters of the same seed."""
    X, k, must, cannot = made(n=4000)
    here, there = fit_both("SMG-MDE", X, (1500, 2), k, must, cannot)
    assert isinstance(there.labels_, da.Array)
    np.testing.assert_array_equal(there.labels_.compute(), here.labels_)
    np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_, rtol=1e-9)
    assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-10)
    assert there.n_local_iterations_ == here.n_local_iterations_
    assert there.stop_reason_ == here.stop_reason_


def test_a_killed_worker_changes_nothing(client):
    """One of two worker processes is killed in the middle of a run: the same result."""
    X, k, must, cannot = made(n=3000)
    here = in_blocks(k)
    here.fit(X, must_link=must, cannot_link=cannot)
    killed = []

    def kill_one(state):
        if state.n_local_searches == 3:
            pids = client.run(os.getpid)
            killed.append(min(pids.values()))
            os.kill(killed[0], signal.SIGKILL)

    there = SMDEClust.from_paper(n_clusters=k, callback=kill_one, **SETTING)
    there.fit(da.from_array(X, chunks=(800, 5)), must_link=must, cannot_link=cannot)
    labels = there.labels_.compute()
    assert killed
    np.testing.assert_array_equal(labels, here.labels_)
    assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_weights_and_groups(threads, dtype):
    """Weights, zero ones among them, and float32 blocks."""
    X, k, must, cannot = made(n=2000, dtype=dtype)
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    weight[np.unique(cannot)] = 1.0
    here, there = fit_both("SG-MDE", X, (700, 5), k, must, cannot, weight)
    assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-9)
    np.testing.assert_array_equal(there.labels_.compute(), here.labels_)


def test_no_pairs_at_all_and_too_many_clusters_for_the_free():
    """Without pairs it is plain k-means; with as many clusters as points each gets one."""
    X, k, _, _ = made(n=300)
    here, there = fit_both("SG-MDE", X, (100, 5), k, None, None)
    assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-9)
    few = np.concatenate([np.zeros((6, 2)), np.ones((2, 2)), [[2.0, 2.0]]])
    model = SMDEClust.from_paper(n_clusters=5, **SETTING)
    model.fit(da.from_array(few, chunks=(4, 2)), cannot_link=[(0, 1), (6, 7)])
    labels = model.labels_.compute()
    assert len(np.unique(labels)) == 5
    problem = Problem.build(few, 5, cannot_link=[(0, 1), (6, 7)])
    assert problem.violations(labels) == (0, 0)
    assert model.inertia_ == pytest.approx(problem.objective(problem.group_labels(labels)))


def test_predict_is_lazy_and_data_frames_work():
    """A data frame of unknown lengths is read; predict computes nothing until asked."""
    dd = pytest.importorskip("dask.dataframe", reason="needs dask.dataframe")
    import pandas as pd

    X, k, must, cannot = made(n=900)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = SMDEClust.from_paper(n_clusters=k, **SETTING)
    model.fit(dd.from_pandas(frame, npartitions=3), must_link=must, cannot_link=cannot)
    assert list(model.feature_names_in_) == list("abcde")
    predicted = model.predict(da.from_array(X, chunks=(400, 5)))
    assert isinstance(predicted, da.Array)
    gaps = X[:, None] - model.cluster_centers_[None]
    np.testing.assert_array_equal(predicted.compute(), (gaps**2).sum(axis=2).argmin(axis=1))


def test_chunks_without_rows():
    """Partitions that a filter emptied, or empty chunks at any end: as if they were not there."""
    dd = pytest.importorskip("dask.dataframe", reason="needs dask.dataframe")
    import pandas as pd

    X, k, must, cannot = made(n=900)
    pairs = {"must_link": must, "cannot_link": cannot, "sample_weight": np.arange(900) % 3 + 1.0}
    plain = da.from_array(X, chunks=(300, 5))
    expected = SMDEClust.from_paper(n_clusters=k, **SETTING).fit(plain, **pairs)
    holed = da.Array(
        {
            ("holed", i, 0): (np.asarray, block)
            for i, block in enumerate([X[:0], X[:300], X[:0], X[300:600], X[600:], X[:0]])
        },
        "holed", chunks=((0, 300, 0, 300, 300, 0), (5,)), dtype=X.dtype,
    )  # fmt: skip
    frame = pd.DataFrame(np.concatenate([X[:300], -X[:300], X[300:]]), columns=list("abcde"))
    frame["kept"] = np.repeat([True, False, True, True], 300)
    filtered = dd.from_pandas(frame, npartitions=4)
    filtered = filtered[filtered["kept"]][list("abcde")]
    assert filtered.map_partitions(len).compute().tolist() == [300, 0, 300, 300]
    for given in (holed, filtered):
        model = SMDEClust.from_paper(n_clusters=k, **SETTING).fit(given, **pairs)
        assert model.inertia_ == expected.inertia_
        assert model.labels_.chunks == ((300, 300, 300),)
        np.testing.assert_array_equal(model.labels_.compute(), expected.labels_.compute())
        np.testing.assert_array_equal(
            model.predict(given).compute(), expected.predict(plain).compute()
        )
        np.testing.assert_array_equal(
            model.transform(given).compute(), expected.transform(plain).compute()
        )
        assert model.score(given) == expected.score(plain)


def test_a_chunk_that_turns_out_empty_is_named():
    """A chunk announced with rows but without any: the error says which."""
    X, k, _, _ = made(n=300)

    def without_the_second(block, block_id=None):
        return block[:0] if block_id[0] == 1 else block

    lying = da.from_array(X, chunks=(100, 5)).map_blocks(without_the_second, dtype=X.dtype)
    with pytest.raises(InvalidInputError, match="row 100 was declared with 100 rows but has 0"):
        SMDEClust.from_paper(n_clusters=k, **SETTING).fit(lying)


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_new_rows_with_holes_are_rejected(client, value, name):
    """No row without all its numbers gets a label or distances: the error names it, from worker
    processes too."""
    X, k, _, _ = made(n=500)
    model = SMDEClust.from_paper(n_clusters=k, **SETTING).fit(X)
    holed = X.copy()
    holed[350, 3] = value
    remote = da.from_array(holed, chunks=(200, 5))
    where = f"X contains {name} .row 350, column 3."
    for lazy in (model.predict(remote), model.transform(remote)):
        assert len(lazy[:200].compute()) == 200
        with pytest.raises(InvalidInputError, match=where):
            lazy.compute()
    with pytest.raises(InvalidInputError, match=where):
        model.score(remote)


def test_transform_is_lazy_and_score_is_that_of_the_array():
    """Distances come as a Dask array; other columns than those fitted are named."""
    dd = pytest.importorskip("dask.dataframe", reason="needs dask.dataframe")
    import pandas as pd

    X, k, _, _ = made(n=500)
    model = SMDEClust.from_paper(n_clusters=k, **SETTING).fit(X)
    remote = da.from_array(X, chunks=(200, 5))
    distances = model.transform(remote)
    assert isinstance(distances, da.Array)
    assert distances.chunks == ((200, 200, 100), (k,))
    np.testing.assert_allclose(distances.compute(), model.transform(X), rtol=1e-12)
    weight = np.arange(500.0)
    assert model.score(remote) == pytest.approx(model.score(X), rel=1e-12)
    assert model.score(remote, sample_weight=weight) == pytest.approx(
        model.score(X, sample_weight=weight), rel=1e-12
    )
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")), npartitions=2)
    model.fit(frame)
    with pytest.raises(InvalidInputError, match="a, b, c, e, d"):
        model.predict(frame[list("abced")])
    model.fit(remote)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("assignment", ["greedy", "exact", "greedy-repair"])
@pytest.mark.parametrize("replacement", ["immediate", "generation"])
def test_every_parameter_counts(assignment, replacement):
    """Steps of mutation and replacement of a generation at once: as in memory."""
    X, k, must, cannot = made(n=900)
    setting = {"assignment": assignment, "replacement": replacement, "alpha": 1.0}
    here = in_blocks(k, "SMG-MDE", **setting)
    there = SMDEClust.from_paper("SMG-MDE", n_clusters=k, **(SETTING | setting))
    here.fit(X, must_link=must, cannot_link=cannot)
    there.fit(da.from_array(X, chunks=(400, 5)), must_link=must, cannot_link=cannot)
    assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-10)
    np.testing.assert_array_equal(there.labels_.compute(), here.labels_)


def test_soft_pairs_as_in_memory():
    """Prices, broken pairs and objective of soft pairs are those of the array in memory."""
    X, k, must, cannot = made(n=300)
    soft = {
        "soft_must_link": [(*pair, 0.8) for pair in cannot[:15].tolist()],
        "soft_cannot_link": [(*pair, 0.9) for pair in must[:15].tolist()],
    }
    setting = {"n_clusters": k, "population_size": 4, "max_generations": 2, "random_state": 0}
    here, there = (SMDEClust.from_paper("S-MDE", **setting) for _ in range(2))
    here._storage = "blocks"
    here.fit(X, cannot_link=cannot[15:40], **soft)
    there.fit(da.from_array(X, chunks=(100, 5)), cannot_link=cannot[15:40], **soft)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)
    assert there.soft_prices_(0.9) == pytest.approx(here.soft_prices_(0.9), rel=1e-10)
    assert [pair.pair for pair in there.broken_] == [pair.pair for pair in here.broken_]
    assert len(there.broken_) > 0


def test_what_does_not_work_is_said():
    """A device, sparse blocks and half a cluster are refused with the way out."""
    sp = pytest.importorskip("scipy.sparse")
    X, _, _, _ = made(n=300)
    remote = da.from_array(X, chunks=(100, 5))
    with pytest.raises(InvalidInputError, match="Dask collection. Use device=None"):
        SMDEClust(3, device="cpu").fit(remote)
    with pytest.raises(InvalidInputError, match="sparse blocks"):
        SMDEClust(3).fit(remote.map_blocks(sp.csr_matrix))
    with pytest.raises(InvalidInputError, match="positive integer"):
        SMDEClust(2.5).fit(remote)


def test_parquet_files(tmp_path):
    """Files of a data frame, read by the workers: float32 stays, and the result is that of the
    array."""
    dd = pytest.importorskip("dask.dataframe", reason="needs dask.dataframe")
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    import pandas as pd

    X, k, must, cannot = made(n=900, dtype=np.float32)
    frame = pd.DataFrame(X, columns=list("abcde"))
    dd.from_pandas(frame, npartitions=3).to_parquet(tmp_path / "points")
    points = dd.read_parquet(tmp_path / "points")
    assert points.to_dask_array().dtype == np.float32
    pairs = {"must_link": must, "cannot_link": cannot}
    there = SMDEClust.from_paper(n_clusters=k, **SETTING).fit(points, **pairs)
    array = da.from_array(X, chunks=(300, 5))
    expected = SMDEClust.from_paper(n_clusters=k, **SETTING).fit(array, **pairs)
    assert there.inertia_ == expected.inertia_
    np.testing.assert_array_equal(there.labels_.compute(), expected.labels_.compute())


def test_without_a_client():
    """Where nobody started a cluster, threads of this process do the work."""
    X, k, must, cannot = made(n=600)
    model = SMDEClust.from_paper(n_clusters=k, **SETTING)
    model.fit(da.from_array(X, chunks=(200, 5)), must_link=must, cannot_link=cannot)
    assert model.labels_.compute(scheduler="sync").shape == (600,)


def test_network_bytes_do_not_grow_with_the_points(threads):
    """What travels in an iteration depends on K, d and the number of blocks, not on N."""
    per_iteration = []
    for n in (400, 4000):
        X, k, _, _ = made(n=n)
        model = SMDEClust.from_paper(n_clusters=k, **(SETTING | {"max_local_iter": 3}))
        model.fit(da.from_array(X, chunks=(n // 4, 5)))
        per_iteration.append(model.network_bytes_ / model.n_local_iterations_)
    assert per_iteration[1] == pytest.approx(per_iteration[0], rel=0.3)


def test_bad_input_is_named():
    """Unknown chunk sizes, rows outside, missing values, impossible pairs: errors say where."""
    X, k, _, _ = made(n=400)
    good = da.from_array(X, chunks=(100, 5))
    model = SMDEClust.from_paper(n_clusters=k, **SETTING)
    with pytest.raises(InvalidInputError, match="unknown size"):
        model.fit(good[good[:, 0] > 0])
    with pytest.raises(InvalidInputError, match="400"):
        model.fit(good, cannot_link=[(0, 400)])
    holed = X.copy()
    holed[250, 3] = np.nan
    with pytest.raises(InvalidInputError, match="row 250, column 3"):
        model.fit(da.from_array(holed, chunks=(100, 5)))
    clique = [(i, j) for i in range(100, 108) for j in range(i) if j >= 100]
    with pytest.raises(InfeasibleConstraintsError, match="10[0-7]"):
        model.fit(good, cannot_link=clique)
    with pytest.raises(InvalidInputError, match="sample_weight"):
        model.fit(good, sample_weight=np.ones(399))
    assert not hasattr(model, "labels_")


def test_workers_lost_for_good():
    """When no worker is left and none comes, the run ends with a clear error."""
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as local,
        distributed.Client(local) as own,
    ):
        cluster = Cluster(own, patience=1.0)
        local.scale(0)
        future = cluster.submit(sum, [1, 2])
        with pytest.raises(WorkersLostError, match="No Dask worker"):
            cluster.gather([future])
    assert dask_points.PATIENCE > 1


@pytest.mark.parametrize("by", ["points", "weight"])
def test_sizes_hold_as_in_memory(by):
    """Bounds on sizes with pairs: the same objective as in memory, sizes as reported, and labels
    that are lazy and keep the bounds."""
    X, k, must, cannot = made(n=700)
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 4, len(X)).astype(float) if by == "weight" else None
    total = len(X) if weight is None else weight.sum()
    sizes = {"size_min": 0.9 * total // k, "size_max": 1.1 * total // k + 1, "size_by": by}
    setting = SETTING | {"max_local_iter": 2}
    here = SMDEClust.from_paper("SG-MDE", n_clusters=k, **setting, **sizes)
    here._storage = "blocks"
    there = SMDEClust.from_paper("SG-MDE", n_clusters=k, **setting, **sizes)
    pairs = {"must_link": must[:20], "cannot_link": cannot[:20], "sample_weight": weight}
    here.fit(X, **pairs)
    there.fit(da.from_array(X, chunks=(250, -1)), **pairs)
    assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-9)
    labels = there.labels_.compute()
    held = np.bincount(labels, weight, k)
    assert held == pytest.approx(there.cluster_sizes_)
    assert ((held >= sizes["size_min"]) & (held <= sizes["size_max"])).all()
    assert all(labels[i] == labels[j] for i, j in must[:20])
    assert all(labels[i] != labels[j] for i, j in cannot[:20])
