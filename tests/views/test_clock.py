"""A view that would not end in time is not begun."""

from __future__ import annotations

import time

from smdeclust.views.scene import Clock


def test_a_slow_view_is_not_begun_on_many_points() -> None:
    """What took a while on 100 points takes more than a thousand times as long on 20,000."""
    clock = Clock(time.perf_counter() + 50.0)
    with clock.timing("slow", 100):
        time.sleep(0.05)
    assert clock.suffices("slow", 100)
    assert not clock.suffices("slow", 20_000)
    # Nothing is known of a view that has not been seen: it may be as slow.
    assert not clock.suffices("not yet seen", 20_000)
    assert clock.suffices("not yet seen", 100)
    assert Clock(clock.deadline).suffices("not yet seen", 20_000)


def test_no_limit_and_a_stop() -> None:
    """Without a limit every view is begun; after a stop, none."""
    clock = Clock(None)
    with clock.timing("slow", 1):
        time.sleep(0.01)
    assert clock.suffices("slow", 10**6)
    clock.stopped = True
    assert not clock.suffices("slow", 1)
