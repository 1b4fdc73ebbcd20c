"""How far a run of many is."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from smdeclust.paper.plan import Run
from smdeclust.paper.runner import Listener
from smdeclust.paper.store import Outcome

logger = logging.getLogger(__name__)


def in_words(seconds: float) -> str:
    """A duration for people: ``"40 s"``, ``"12 min"``, ``"3 h 5 min"``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def show_progress(done: int, n_runs: int, shown: bool) -> Iterator[Listener]:
    """Give a listener for ended runs that keeps a bar up to date.

    The bar is on standard error where that is a terminal; otherwise a line goes to the log twice a
    minute at most.
    """
    if shown and sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("runs", total=n_runs, completed=done)
            yield lambda run, _: bar.update(
                task, advance=1, description=f"{run.method.name} on {run.dataset}"
            )
        return
    last, ended = time.monotonic(), done

    def on_end(run: Run, outcome: Outcome) -> None:
        nonlocal last, ended
        ended += 1
        if time.monotonic() - last >= 30.0 or ended == n_runs:
            last = time.monotonic()
            logger.info("%d of %d runs, last: %s", ended, n_runs, run)

    yield on_end
