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

from smdeclust.exceptions import InvalidInputError
from smdeclust.paper.execute import describe_machine, execute, usable_cores
from smdeclust.paper.plan import Run
from smdeclust.paper.store import Outcome, Store

logger = logging.getLogger(__name__)

# A run's own limit is for `fit`; this one is for loading and compiling before, and judging after.
_ASIDE_LIMIT = 1800.0

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
    deadline: float = float("inf")
    since: float = 0.0

    @classmethod
    def open(cls) -> _Slot:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs,), daemon=True)
        with one_thread():
            process.start()
        theirs.close()  # so that the death of the process is the end of the pipe
        return cls(process, ours)

    def give(self, run: Run) -> None:
        self.run = run
        self.since = time.monotonic()
        self.deadline = self.since + _ASIDE_LIMIT
        self.channel.send(run)

    def enter(self, phase: str) -> None:
        assert self.run is not None
        limit = self.run.time_limit if phase == "started" else _ASIDE_LIMIT
        self.since = time.monotonic()
        self.deadline = float("inf") if limit is None else self.since + limit

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
    """Carry out what the store does not hold yet.

    Parameters
    ----------
    runs
        In the order in which they are started.
    store
        Where each run's row goes as it ends.
    jobs
        Processes; by default one a core.
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
        slots = [_Slot.open() for _ in range(min(jobs or usable_cores(), len(todo)))]
        while time.monotonic() < end and (todo or any(slot.run for slot in slots)):
            for index, slot in enumerate(slots):
                if slot.run is None and todo:
                    try:
                        slot.give(todo[0])
                        todo.popleft()
                    except OSError:  # it died idle: the run goes to its successor
                        slot.close()
                        slots[index] = _Slot.open()
            for index, (run, outcome) in _next_ends(slots, end).items():
                store.add(run, outcome, datetime.now(UTC).isoformat(timespec="seconds"))
                now += 1
                if outcome.status in ("failed", "crashed", "timeout"):
                    logger.warning("%s: %s (%s)", run, outcome.status, outcome.reason)
                on_end(run, outcome)
                if outcome.status in ("crashed", "timeout"):
                    slots[index].close()
                    slots[index] = _Slot.open()
                else:
                    slots[index].run = None
    finally:
        for slot in slots:
            slot.close()
    return Progress(before, now, len(runs) - before - now)


def _next_ends(slots: Sequence[_Slot], end: float) -> dict[int, tuple[Run, Outcome]]:
    """Wait until something happens; return what ended, by slot."""
    busy = {slot.channel: index for index, slot in enumerate(slots) if slot.run is not None}
    until = min(end, *(slots[index].deadline for index in busy.values()))
    patience = max(0.0, min(until - time.monotonic(), 60.0))
    ended: dict[int, tuple[Run, Outcome]] = {}
    ready: list[Any] = wait(list(busy), patience)
    for channel in ready:
        index = busy[channel]
        slot = slots[index]
        assert slot.run is not None
        try:
            what, outcome = channel.recv()
        except (EOFError, OSError):
            slot.process.join(10.0)
            reason = f"its process ended with code {slot.process.exitcode}"
            ended[index] = (slot.run, _without_result(slot, "crashed", reason))
            continue
        if what == "ended":
            ended[index] = (slot.run, outcome)
        else:
            slot.enter(what)
    clock = time.monotonic()
    for index in busy.values():
        slot = slots[index]
        if index not in ended and clock >= slot.deadline and not slot.channel.poll():
            assert slot.run is not None
            reason = f"ended after {clock - slot.since:.0f} s, its limit"
            ended[index] = (slot.run, _without_result(slot, "timeout", reason))
    return ended


def _without_result(slot: _Slot, status: str, reason: str) -> Outcome:
    return Outcome(
        status, reason, seconds=time.monotonic() - slot.since, machine=describe_machine()
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """Processes started inside use one thread each."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def serve(channel: Connection) -> None:
    """Take runs from `channel`; send ``("started", None)``, ``("fitted", None)`` and
    ``("ended", outcome)`` for each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the parent decides
    threading.Thread(target=_die_with_parent, daemon=True).start()
    while True:
        try:
            run: Any = channel.recv()
            outcome = execute(run, on_phase=lambda phase: channel.send((phase, None)))
            channel.send(("ended", outcome))
        except (EOFError, OSError):
            return


def _die_with_parent() -> None:
    """A parent that was killed must not leave runs behind."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
