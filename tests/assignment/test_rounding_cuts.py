"""Rows that shares of whole numbers keep: true for all labels, and what they are worth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from smdeclust.assignment import Budget, assign
from smdeclust.assignment.bounded import assign_bounded
from smdeclust.assignment.linear_prices import NO_PAIRS
from smdeclust.assignment.rounding_cuts import RoundingCuts
from smdeclust.structure.bounds import Bounds
from smdeclust.structure.label_program import LabelProgram


def shares(n: int, k: int, rng, sizes: tuple[float, float], members=None) -> Bounds:
    """Sizes and the shares of two categories within 10%; groups of several points if given."""
    members = np.ones(n) if members is None else members
    rows = [(members, *sizes)]
    for part in (0.4, 0.3):
        inside = rng.binomial(members.astype(int), part) * 1.0
        share = inside.sum() / members.sum()
        rows += [(inside - 0.9 * share * members, 0.0, np.inf)]
        rows += [(inside - 1.1 * share * members, -np.inf, 0.0)]
    counts, low, high = zip(*rows, strict=True)
    wide = np.ones((1, k))
    return Bounds.of(
        np.stack(counts), np.array(low)[:, None] * wide, np.array(high)[:, None] * wide
    )


@pytest.mark.parametrize("seed", range(8))
def test_all_labels_keep_the_cuts(seed):
    """Every labeling within the bounds keeps every row that some relaxed sums break."""
    rng, n, k = np.random.default_rng(seed), 9, 2
    members = rng.integers(1, 3, n) * 1.0 if seed % 2 else None
    high = np.inf if seed % 3 == 0 else 9.0
    bounds = shares(n, k, rng, (3.0, high), members)
    filled = np.zeros(bounds.low.shape)
    bounds = Bounds(bounds.counts, bounds.low, bounds.high, filled)
    cuts, found = RoundingCuts(bounds), []
    for _ in range(30):
        relaxed = rng.dirichlet(np.ones(k), n)
        more = cuts.broken(bounds.counts @ relaxed)
        found += [] if more is None else [more]
    assert found
    for labels in itertools.product(range(k), repeat=n):
        held = np.array(labels)
        if bounds.hold(held):
            assert all(more.hold(held) for more in found)


def test_no_cuts_without_whole_numbers():
    """Weights, sums of real numbers and counts have none."""
    rng = np.random.default_rng(0)
    bounds = shares(20, 2, rng, (8.0, 12.0))
    assert RoundingCuts(bounds).shares
    weighed = Bounds(bounds.counts * rng.random(20), bounds.low, bounds.high, bounds.filled)
    assert not RoundingCuts(weighed).shares
    counts = np.array([np.ones(20), (rng.random(20) < 0.5) * 1.0])
    assert not RoundingCuts(Bounds.of(counts, np.ones((2, 2)), np.full((2, 2), 15.0))).shares


def test_the_relaxation_is_mostly_exact():
    """No program is needed for most assignments under sizes and two shares, and all are proven."""
    n_open = 0
    for seed in range(6):
        rng, n, k = np.random.default_rng(seed), 300, 3
        bounds = shares(n, k, rng, (90.0, 110.0))
        costs = rng.random((n, k)) + rng.random(k)
        found = assign_bounded(costs, NO_PAIRS, bounds, None, Budget())
        assert found.bound == found.cost
        assert bounds.hold(found.labels)
        program = LabelProgram(np.ones(costs.shape, dtype=bool))
        program.add_bounds(bounds)
        assert found.cost >= program.solve(costs.ravel(), whole=0).fun - 1e-6
        n_open += found.dual < found.cost * (1 - 1e-9)
    assert n_open  # without cuts the prices leave something open


def test_counting_by_kind_changes_nothing():
    """The program by kinds has the same optimum as the one of single groups, with pairs too."""
    for seed in range(4):
        rng, n, k = np.random.default_rng(seed), 40, 2
        bounds, costs = shares(n, k, rng, (15.0, 25.0)), rng.random((n, k))
        values = []
        for by_kind in (False, True):
            program = LabelProgram(np.ones((n, k), dtype=bool))
            apart = np.array([[0, 1], [1, 2]])[: seed % 3]
            program.add_pairs(apart, np.full(len(apart), np.inf), np.zeros(len(apart), dtype=bool))
            alone = np.ones(n, dtype=bool)
            alone[apart] = False
            if by_kind:
                program.count_by_kind(bounds.counts, alone)
                assert len(program.numbers) == 4 * k
            program.add_bounds(bounds)
            cost, whole, upper = (np.full(program.n_columns, one) for one in (0.0, 1.0, 1.0))
            cost[: n * k], whole[program.following] = costs.ravel(), 0.0
            upper[program.numbers] = np.inf
            values.append(program.solve(cost, whole=whole, upper=upper).fun)
        assert values[0] == pytest.approx(values[1], rel=1e-9)
        if not seed % 3:
            assert assign(costs, NO_PAIRS, bounds)[1] == pytest.approx(values[0], rel=1e-9)
