"""How kernels are compiled, in one place.

No full fastmath: it assumes that infinities do not occur, and here they mean "forbidden". Kernels
copy arrays by loops and not by slices: whole-array statements compile ten times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from numba import njit

from smdeclust.prebuilt import PrebuiltFirst

compiler: Any = njit  # (its type leaves out two of these options)
FOR_ALL: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function on first use and keep the result on disk, if it did not come compiled.

    What other kernels call is compiled without an entry from Python: numba would write and optimise
    one for each of them, a fifth of all its work.
    """

    def compile_later(function: Callable[..., Any]) -> Any:
        outer = compiler(**FOR_ALL, **options)(function)
        if outer is function:  # numba is switched off
            return function
        with suppress(RuntimeError):  # there is no folder that numba may write to
            outer.enable_caching()
        outer._cache = PrebuiltFirst(function, outer._cache)
        inner = compiler(no_cpython_wrapper=True, **FOR_ALL, **options)(function)
        outer.get_call_template, outer.get_overload = inner.get_call_template, inner.get_overload
        return outer

    return compile_later


# The same, with sums that may be reordered: inner products become vector code.
summing_kernel = partial(kernel, fastmath={"reassoc", "contract", "nsz"})
