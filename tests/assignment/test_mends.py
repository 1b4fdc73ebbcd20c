"""Cases that once went wrong: far points, endless covers, dense cannot-links, long graphs, fork."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

from smdeclust import Problem, SMDEClust, exact_assignment
from smdeclust.assignment import Budget, Status, assign, milp_assignment
from smdeclust.constraints import PairGraph
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.coloring import Verdict, find_coloring
from smdeclust.structure.graph import cannot_link_graph

FAR = [[2, 1], [0, 5], [4, 5], [2, 0], [4, 5], [2, 2]]
FAR_CENTERS = [[18, 16], [16, 17], [18, 18], [0, 0], [1, 1]]
FAR_PAIRS = [(3, 1), (3, 0), (1, 4), (1, 2), (0, 2), (4, 5), (4, 3)]


@pytest.mark.parametrize("far", [1e3, 1e6, 1e7, 1e9])
def test_a_far_point_hides_nothing(far):
    """One point with a center of its own, however far away, does not change who goes where."""
    X, centers = np.array([*FAR, [far, far]]), np.array([*FAR_CENTERS, [far, far]])
    problem = Problem.build(X, 6, cannot_link=FAR_PAIRS)
    found = exact_assignment(problem, centers)
    assert found.status is Status.OPTIMAL
    assert found.cost == pytest.approx(1089.0, rel=1e-6 if far > 1e6 else 1e-9)
    assert milp_assignment(problem, centers).cost == pytest.approx(1089.0, rel=1e-6)


# Eight places near four corners 1e8 apart; weights from 1e-8 to 1e5; as many clusters as points.
NEAR = np.array([48447778.598558776, 48447779.598558776, -51552221.401441224, -51552220.401441224])
UP = np.array([49194897.98693921, 49194898.98693921, -50805102.01306079, -50805101.01306079])
PLACES = [(0, 0), (1, 2), (2, 2), (1, 3), (1, 0), (2, 3), (2, 2), (0, 3), (3, 1), (2, 3), (0, 3),
          (0, 3), (0, 0)]  # fmt: skip
WEIGHTS = [0.01, 1e-8, 1e-8, 0.01, 1e-6, 1e-8, 1e-8, 1e-4, 1e-3, 1e-3, 1e-8, 1e5, 1e-6]
CENTERS = np.array([
    [-51552221.1117236, -21833340.09672328], [-22580459.485103734, -21833340.09672329],
    [48447778.598558776, 49194898.27665682], [48447779.598558776, -50805102.0130608],
    [48447778.88827639, -50805102.0130608], [48447778.88827639, 49194897.98693921],
    [-51552221.401441224, -21833340.096723303], [-51552221.401441224, -50805102.01306079],
    [48447779.59855877, 49194897.98693921], [-51552220.40144122, 49194898.276656814],
    [48447778.598558776, -50805102.01306079], [-22580459.485103734, -50805101.72334318],
    [48447779.598558776, -50805102.0130608],
])  # fmt: skip


def test_filling_clusters_ends():
    """Regrets that are all rounding do not send the search round in circles; the matching found is
    as cheap as the one of an independent solver."""
    from scipy.optimize import linear_sum_assignment

    X = np.array([(NEAR[i], UP[j]) for i, j in PLACES])
    found = exact_assignment(Problem.build(X, 13, sample_weight=WEIGHTS), CENTERS, max_time=60)
    costs = ((X[:, None] - CENTERS[None]) ** 2).sum(axis=2) * np.array(WEIGHTS)[:, None]
    rows, columns = linear_sum_assignment(costs)
    assert sorted(found.labels) == list(range(13))
    assert found.cost == pytest.approx(costs[rows, columns].sum(), rel=1e-12)


def test_prices_of_labels_out_of_the_question_prove_nothing():
    """Where one label costs 1e10 times the answer, no bound at prices of that size is a proof."""
    costs = np.array([
        [8.9e18, 103.0, 942.0], [8.9e20, 64778.0, 11507.0], [8.9e18, 1274.0, 704.0],
        [8.9e22, 1.1e7, 3.5e7], [3.0e8, 2.0e8 + 1.5, 2.0e8],
    ])  # fmt: skip
    graph = PairGraph.hard(*cannot_link_graph(np.array([[0, 1], [2, 4], [3, 4]]), 5))
    bounds = Bounds.none_empty(np.ones(5), np.zeros(3))
    found, cost, bound = assign(costs, graph, bounds)
    assert found.tolist() == [1, 2, 2, 1, 0]
    assert bound == cost == costs[np.arange(5), found].sum()


def test_empty_clusters_are_filled_after_the_deadline():
    """With no time left the answer is feasible all the same."""
    rng = np.random.default_rng(0)
    costs = rng.random((6, 4)) + np.array([0.0, 9, 9, 9])
    late = Budget(deadline=0.0)
    none = PairGraph.hard(np.zeros(1, np.int64), np.zeros(0, np.int64))
    found, cost, bound = assign(costs, none, Bounds.none_empty(np.ones(6), np.zeros(4)), None, late)
    assert set(found) == {0, 1, 2, 3}
    assert bound <= cost


def dense_problem():
    """A planted colouring near the threshold: 200 points, 5 clusters, 1130 cannot-links."""
    rng = np.random.default_rng(0)
    classes, pairs = rng.integers(0, 5, 200), rng.integers(0, 200, (2000, 2))
    pairs = pairs[classes[pairs[:, 0]] != classes[pairs[:, 1]]][:1130]
    return np.random.default_rng(1).normal(size=(200, 2)), pairs


def test_dense_cannot_links_have_first_labels():
    """Where cannot-links are dense a fit with a limit comes back with feasible labels, and says
    that they are not proven; an assignment without any budget for a proof is feasible too."""
    X, pairs = dense_problem()
    model = SMDEClust(5, max_time=0.5, random_state=0).fit(X, cannot_link=pairs)
    assert (model.labels_[pairs[:, 0]] != model.labels_[pairs[:, 1]]).all()
    assert model.n_unproven_ == 1
    problem = Problem.build(X, 5, cannot_link=pairs)
    found = exact_assignment(problem, X[:5], max_nodes=0, max_time=2)
    assert found.status is Status.FEASIBLE
    assert found.bound <= found.cost
    assert problem.violations(found.labels) == (0, 0)


def _fit_after_fork(queue):
    X, pairs = dense_problem()
    model = SMDEClust(5, max_time=0.5, random_state=0).fit(X, cannot_link=pairs)
    queue.put(bool((model.labels_[pairs[:, 0]] != model.labels_[pairs[:, 1]]).all()))


@pytest.mark.filterwarnings("ignore:This process")
def test_dense_cannot_links_after_fork():
    """A forked process of one that has fitted already fits as well."""
    _fit_after_fork(multiprocessing.get_context("fork").Queue())
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_fit_after_fork, args=(queue,), daemon=True)
    child.start()
    try:
        assert queue.get(timeout=60)
    finally:
        child.kill()


@pytest.mark.parametrize("shape", ["star", "path", "cycle", "ladder"])
def test_long_graphs(shape):
    """Stars, paths, cycles and ladders of thousands of groups are solved and proven; what the
    others cost is known from small ones, so here: feasible, proven, and cheaper than any start."""
    n = 20_000
    i = np.arange(n - 1)
    edges = {
        "star": np.column_stack([np.zeros(n - 1, np.int64), i + 1]),
        "path": np.column_stack([i, i + 1]),
        "cycle": np.column_stack([np.arange(n), (np.arange(n) + 1) % n]),
        "ladder": np.array([*zip(i[:-1], i[:-1] + 2), *zip(i[::2], i[::2] + 1)]),  # noqa: B905
    }[shape]  # fmt: skip
    graph = PairGraph.hard(*cannot_link_graph(edges, n))
    costs = np.random.default_rng(0).random((n, 4))
    labels, cost, bound = assign(costs, graph, None)
    assert graph.penalty(labels) == 0.0
    assert cost == bound
    coloring = graph.coloring(4)
    assert graph.penalty(coloring) == 0.0
    assert cost <= costs[np.arange(n), coloring].sum()


def test_colorings_are_colorings():
    """What is called feasible comes with colours that differ along every edge; what is called
    infeasible has none (a wheel with an odd rim needs four colours)."""
    rng = np.random.default_rng(0)
    for n_colors, n_edges in ((3, 60), (4, 160), (5, 260)):
        edges = rng.integers(0, 60, (n_edges, 2))
        graph = cannot_link_graph(edges[edges[:, 0] != edges[:, 1]], 60)
        found = find_coloring(*graph, n_colors)
        if found.verdict is Verdict.FEASIBLE:
            assert PairGraph.hard(*graph).penalty(found.colors) == 0.0
            assert found.colors.min() >= 0
            assert found.colors.max() < n_colors
    rim = [(i, (i + 1) % 7) for i in range(7)]
    wheel = cannot_link_graph(np.array([*rim, *((i, 7) for i in range(7))]), 8)
    assert find_coloring(*wheel, 3).verdict is Verdict.INFEASIBLE
    assert find_coloring(*wheel, 4).verdict is Verdict.FEASIBLE
