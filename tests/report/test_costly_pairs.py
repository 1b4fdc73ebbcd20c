"""What single pairs cost, and which points moved: checked against brute force and recomputation."""

from __future__ import annotations

import json
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from smdeclust import Constraints, SMDEClust, pair_costs
from smdeclust.cli.app import run
from smdeclust.queries.picture import match_labels
from smdeclust.structure.groups import find_bridges


def _n_components(n: int, links: np.ndarray) -> int:
    graph = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(n, n))
    return connected_components(graph, directed=False)[0]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=14))
def test_bridges_are_the_links_whose_removal_splits(links):
    """Against recounting components without each link; the rows of a side are one component."""
    must = np.array(links, dtype=np.int64).reshape(-1, 2)
    whole = _n_components(10, must)
    expected = [e for e in range(len(must)) if _n_components(10, np.delete(must, e, 0)) > whole]
    found = find_bridges(must)
    assert found.links.tolist() == expected
    for link, start, end in zip(found.links, found.start, found.end, strict=True):
        rest = np.delete(must, link, 0)
        graph = coo_array((np.ones(len(rest)), (rest[:, 0], rest[:, 1])), shape=(10, 10))
        _, component = connected_components(graph, directed=False)
        side = set(found.rows[start:end].tolist())
        assert any(side == set(np.flatnonzero(component == component[r])) for r in must[link])


def test_long_chain_does_not_recurse():
    """A chain of fifty thousand must-links is all bridges."""
    chain = np.stack([np.arange(50_000), np.arange(1, 50_001)], axis=1)
    assert len(find_bridges(chain).links) == 50_000


def _brute(X: np.ndarray, k: int, must: np.ndarray, cannot: np.ndarray) -> float:
    best = np.inf
    for labels in product(range(k), repeat=len(X)):
        array = np.array(labels)
        if len(set(labels)) < k:
            continue
        if any(array[i] != array[j] for i, j in must) or any(
            array[i] == array[j] for i, j in cannot
        ):
            continue
        cost = sum(((X[array == c] - X[array == c].mean(0)) ** 2).sum() for c in range(k))
        best = min(best, cost)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_costs_are_those_of_enumeration(seed):
    """Of a number of pairs, every cost is the difference of two optima found by enumeration, and
    the most expensive pair of all is among those tried."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 2))
    y = rng.integers(0, 2, 8)
    pairs = np.array([rng.choice(8, 2, replace=False) for _ in range(6)])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    must, cannot = pairs[same], pairs[~same]
    known = Constraints(must, cannot, n_points=8)
    model = SMDEClust(2, random_state=0).fit(X, constraints=known)
    found = pair_costs(model, X, known, pairs=99)
    optimum = _brute(X, 2, must, cannot)
    assert model.inertia_ == pytest.approx(optimum)
    true = {
        ("must_link", i): optimum - _brute(X, 2, np.delete(must, i, 0), cannot)
        for i in range(len(must))
    }
    true |= {
        ("cannot_link", i): optimum - _brute(X, 2, must, np.delete(cannot, i, 0))
        for i in range(len(cannot))
    }
    assert found.complete
    assert found.n_candidates == len(found)
    for pair in found:
        assert pair.saves == pytest.approx(true[pair.kind, pair.position], abs=1e-9)
        assert (pair.n_moved > 0) == (pair.saves > 1e-9)
    assert max(true.values(), default=0) == pytest.approx(
        max((pair.saves for pair in found), default=0.0), abs=1e-9
    )


@pytest.mark.parametrize("seed", range(2))
def test_the_report_prices_pairs_with_the_sizes(tmp_path, seed):
    """With sizes exactly four, costs in the result are those of enumerating halves of eight."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(8, 2)) * [100, 10], 3)
    cannot = [(0, 1), (2, 3), (4, 6)]
    data, pairs, out = (tmp_path / name for name in ("data.csv", "pairs.txt", "out"))
    data.write_text("a,b\n" + "".join(f"{x},{y}\n" for x, y in X))
    pairs.write_text("".join(f"CL {i} {j}\n" for i, j in cannot))
    given = ["-k", "2", "--raw", "--size-min", "4", "--size-max", "4", "--out", str(out)]
    assert run(["fit", str(data), "-c", str(pairs), *given]) == 0
    document = json.loads((out / "result.json").read_text())

    def best(kept):
        halves = ([*half] for half in combinations(range(8), 4) if 0 in half)
        return min(
            sum(((X[part] - X[part].mean(0)) ** 2).sum() for part in (half, rest))
            for half in halves
            for rest in [[row for row in range(8) if row not in half]]
            if all((i in half) != (j in half) for i, j in kept)
        )

    assert document["objective"] == pytest.approx(best(cannot))
    assert document["pair_costs"]
    for pair in document["pair_costs"]:
        kept = [each for each in cannot if each != tuple(pair["rows"])]
        assert pair["cost"] == pytest.approx(best(cannot) - best(kept), abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12))
def test_matching_keeps_as_many_numbers_as_any_renumbering(both):
    """Against all renumberings of four clusters."""
    labels, others = np.array(both).T
    matched = match_labels(others, labels, 4)
    best = max((np.array(p)[others] == labels).sum() for p in permutations(range(4)))
    assert (matched == labels).sum() == best
