"""``smdeclust warm-up``: compile everything now, so that no later run waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from smdeclust.cli import options, screen


def warm_up(as_json: options.AsJson = False) -> None:
    """Compile all parts of the solver now, and say how long each took.

    Compiled code is kept on the disk, so this is needed once for an installation. Without it, each
    part is compiled when it is first needed.

    Example:
      smdeclust warm-up
    """
    seconds = {}
    with screen.progress("Compiling") as update:
        for name, run in _parts().items():
            update(name)
            started = time.perf_counter()
            run()
            seconds[name] = time.perf_counter() - started
    total = sum(seconds.values())
    if as_json:
        screen.print_json({"seconds": seconds, "total": total})
        return
    rows = [[name, screen.seconds(value)] for name, value in seconds.items()]
    screen.print_table([*rows, ["all", screen.seconds(total)]], right=(1,))


def _parts() -> dict[str, Callable[[], Any]]:
    """Small runs that between them need all kernels."""
    from scipy.sparse import csr_array

    from smdeclust import SMDEClust

    X = np.random.default_rng(0).normal(size=(60, 3))
    ring = [(i, (i + 1) % 8) for i in range(8)]
    dense = [(i, j) for i in range(24) for j in range(i) if i % 3 != j % 3]

    def fit(points: Any = X, k: int = 3, storage: str | None = None, **known: Any) -> Any:
        given = {name: known.pop(name) for name in ("size_max", "metric") if name in known}
        model = SMDEClust(k, random_state=0, max_time=30, **given)
        model._storage = storage
        return model.fit(points, **known)

    return {
        "points without pairs": fit,
        "pairs": lambda: fit(must_link=[(0, 1)], cannot_link=[(2, 3), (3, 4)]),
        "cycles of pairs": lambda: fit(cannot_link=ring),
        "dense pairs": lambda: fit(cannot_link=dense),
        "soft pairs": lambda: fit(soft_must_link=[(0, 1)], soft_cannot_link=[(2, 3), (3, 4)]),
        "many clusters": lambda: fit(k=12),
        "sizes": lambda: fit(size_max=25),
        "sizes and pairs": lambda: fit(size_max=25, cannot_link=[(2, 3)]),
        "a learned distance": lambda: fit(metric="learned", must_link=[(0, 1)]),
        "large data": lambda: fit(storage="blocks", cannot_link=[(2, 3)]),
        "sparse data": lambda: fit(csr_array(X), storage="sparse", cannot_link=[(2, 3)]),
    }
