"""Progress of a long run."""

from __future__ import annotations

from smdeclust.paper.report import in_words


def test_durations_in_words() -> None:
    """Seconds, minutes, hours."""
    words = [in_words(seconds) for seconds in (40.0, 700.0, 11100.0)]
    assert words == ["40 s", "12 min", "3 h 5 min"]
