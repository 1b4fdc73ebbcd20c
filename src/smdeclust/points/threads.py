"""How many threads there are, and BLAS kept to one of them inside each."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


def available_threads() -> int:
    """Cores this process may use, fewer where OMP_NUM_THREADS says so."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores or 1, int(limit)) if limit.isdigit() and int(limit) else cores or 1


def map_on_threads(
    function: Callable[[_Part], _Result], parts: Iterable[_Part], n_threads: int
) -> list[_Result]:
    """What the function makes of every part, in order; on this thread alone where there is one."""
    if n_threads == 1:
        return [function(part) for part in parts]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, parts))


@cache
def thread_pools() -> ThreadpoolController:
    """The thread pools of libraries, found once."""
    return ThreadpoolController()
