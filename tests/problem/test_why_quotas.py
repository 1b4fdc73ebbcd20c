"""Impossible quotas: what the error names is true, by enumeration of all labels."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from smdeclust import Constraints, InfeasibleConstraintsError
from smdeclust.structure import Structure
from smdeclust.structure.pairs import in_words

N, K = 8, 3
# python -m tests.fuzz_quotas looks at many more.
SEEDS = range(25)
EVERY = np.array(list(itertools.product(range(K), repeat=N)))


def can_hold(pairs, quotas, size_min=1) -> bool:
    """Whether some labels keep these, by the definition."""
    fits = np.ones(len(EVERY), dtype=bool)
    for kind, i, j in pairs:
        fits &= (EVERY[:, i] == EVERY[:, j]) == (kind == "must_link")
    for k in range(K):
        inside = k == EVERY
        size = inside.sum(axis=1)
        fits &= size >= size_min
        for quota in quotas:
            held = inside @ quota.counts
            if quota.of in ("share", "mean"):
                held = held / np.maximum(size, 1)
            fits &= (held >= quota.low - 1e-9) & (held <= quota.high + 1e-9)
    return bool(fits.any())


def instance(seed: int) -> tuple[Constraints, int]:
    """Pairs and one or two quotas that often cannot hold."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation([(i, j) for i in range(N) for j in range(i)])[: rng.integers(2, 6)]
    known = Constraints(pairs[::2], pairs[1::2], n_points=N)
    group, amount = rng.choice(list("ab"), N), rng.integers(1, 6, N) / 2
    if seed % 2:
        known = known.quota(group == "a", 1, 2, name="group")
    else:
        known = known.quota(group, {"a": 0.2}, {"a": 0.7}, name="group")
    if seed % 3:
        slack = rng.choice([0.05, 0.2])
        span = (1 - slack) * amount.sum() / K, (1 + slack) * amount.sum() / K
        known = known.quota(amount, *span, name="amount")
    return known, 2 if seed % 5 else 1


def test_errors_are_true():
    """Raised exactly where no labels hold; pairs and quotas named cannot hold and none of them is
    too many; bounds named would work, and one less would not."""
    n_wrong = n_pairs = n_bounds = 0
    for seed in SEEDS:
        known, size = instance(seed)
        pairs = [("must_link", *p) for p in known.must_link.tolist()]
        pairs += [("cannot_link", *p) for p in known.cannot_link.tolist()]
        try:
            Structure.build(
                N, K, known.must_link, known.cannot_link, quotas=known.quotas, size_min=size
            )
        except InfeasibleConstraintsError as error:
            assert not can_hold(pairs, known.quotas, size)
            if error.reason != "quotas":
                continue
            n_wrong += 1
            named = error.details["pairs"]
            blamed = [q for q in known.quotas if (q.name, q.value) in error.details["quotas"]]
            assert not can_hold(named, blamed, size)
            for one in named:
                assert can_hold([p for p in named if p != one], blamed, size)
                n_pairs += 1
            would = error.details["would_do"]
            alone = "Together, these would work" not in str(error)
            for name, value, side, bound in would if alone else []:
                other = [
                    replace(q, **{side: bound}) if (q.name, q.value) == (name, value) else q
                    for q in known.quotas
                ]
                assert can_hold(pairs, other, size)
                n_bounds += 1
                if value is True:  # a count: one less is not enough
                    tight = bound + (1 if side == "low" else -1)
                    other = [
                        replace(q, **{side: tight}) if q.value is True else q for q in known.quotas
                    ]
                    assert not can_hold(pairs, other, size)
        else:
            assert can_hold(pairs, known.quotas, size)
    assert min(n_wrong, n_pairs, n_bounds) > 1


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (
            Constraints([(0, 2), (4, 6)], n_points=N).quota([True, False] * 4, 1, name="senior"),
            "No clustering satisfies the quota on senior together with the pairs. Quota on senior: "
            "there are 4 of True; 3 clusters with at least 1 need 3. These pairs prevent it: "
            "must-link 0 - 2; must-link 4 - 6. This would work: low=0 for True of senior.",
        ),
        (
            Constraints([(0, 1), (1, 2), (2, 3)], n_points=N).quota([2.0] * N, high=7.5, name="it"),
            "must-link 0 - 1; must-link 1 - 2; must-link 2 - 3. This would work: high=8.",
        ),
        (
            Constraints(n_points=N).quota([3.0, 0.0] * 4, 3.5, 4.6, name="hours"),
            "Quota on hours: there are 12 units in the sum of hours; 3 clusters with at least 3.5 "
            "need 10.5; 3 clusters with at most 4.6 have room for 13.8. Together, these would ",
        ),
        (
            Constraints(n_points=N).quota(list("ffffmmmm"), {"f": [3, 2, None]}, name="gender"),
            "Quota on gender: there are 4 of 'f'; 3 clusters with at least 3, 2, any need 5. "
            "This would work: low=2, 1, any for 'f' of gender.",
        ),
        (  # two quotas, each impossible by itself
            Constraints(n_points=N)
            .quota([3.0, 0.0] * 4, 3.5, name="hours")
            .quota([0.0, 5.0] * 4, 5.5, name="pay"),
            "Together, these would work: low=2.994 for the sum of hours; low=4.705 for the sum of",
        ),
    ],
)
def test_words(known, words):
    """Which value, how many there are, how many are needed, what would work, which pairs."""
    with pytest.raises(InfeasibleConstraintsError) as caught:
        Structure.build(N, K, known.must_link, known.cannot_link, quotas=known.quotas)
    assert words in str(caught.value)


def test_numbers_in_words():
    """Rows are written in full, and a bound that is left open is called "any"."""
    assert in_words([1234567, 2.5, np.inf]) == "1234567, 2.5, any"
