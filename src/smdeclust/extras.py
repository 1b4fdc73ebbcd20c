"""Optional parts: if a library is not installed, the error names the extra."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from typing import Any

from smdeclust.exceptions import SMDEClustError

# library -> the extra of this package that brings it
EXTRA_OF = {
    "typer": "cli",
    "rich": "cli",
    "matplotlib": "plot",
    "jinja2": "report",
    "starlette": "studio",
    "uvicorn": "studio",
    "dask": "dask",
    "distributed": "dask",
    "torch": "torch",
    "pyarrow": "parquet",
    "pandas": "cli",
    "charset_normalizer": "cli",
    "python_calamine": "excel",
    "openpyxl": "excel",
    "pooch": "data",
}


def versions() -> dict[str, str]:
    """Versions of the packages that decide about results."""
    found = {}
    for package in ("smdeclust", "numpy", "scipy", "scikit-learn", "numba"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:  # run from a folder that was never installed
            found[package] = "unknown"
    return found


@contextmanager
def frugal() -> Iterator[None]:
    """Around work with large tables: what is free afterwards goes back to the system.

    The pool that text of tables comes from otherwise keeps as much as it gives, and so does malloc.
    """
    arrow: Any = sys.modules.get("pyarrow")
    usual = arrow and arrow.default_memory_pool()
    switch = usual is not None and usual.backend_name != "system"  # not by one around this, too
    if switch:
        arrow.set_memory_pool(arrow.system_memory_pool())
    try:
        yield
    finally:
        if switch:
            arrow.set_memory_pool(usual)
        if sys.platform == "linux":
            with suppress(AttributeError):  # another C library
                ctypes.CDLL(None).malloc_trim(0)


class MissingExtraError(SMDEClustError, ImportError):
    """An optional library is not installed."""


@contextmanager
def optional(purpose: str) -> Iterator[None]:
    """Around imports: one that fails says which library `purpose` needs, and how to get it."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").split(".")[0]
        if library not in EXTRA_OF:
            raise
        raise MissingExtraError(
            f"{purpose} needs {library}, which is not installed: "
            f'pip install "smdeclust[{EXTRA_OF[library]}]".'
        ) from None
