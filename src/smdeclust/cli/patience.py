"""How long to go on: until the time limit, or until the user's first Ctrl-C."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from smdeclust.cli import screen


class Patience:
    """One time limit for all the work of a command, and what Ctrl-C has asked for.

    The first Ctrl-C asks to end with the best answer so far, the second ends at once. Work that
    can stop by itself looks at `over`; other work is interrupted (KeyboardInterrupt). The limit
    `max_time` counts from `begin` on (or from now).
    """

    def __init__(self, max_time: float | None = None) -> None:
        self._max_time = max_time
        self.n_presses = 0
        self.can_stop = False  # whether the work at hand looks at `over` by itself
        self.begin()

    def begin(self) -> None:
        """Start the clock: the files are read and the libraries loaded."""
        limit = self._max_time
        self._deadline = None if limit is None else time.perf_counter() + limit

    @property
    def stopped(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self.n_presses > 0

    @property
    def over(self) -> bool:
        """Whether no further work should begin."""
        return self.stopped or self.left() == 0

    def left(self, most: float | None = None) -> float | None:
        """Seconds left, at most `most`; None where there is no limit."""
        if self._deadline is None:
            return most
        seconds = max(self._deadline - time.perf_counter(), 0.0)
        return seconds if most is None else min(seconds, most)

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Within the block, count Ctrl-C."""

        def on_interrupt(*_: Any) -> None:
            self.n_presses += 1
            if self.n_presses > 1 or not self.can_stop:
                raise KeyboardInterrupt
            with suppress(OSError, ValueError):
                screen.say("Ending with the best answer so far. Press Ctrl-C again to end at once.")

        try:
            before = signal.signal(signal.SIGINT, on_interrupt)
        except ValueError:  # not in the main thread: Ctrl-C does not come here
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
