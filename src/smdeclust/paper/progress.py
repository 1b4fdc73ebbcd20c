"""How far a run of many is, and how long the rest may take."""

from __future__ import annotations

import logging
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from smdeclust.paper.plan import Run
from smdeclust.paper.runner import Listener
from smdeclust.paper.store import Outcome

logger = logging.getLogger(__name__)


class Estimate:
    """Seconds that the runs still to do may take.

    A run is expected to take as long as those of the same method on the same data set did, else
    those of the same method, else all.

    Parameters
    ----------
    todo
        The runs to do.
    jobs
        How many run at a time.
    """

    def __init__(self, todo: Sequence[Run], jobs: int) -> None:
        self._jobs = jobs
        self._left: dict[tuple[str, str], int] = defaultdict(int)
        for run in todo:
            self._left[run.method.name, run.dataset] += 1
        self._seen: dict[tuple[str, ...], list[float]] = defaultdict(list)

    def ended(self, run: Run, seconds: float) -> None:
        """Take note of a run's duration."""
        pair = (run.method.name, run.dataset)
        self._left[pair] -= 1
        for group in (pair, pair[:1], ()):
            self._seen[group].append(seconds)

    def remaining(self) -> float | None:
        """Seconds left, None before anything is known."""
        if not self._seen[()]:
            return None
        total = 0.0
        for pair, count in self._left.items():
            known = self._seen.get(pair) or self._seen.get(pair[:1]) or self._seen[()]
            total += count * sum(known) / len(known)
        return total / self._jobs


def in_words(seconds: float | None) -> str:
    """A duration for people: ``"40 s"``, ``"12 min"``, ``"3 h 5 min"``."""
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def show_progress(todo: Sequence[Run], n_runs: int, jobs: int, shown: bool) -> Iterator[Listener]:
    """Give a listener for ended runs that keeps a bar up to date.

    The bar is on standard error where that is a terminal; otherwise a line goes to the log twice a
    minute at most.
    """
    estimate = Estimate(todo, jobs)
    done = n_runs - len(todo)
    if not shown or not sys.stderr.isatty():
        yield _logged(estimate, done, n_runs)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("runs", total=n_runs, completed=done, left="")

        def on_end(run: Run, outcome: Outcome) -> None:
            estimate.ended(run, outcome.seconds or 0.0)
            left = f"about {in_words(estimate.remaining())} left"
            bar.update(
                task, advance=1, description=f"{run.method.name} on {run.dataset}", left=left
            )

        yield on_end


def _logged(estimate: Estimate, done: int, n_runs: int) -> Callable[[Run, Outcome], None]:
    last = time.monotonic()

    def on_end(run: Run, outcome: Outcome) -> None:
        nonlocal done, last
        done += 1
        estimate.ended(run, outcome.seconds or 0.0)
        if time.monotonic() - last >= 30.0 or done == n_runs:
            last = time.monotonic()
            left = in_words(estimate.remaining())
            logger.info("%d of %d runs, about %s left, last: %s", done, n_runs, left, run)

    return on_end
