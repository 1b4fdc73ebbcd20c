"""How kernels are compiled, in one place.

No full fastmath: it assumes that infinities do not occur, and here they mean "forbidden". Kernels
copy arrays by loops and not by slices: whole-array statements compile ten times slower.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numba

from smdeclust.prebuilt import Kept

logger = logging.getLogger(__name__)

FOR_ALL: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function on first use and keep the result on disk, if it did not come compiled.

    What saves time here uses parts of numba that it may change. Where they are not as expected,
    kernels are compiled as numba does it by itself.
    """

    def compile_later(function: Callable[..., Any]) -> Any:
        try:
            return _tuned(function, options)
        except Exception as error:
            logger.debug("numba %s is another one (%s): plain kernels", numba.__version__, error)
            return _plain(function, options)

    return compile_later


def _plain(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    compiled = numba.njit(**FOR_ALL, **options)(function)
    with suppress(RuntimeError, AttributeError):  # no folder that numba may write to, or it is off
        compiled.enable_caching()
    return compiled


def _tuned(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The same, with a cache that knows all sources and what came with the package.

    What other kernels call is compiled without an entry from Python: numba would write and optimize
    one for each of them, a fifth of all its work.
    """
    compiler: Any = numba.njit  # (its type leaves out two of these options)
    less: dict[str, Any] = {**FOR_ALL, "no_cfunc_wrapper": True, **options}
    outer = compiler(**less)(function)
    if outer is function:  # numba is switched off
        return function
    with suppress(RuntimeError):
        outer.enable_caching()
    inner = compiler(no_cpython_wrapper=True, **less)(function)
    outer.get_call_template, outer.get_overload = inner.get_call_template, inner.get_overload
    outer._cache = Kept(function, outer._cache)
    return outer


# The same, with sums that may be reordered: inner products become vector code.
summing_kernel = partial(kernel, fastmath={"reassoc", "contract", "nsz"})
