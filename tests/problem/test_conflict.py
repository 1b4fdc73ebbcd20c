"""Pairs that cannot hold together: found exactly when there are any, and none is superfluous."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust.structure.conflicts import Conflict, _Narrowing, find_conflicts
from smdeclust.structure.repair import needed

NONE = np.empty((0, 2), dtype=np.int64)


def find_conflict(n, k, must, cannot):
    """The smallest contradiction, or None."""
    conflicts = find_conflicts(n, k, must, cannot, max_time=3.0).conflicts
    return min(conflicts, key=lambda found: found.n_pairs) if conflicts else None


def feasible(n_points: int, n_clusters: int, must: np.ndarray, cannot: np.ndarray) -> bool:
    """Brute force: try every labelling that uses all clusters."""
    for labels in product(range(n_clusters), repeat=n_points - 1):
        full = (0, *labels)
        if len(set(full)) < n_clusters:
            continue
        if all(full[i] == full[j] for i, j in must) and all(full[i] != full[j] for i, j in cannot):
            return True
    return False


def check(n: int, k: int, must: np.ndarray, cannot: np.ndarray, conflict: Conflict) -> None:
    """The pairs of a conflict are infeasible; without any one of them they are feasible."""
    m, c = conflict.must_link, conflict.cannot_link
    assert not feasible(n, k, must[m], cannot[c])
    for leave in range(len(m)):
        assert feasible(n, k, must[np.delete(m, leave)], cannot[c])
    for leave in range(len(c)):
        assert feasible(n, k, must[m], cannot[np.delete(c, leave)])


@st.composite
def instances(draw):
    n = draw(st.integers(2, 7))
    k = draw(st.integers(1, min(n, 4)))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    must = draw(st.lists(pair, max_size=6))
    cannot = draw(st.lists(pair.filter(lambda p: p[0] != p[1]), max_size=16))
    if draw(st.integers(0, 9)) == 0:
        cannot.append((0, 0))
    return n, k, np.array(must, int).reshape(-1, 2), np.array(cannot, int).reshape(-1, 2)


@settings(max_examples=400, deadline=None)
@given(instances())
def test_found_exactly_when_infeasible_and_minimal(instance):
    """Against brute force: a conflict is found if and only if there is one, and is minimal."""
    n, k, must, cannot = instance
    conflict = find_conflict(n, k, must, cannot)
    assert (conflict is None) == feasible(n, k, must, cannot)
    if conflict is not None:
        assert conflict.minimal
        check(n, k, must, cannot, conflict)


def test_shortest_must_link_path():
    """Of several contradicted cannot-links, the one with the shortest path is shown."""
    must = np.array([[i, i + 1] for i in range(9)] + [[20, 21], [21, 22]])
    cannot = np.array([[0, 9], [20, 22], [0, 5]])
    conflict = find_conflict(30, 3, must, cannot)
    assert conflict is not None
    assert conflict.reason == "must_link_path"
    assert conflict.must_link.tolist() == [9, 10]
    assert conflict.cannot_link.tolist() == [1]


def test_clique_through_must_links():
    """Four groups all apart do not fit into three clusters; only the needed pairs are named."""
    must = np.array([[0, 10], [10, 11], [11, 12], [1, 2]])
    cannot = np.array([[12, 3], [0, 4], [0, 5], [3, 4], [3, 5], [4, 5], [6, 7], [10, 3]])
    conflict = find_conflict(20, 3, must, cannot)
    assert conflict is not None
    assert conflict.reason == "clique"
    assert len(conflict.cannot_link) == 6
    rest = set(conflict.cannot_link.tolist())
    assert 6 not in rest
    assert 3 not in conflict.must_link.tolist()
    for leave in range(len(conflict.must_link)):
        fewer = must[np.delete(conflict.must_link, leave)]
        assert find_conflict(20, 3, fewer, cannot[conflict.cannot_link]) is None


def test_odd_cycle_in_a_large_graph():
    """Two clusters and a cycle of odd length: exactly the cycle is found among many pairs."""
    rng = np.random.default_rng(0)
    cycle = [[i, (i + 1) % 41] for i in range(41)]
    tree = [[i, int(rng.integers(0, i))] for i in range(41, 600)]
    pairs = rng.permutation(np.array(cycle + tree))
    conflict = find_conflict(600, 2, NONE, pairs)
    assert conflict is not None
    assert conflict.reason == "no_coloring"
    assert conflict.minimal
    assert sorted(map(tuple, np.sort(pairs[conflict.cannot_link]).tolist())) == sorted(
        tuple(sorted(p)) for p in cycle
    )


def test_too_many_must_links():
    """More merges than K allows: exactly N - K + 1 of them are named."""
    must = np.array([[i, j] for i, j in combinations(range(5), 2)])
    conflict = find_conflict(5, 2, must, NONE)
    assert conflict is not None
    assert conflict.reason == "too_few_groups"
    assert conflict.n_pairs == 4


def test_long_chain_is_quick():
    """A must-link chain of a hundred thousand rows neither recurses nor crawls."""
    n = 100_000
    must = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    conflict = find_conflict(n + 5, 2, must, np.array([[0, n - 1]]))
    assert conflict is not None
    assert conflict.n_pairs == n


@pytest.mark.parametrize("k", [1, 2, 3])
def test_wheel_and_mycielski(k):
    """Graphs without large cliques (Groetzsch's needs four colours) are narrowed to the bone."""
    five = [(i, (i + 1) % 5) for i in range(5)]
    cannot = five + [(5 + i, j) for i in range(5) for j in ((i + 1) % 5, (i - 1) % 5)]
    cannot = np.array(cannot + [(10, 5 + i) for i in range(5)])
    conflict = find_conflict(11, k, NONE, cannot)
    assert conflict is not None
    for leave in range(len(conflict.cannot_link)):
        fewer = cannot[np.delete(conflict.cannot_link, leave)]
        assert find_conflict(11, k, NONE, fewer) is None


def test_narrowing_ends_at_its_deadline():
    """Without any time the graph stays as it is, and is not called minimal."""
    tried = []
    assert needed(range(1000), lambda some: tried.append(some) or True, deadline=0.0) == [
        *range(1000)
    ]
    assert not tried
    edges = {(a, b) for a in range(40) for b in range(a + 1, 40)}
    late = _Narrowing(3, deadline=0.0)
    assert late.narrow_graph(edges, set(range(40))) == edges
    assert not late.is_minimal
