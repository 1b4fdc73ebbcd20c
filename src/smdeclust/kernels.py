"""How kernels are compiled, in one place.

No full fastmath: it assumes that infinities do not occur, and here they mean "forbidden". Kernels
copy arrays by loops and not by slices: whole-array statements compile ten times slower.
"""

from __future__ import annotations

from functools import partial

from numba import njit

kernel = partial(njit, cache=True, nogil=True, error_model="numpy")

# The same, with floating-point sums that may be reordered: inner products become vector code.
summing_kernel = partial(kernel, fastmath={"reassoc", "contract", "nsz"})
