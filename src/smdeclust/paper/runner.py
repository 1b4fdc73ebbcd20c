"""Carries out runs on all cores, each by `execute`, and writes a row for each, however it ends."""

import faulthandler
import json
import logging
import multiprocessing
import os
import platform
import re
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Self

import numpy as np
from joblib import cpu_count  # type: ignore[import-untyped]
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError, NoFeasibleSolutionError
from smdeclust.extras import versions
from smdeclust.paper.data import Instance
from smdeclust.paper.methods import resolve
from smdeclust.paper.plan import Run
from smdeclust.paper.store import Outcome, Store
from smdeclust.points.centers import cost_of
from smdeclust.structure.pairs import count_broken, count_distinct

logger = logging.getLogger(__name__)

# Runs are spread over processes, so each stays on one core; read when the libraries load.
_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA")
_ONE_THREAD = ("VECLIB_MAXIMUM_THREADS", *(f"{name}_NUM_THREADS" for name in _LIBRARIES))

# A run's own limit is for `fit`; this one is for loading and compiling before, and judging after.
LIMIT_ASIDE = 1800.0
LATE = 1  # the code of a process that `faulthandler` ends

_warm: set[str] = set()  # methods whose kernels are compiled in this process

Listener = Callable[[Run, Outcome], None]


@dataclass
class _Slot:
    """One worker process and what it is doing."""

    process: BaseProcess
    channel: Connection
    run: Run | None = None
    since: float = 0.0

    @classmethod
    def open(cls) -> Self:
        # Where there is a server of processes, it loads the libraries once, not every worker.
        served = "forkserver" in multiprocessing.get_all_start_methods()
        context: Any = multiprocessing.get_context("forkserver" if served else "spawn")
        if served:
            context.set_forkserver_preload(["smdeclust.paper.runner", "smdeclust.estimators"])
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
    """The numbers of runs that were stored before, that ended now, and that are left."""

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
    """Execute all runs that are not stored yet, in several processes.

    Parameters
    ----------
    runs
        The runs, in the order in which they start.
    store
        Where to store each result, opened for writing.
    jobs
        The number of processes. By default, one per core.
    budget
        Stop after this many seconds. Unfinished runs are dropped, and the next call repeats them.
    on_end
        A function that is called with each run and its outcome, after it was stored.
    """
    if jobs is not None and jobs < 1:
        raise InvalidInputError(f"jobs is {jobs}, expected a positive whole number or None.")
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


def execute(run: Run) -> Outcome:
    """Carry out a run in this process; a failure is an outcome, not an exception.

    The process ends, with the code `LATE`, where ``fit`` takes longer than the limit of the run.
    """
    _end_after(LIMIT_ASIDE)
    try:
        instance: Instance = resolve(run.loader)(run.dataset, run.configuration)
        factory = resolve(run.method.factory)
        model = factory(instance.n_clusters, run.seed, **run.method.settings)
        _warm_up(run, factory)
    except Exception as error:
        return Outcome("failed", _sentence(error), machine=describe_machine())
    _end_after(run.time_limit)
    started, cpu = time.perf_counter(), time.process_time()
    status, reason = "ok", ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(instance.X, must_link=instance.must_link, cannot_link=instance.cannot_link)
    except Exception as error:
        status = "infeasible" if isinstance(error, NoFeasibleSolutionError) else "failed"
        reason = _sentence(error)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
    _end_after(LIMIT_ASIDE)
    judged: dict[str, Any] = {}
    if status == "ok":
        try:
            judged = _judge(run, instance, np.asarray(model.labels_))
            if hasattr(model, "certificate_"):  # what an exact method says beside its labels
                improved = bool(model.certificate_.improved)
                proof = {"lower_bound": float(model.lower_bound_), "gap": float(model.gap_)}
                judged["details"] |= {**proof, "improved": improved}
        except Exception as error:
            status, reason = "failed", f"the labels cannot be judged: {_sentence(error)}"
    _end_after(None)
    return Outcome(
        status,
        reason,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        local_searches=_count(model, "n_local_searches_"),
        local_iterations=_count(model, "n_local_iterations_"),
        iterations=_count(model, "n_iter_"),
        stop_reason=getattr(model, "stop_reason_", getattr(model, "status_", None)),
        parameters=_parameters(model),
        machine=describe_machine(),
        **judged,
    )


def _end_after(seconds: float | None) -> None:
    """End this process after this many seconds, whatever it is doing then; None: do not."""
    faulthandler.cancel_dump_traceback_later()
    if seconds is not None:
        faulthandler.dump_traceback_later(max(seconds, 1e-3), exit=True, file=_nowhere())


@cache
def _nowhere() -> Any:
    return open(os.devnull, "wb")


def _judge(run: Run, instance: Instance, labels: NDArray[np.int64]) -> dict[str, Any]:
    """All that follows from the labels, the same way for every method."""
    if labels.shape != (len(instance.X),):
        raise ValueError(f"labels_ has shape {labels.shape} for {len(instance.X)} points")
    must, cannot = count_broken(instance.must_link, instance.cannot_link, labels)
    counted = {}
    for configuration in run.count:
        other: Instance = resolve(run.loader)(run.dataset, configuration)
        both = other.must_link, other.cannot_link
        counted[configuration] = [*count_broken(*both, labels), *map(count_distinct, both)]
    agreement = None
    if instance.y is not None:
        from sklearn.metrics import adjusted_rand_score

        agreement = float(adjusted_rand_score(instance.y, labels))
    return {
        "objective": cost_of(instance.X, labels),
        "broken_must_links": must,
        "broken_cannot_links": cannot,
        "adjusted_rand": agreement,
        "details": {"broken": counted} if counted else {},
    }


def _warm_up(run: Run, factory: Callable[..., Any]) -> None:
    """Fit something tiny first, so that compiling is not timed."""
    mark = run.method.factory + json.dumps(dict(run.method.settings), sort_keys=True)
    if mark in _warm:
        return
    # Overlapping clusters and pairs by class: many cannot-links break, so all kernels are called.
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + classes[:, None]
    pairs = rng.choice(60, size=(45, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    together = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    must, cannot = pairs[together][:5], pairs[~together]
    with suppress(NoFeasibleSolutionError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        factory(3, 0, **run.method.settings).fit(X, must_link=must, cannot_link=cannot)
    _warm.add(mark)


def _parameters(model: Any) -> dict[str, Any]:
    try:
        return json.loads(json.dumps(model.get_params(), default=repr))
    except Exception:  # other estimators may not have them
        return {}


def _count(model: Any, name: str) -> int | None:
    value = getattr(model, name, None)
    return None if value is None else int(value)


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:2000]


@cache
def describe_machine() -> dict[str, Any]:
    """Processor, cores, memory, system and versions; no name of the machine or of its user."""
    return {
        "processor": _processor(),
        "cores": cpu_count(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions(),
    }


def _processor() -> str:
    with suppress(OSError):
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
        if found := re.search(r"^model name\s*:(.*)", text, re.MULTILINE):
            return found[1].strip()
    return platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    with suppress(AttributeError, ValueError, OSError):
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    return None
