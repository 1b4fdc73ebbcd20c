"""The solver's process: the page never freezes, and a change ends work that is no longer needed.

Jobs go in one after the other. Each belongs to an epoch; a new change begins a new epoch, and work
of an earlier one stops at its next look at the clock (after every local search). Work that does
not look in time is ended with its process.
"""

import contextlib
import multiprocessing
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from smdeclust.exceptions import SMDEClustError

# Seconds that work of an earlier epoch may continue before its process is ended.
PATIENCE = 2.0

# Sends its results by the first function. The second ends work that is no longer wanted, and says
# whether the person asked to stop with the best so far.
Handler = Callable[["Job", Callable[[str, Any], None], Callable[[], bool]], None]


@dataclass(frozen=True)
class Job:
    """One thing to do: what kind, with what, and the change (epoch) that it belongs to."""

    number: int
    epoch: int
    kind: str
    payload: Any


class SupersededError(Exception):
    """Raised inside work that is no longer wanted."""


class Worker:
    """One process that does jobs.

    `make_handlers` (importable by name) is called in the process with `data`, which is sent once,
    and gives the handler of each kind of job. `on_message` is called, in a thread of this
    process, with ``(number, epoch, name, content)``.
    """

    def __init__(
        self,
        make_handlers: Callable[[Any], dict[str, Handler]],
        data: Any,
        on_message: Callable[[int, int, str, Any], None],
    ) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._make_handlers, self._data, self._on_message = make_handlers, data, on_message
        self._epoch = self._context.Value("q", 0)
        self._stopped = self._context.Value("q", 0)
        self._lock = threading.Lock()
        self._number = 0
        self._busy: dict[int, Job] = {}
        self._process: Any = None
        self._pipe: Connection | None = None
        self._start()

    def submit(self, kind: str, payload: Any, *, new_epoch: bool = False) -> int:
        """Give a job to the process; with `new_epoch` it replaces all earlier ones."""
        with self._lock:
            if new_epoch:
                self._epoch.value += 1
                if self._busy:
                    timer = threading.Timer(PATIENCE, self._end_stale, [self._epoch.value])
                    timer.daemon = True
                    timer.start()
            if self._process is None or not self._process.is_alive():
                self._start()
            self._number += 1
            job = Job(self._number, self._epoch.value, kind, payload)
            self._busy[job.number] = job
            assert self._pipe is not None
            self._pipe.send(job)
            return job.number

    def stop(self) -> None:
        """Ask all jobs so far to end with the best they have."""
        with self._lock:
            self._stopped.value = self._number

    def close(self) -> None:
        """End the process, whatever it does."""
        with self._lock:
            self._busy.clear()
            self._stop()

    def _start(self) -> None:
        here, there = self._context.Pipe()
        self._process = self._context.Process(
            target=_run,
            args=(there, (self._epoch, self._stopped), self._make_handlers, self._data),
            daemon=True,
        )
        self._process.start()
        there.close()
        self._pipe = here
        threading.Thread(target=self._listen, args=[here], daemon=True).start()

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join(5)
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def _end_stale(self, epoch: int) -> None:
        """End a process that still works for an epoch before this one; continue with the others."""
        with self._lock:
            stale = [job for job in self._busy.values() if job.epoch < epoch]
            if not stale or self._epoch.value != epoch:
                return
            wanted = [job for job in self._busy.values() if job.epoch >= epoch]
            self._stop()
            self._start()
            self._busy = {job.number: job for job in wanted}
            assert self._pipe is not None
            for job in wanted:
                self._pipe.send(job)

    def _listen(self, pipe: Connection) -> None:
        while True:
            try:
                number, epoch, name, content = pipe.recv()
            except (EOFError, OSError):
                break
            if name == "done":
                with self._lock:
                    self._busy.pop(number, None)
            self._on_message(number, epoch, name, content)
        with self._lock:
            if pipe is not self._pipe:
                return  # it was ended on purpose
            lost, self._busy = list(self._busy.values()), {}
            self._process = None
        for job in lost:
            sentence = "The solver stopped unexpectedly (out of memory?). It will be started again."
            self._on_message(job.number, job.epoch, "failed", sentence)


def _run(
    pipe: Connection, signals: Any, make_handlers: Callable[[Any], dict[str, Handler]], data: Any
) -> None:
    """What the process does: jobs in turn until the pipe closes."""
    handlers = make_handlers(data)
    while True:
        try:
            job: Job = pipe.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        with contextlib.suppress(BrokenPipeError):
            _do(job, handlers[job.kind], pipe, *signals)


def _do(job: Job, handler: Handler, pipe: Connection, epoch: Any, stopped: Any) -> None:
    started = time.perf_counter()

    def send(name: str, content: Any) -> None:
        pipe.send((job.number, job.epoch, name, content))

    def look() -> bool:
        if epoch.value != job.epoch:
            raise SupersededError
        return bool(stopped.value >= job.number)

    try:
        look()
        handler(job, send, look)
    except SupersededError:
        pass
    except SMDEClustError as error:
        send("failed", str(error))
    except Exception as error:  # a fault of ours must not end the process
        send("failed", f"{type(error).__name__}: {error}")
    send("done", time.perf_counter() - started)
