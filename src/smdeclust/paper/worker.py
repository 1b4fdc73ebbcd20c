"""The process that carries out runs, one after the other, and can be killed at any time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any

# Runs are spread over processes, so each stays on one core; read when the libraries load.
_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
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
    from smdeclust.paper.execute import execute

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
