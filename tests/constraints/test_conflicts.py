"""All contradictions at once, and the cheapest repair."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust import Constraints, InvalidInputError
from smdeclust.structure.conflicts import find_conflicts
from tests.problem.test_conflict import NONE, check, feasible, instances


def least_cost(n, k, must, cannot, must_cost, cannot_cost) -> float:
    """Brute force: the cheapest set of pairs broken by any labelling that uses all clusters."""
    labels = np.array([(0, *rest) for rest in product(range(k), repeat=n - 1)])
    labels = labels[[len(set(row)) == k for row in labels.tolist()]]
    broken = (labels[:, must[:, 0]] != labels[:, must[:, 1]]) @ must_cost
    broken = broken + (labels[:, cannot[:, 0]] == labels[:, cannot[:, 1]]) @ cannot_cost
    return float(broken.min())


@settings(max_examples=150, deadline=None)
@given(instances(), st.integers(0, 2**32 - 1))
def test_smallest_repair_against_brute_force(instance, seed):
    """The repair costs what the best labelling breaks, the rest holds; conflicts are minimal and
    share no pair, and nothing is wrong beside them."""
    n, k, must, cannot = instance
    rng = np.random.default_rng(seed)
    costs = [rng.choice([0.25, 1.0, 2.5], size=len(pairs)) for pairs in (must, cannot)]
    found = find_conflicts(n, k, must, cannot, must_link_cost=costs[0], cannot_link_cost=costs[1])
    assert found.feasible == feasible(n, k, must, cannot)
    if found.feasible:
        assert found.repair is None
        assert not found.conflicts
        return
    repair = found.repair
    assert repair is not None
    assert repair.proven
    assert repair.cost == pytest.approx(least_cost(n, k, must, cannot, *costs))
    assert repair.bound == pytest.approx(repair.cost)
    assert repair.cost == pytest.approx(
        costs[0][repair.must_link].sum() + costs[1][repair.cannot_link].sum()
    )
    left_must = np.delete(must, repair.must_link, axis=0)
    left_cannot = np.delete(cannot, repair.cannot_link, axis=0)
    assert feasible(n, k, left_must, left_cannot)
    assert found.complete
    assert found.conflicts
    for conflict in found.conflicts:
        check(n, k, must, cannot, conflict)
    gone_must = np.concatenate([c.must_link for c in found.conflicts])
    gone_cannot = np.concatenate([c.cannot_link for c in found.conflicts])
    assert len(set(gone_must)) == len(gone_must)
    assert len(set(gone_cannot)) == len(gone_cannot)
    # Repeated pairs stand for each other.
    some = [p.tolist() for p in np.sort(must[gone_must], axis=1)]
    other = [p.tolist() for p in np.sort(cannot[gone_cannot], axis=1)]
    rest_must = [p for p in must.tolist() if sorted(p) not in some]
    rest_cannot = [p for p in cannot.tolist() if sorted(p) not in other]
    assert feasible(
        n, k, np.array(rest_must, int).reshape(-1, 2), np.array(rest_cannot, int).reshape(-1, 2)
    )


def test_ten_planted_contradictions_in_one_round():
    """Ten triangles of two must-links and a cannot-link among true pairs are ten conflicts."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 4, 300)
    drawn = rng.integers(0, 300, (400, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    same = classes[drawn[:, 0]] == classes[drawn[:, 1]]
    must, cannot = drawn[same].tolist(), drawn[~same].tolist()
    for t in range(10):
        a, b, c = 300 + 3 * t + np.arange(3)
        must += [[a, b], [b, c]]
        cannot += [[a, c]]
    found = find_conflicts(330, 4, np.array(must), np.array(cannot))
    assert len(found.conflicts) == 10
    assert all(conflict.n_pairs == 3 for conflict in found.conflicts)
    assert found.repair is not None
    assert found.repair.proven
    assert found.repair.n_pairs == 10


def test_one_wrong_must_link_is_named():
    """A must-link that joins two classes with many cannot-links between is the one to drop."""
    chain = [[i, i + 1] for i in range(9)] + [[i, i + 1] for i in range(10, 19)]
    cannot = [[i, 10 + i] for i in range(10)]
    must = np.array([*chain[:5], [4, 14], *chain[5:]])
    found = find_conflicts(20, 2, must, np.array(cannot))
    assert found.repair is not None
    assert (found.repair.must_link.tolist(), found.repair.cannot_link.tolist()) == ([5], [])
    assert found.repair.proven


def test_cost_decides():
    """Of a triangle, the pair that costs least goes."""
    must, cannot = np.array([[0, 1], [1, 2]]), np.array([[0, 2]])
    for cheap in range(3):
        cost = np.where(np.arange(3) == cheap, 0.5, 1.0)
        found = find_conflicts(
            5, 2, must, cannot, must_link_cost=cost[:2], cannot_link_cost=cost[2:]
        )
        repair = found.repair
        assert repair is not None
        assert repair.cost == 0.5
        assert [*repair.must_link, *(repair.cannot_link + 2)] == [cheap]


def test_no_time_still_gives_a_repair_that_holds():
    """With no time the repair holds and says that it is not proven."""
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, 60, (300, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    must, cannot = drawn[:100], drawn[100:]
    found = find_conflicts(60, 3, must, cannot, max_time=0.0)
    repair = found.repair
    assert repair is not None
    assert not repair.proven
    after = find_conflicts(
        60,
        3,
        np.delete(must, repair.must_link, axis=0),
        np.delete(cannot, repair.cannot_link, axis=0),
    )
    assert after.feasible is not False
    assert find_conflicts(60, 3, NONE, NONE).feasible


def test_check_in_words_and_as_data():
    """check() names pairs by id, gives the repaired constraints, and is false where they fail."""
    names = ["ann", "bob", "cid", "dan", "eve", "fay", "gus"]
    known = Constraints(
        must_link=[("ann", "bob"), ("bob", "cid"), ("dan", "eve")],
        cannot_link=[("cid", "ann"), ("eve", "dan"), ("fay", "gus")],
        ids=names,
    )
    found = known.check(3)
    assert not found
    assert found.feasible is False
    assert len(found.conflicts) == 2
    assert "2 independent contradictions" in str(found)
    assert "cannot-link ann - cid" in str(found) or "cannot-link cid - ann" in str(found)
    assert "To resolve this, drop these 2 pairs: " in str(found)
    assert "proven" in str(found)
    assert found.repaired.check(3)
    assert found.repaired.n_pairs == 4
    assert known.check(1).repair.n_pairs == 3
    assert "Yes, all 4 pairs can be satisfied with 3 clusters." in str(found.repaired.check(3))
    with pytest.raises(InvalidInputError, match="cannot be made of n_samples=7 points"):
        known.check(8)
    with pytest.raises(InvalidInputError, match="positive integer"):
        known.check(0)


def test_check_drops_what_is_least_sure():
    """With soft pairs judged too, the least confident pair of a contradiction is dropped."""
    known = Constraints(
        must_link=[(0, 1)],
        soft_must_link=[(1, 2, 0.9)],
        soft_cannot_link=[(0, 2, 0.6), (3, 4, 1.0)],
        n_points=6,
    )
    assert known.check(2)
    found = known.check(2, soft=True)
    assert not found
    assert found.repaired.soft_cannot_link.tolist() == []
    assert found.repaired.cannot_link.tolist() == [[3, 4]]
    assert found.repaired.soft_must_link.tolist() == [[1, 2]]
    assert found.repair.cost == pytest.approx(np.log(0.6 / 0.4))


def test_check_without_a_number_of_points():
    """Where N is not known, only the pairs are judged."""
    assert Constraints([(0, 1)], [(1, 2)]).check(3)
    assert not Constraints([(0, 1)], [(1, 0)]).check(3)


def test_no_time_and_a_late_contradiction():
    """However short the time, a contradiction in the last of many parts is found and said."""
    square = [[0, 1], [1, 2], [2, 3], [3, 0]]  # fine with two clusters
    odd = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]  # not so
    parts = [np.array(square) + 10 * p for p in range(20)] + [np.array(odd) + 300]
    known = Constraints(cannot_link=np.concatenate(parts), n_points=400)
    found = known.check(2, max_time=0.0)
    assert found.feasible is False
    assert "To resolve this, drop this pair: " in str(found)
    assert found.repaired.check(2)
