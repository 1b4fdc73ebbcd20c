"""Beyond one machine's memory and processor: Dask clusters and GPUs.

Only groups with cannot-links are coupled. The free points stay where they are; centers go out,
sums come back, and the exact assignment of the linked groups runs here.
"""

from __future__ import annotations

from typing import Any


def is_dask(X: Any) -> bool:
    """Whether `X` is a Dask collection; imports nothing to find out."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")
