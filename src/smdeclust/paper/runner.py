"""Carries out runs on all cores; each ends as a row, whatever happens to it."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from joblib import cpu_count  # type: ignore[import-untyped]

from smdeclust.exceptions import InvalidInputError
from smdeclust.paper.execute import LATE, LIMIT_ASIDE, describe_machine, execute
from smdeclust.paper.plan import Run
from smdeclust.paper.store import Outcome, Store

logger = logging.getLogger(__name__)

# Runs are spread over processes, so each stays on one core; read when the libraries load.
_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)

Listener = Callable[[Run, Outcome], None]


@dataclass
class _Slot:
    """One worker process and what it is doing."""

    process: BaseProcess
    channel: Connection
    run: Run | None = None
    since: float = 0.0

    @classmethod
    def open(cls) -> _Slot:
        # Where there is a server of processes, it loads the libraries once, not every worker.
        served = "forkserver" in multiprocessing.get_all_start_methods()
        context: Any = multiprocessing.get_context("forkserver" if served else "spawn")
        if served:
            context.set_forkserver_preload(["smdeclust.paper.execute", "smdeclust.estimators"])
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs,), daemon=True)
        with one_thread():
            process.start()
        theirs.close()  # so that the death of the process is the end of the pipe
        return cls(process, ours)

    def give(self, run: Run) -> None:
        self.channel.send(run)
        self.run, self.since = run, time.monotonic()

    def take(self) -> Outcome:
        """How the run ended: what its process says, or that it ended with it."""
        assert self.run is not None
        try:
            return self.channel.recv()
        except (EOFError, OSError):
            self.process.join(10.0)
        seconds, limit = time.monotonic() - self.since, self.run.time_limit
        status, reason = "crashed", f"its process ended with code {self.process.exitcode}"
        if self.process.exitcode == LATE and seconds >= (LIMIT_ASIDE if limit is None else limit):
            status, reason = "timeout", f"ended after {seconds:.0f} s, beyond its limit"
        return Outcome(status, reason, seconds=seconds, machine=describe_machine())

    def close(self) -> None:
        self.process.kill()
        self.process.join()
        self.channel.close()


@dataclass(frozen=True)
class Progress:
    """What was done: rows that were there, rows written now, and runs left for another time."""

    before: int
    now: int
    left: int


def run_all(
    runs: Sequence[Run],
    store: Store,
    *,
    jobs: int | None = None,
    budget: float | None = None,
    on_end: Listener = lambda run, outcome: None,
) -> Progress:
    """Carry out the runs that are not in the store yet.

    Parameters
    ----------
    runs
        In the order in which they are started.
    store
        Where each run's row goes as it ends.
    jobs
        Number of processes; by default one per core.
    budget
        Seconds after which no further run is started and running ones are dropped, to be repeated
        by the next call.
    on_end
        Called with each run and its outcome once the row is written.
    """
    if jobs is not None and jobs < 1:
        raise InvalidInputError(f"jobs is {jobs}, expected a whole number from 1 or None.")
    todo = deque(run for run in runs if not store.is_done(run))
    before, now = len(runs) - len(todo), 0
    end = float("inf") if budget is None else time.monotonic() + budget
    slots: list[_Slot] = []
    try:
        slots = [_Slot.open() for _ in range(min(jobs or cpu_count(), len(todo)))]
        while time.monotonic() < end and (todo or any(slot.run for slot in slots)):
            for index, slot in enumerate(slots):
                if slot.run is None and todo:
                    try:
                        slot.give(todo[0])
                        todo.popleft()
                    except OSError:  # it died idle: the run goes to its successor
                        slot.close()
                        slots[index] = _Slot.open()
            busy: dict[Any, int] = {
                slot.channel: index for index, slot in enumerate(slots) if slot.run is not None
            }
            for channel in wait(list(busy), min(max(end - time.monotonic(), 0.0), 60.0)):
                slot = slots[busy[channel]]
                run, outcome, slot.run = slot.run, slot.take(), None
                assert run is not None
                store.add(run, outcome, datetime.now(UTC).isoformat(timespec="seconds"))
                now += 1
                if outcome.status in ("failed", "crashed", "timeout"):
                    logger.warning("%s: %s (%s)", run, outcome.status, outcome.reason)
                on_end(run, outcome)
                if outcome.status in ("crashed", "timeout"):
                    slot.close()
                    slots[busy[channel]] = _Slot.open()
    finally:
        for slot in slots:
            slot.close()
    return Progress(before, now, len(runs) - before - now)


@contextmanager
def one_thread() -> Iterator[None]:
    """Processes started inside use one thread each."""
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def serve(channel: Connection) -> None:
    """Take runs from `channel` and send their outcomes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the parent decides
    threading.Thread(target=_die_with_parent, daemon=True).start()
    while True:
        try:
            channel.send(execute(channel.recv()))
        except (EOFError, OSError):
            return


def _die_with_parent() -> None:
    """A parent that was killed must not leave runs behind."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
