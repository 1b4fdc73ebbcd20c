"""How many threads there are, and BLAS kept to one of them inside each."""

from __future__ import annotations

import os
from functools import cache

from threadpoolctl import ThreadpoolController


def available_threads() -> int:
    """Cores this process may use, fewer where OMP_NUM_THREADS says so."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores or 1, int(limit)) if limit.isdigit() and int(limit) else cores or 1


@cache
def thread_pools() -> ThreadpoolController:
    """The thread pools of libraries, found once."""
    return ThreadpoolController()
