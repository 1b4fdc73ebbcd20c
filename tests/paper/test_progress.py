"""The estimate of what is left."""

from __future__ import annotations

import pytest

from smdeclust.paper.progress import Estimate, in_words
from tests.paper import toy


def test_the_estimate_knows_slow_methods_from_quick_ones() -> None:
    """Runs of a method are expected to take what its runs took, shared among the processes."""
    slow, quick = toy.method("slow", pause=1), toy.method("quick")
    runs = toy.plan(slow, quick, seeds=4).runs()
    estimate = Estimate(runs, jobs=2)
    assert estimate.remaining() is None
    estimate.ended(runs[0], 10.0)
    assert estimate.remaining() == pytest.approx(7 * 10.0 / 2)
    estimate.ended(runs[4], 1.0)
    assert estimate.remaining() == pytest.approx((3 * 10.0 + 3 * 1.0) / 2)


def test_durations_in_words() -> None:
    """Seconds, minutes, hours."""
    words = [in_words(seconds) for seconds in (None, 40.0, 700.0, 11100.0)]
    assert words == ["unknown", "40 s", "12 min", "3 h 5 min"]
