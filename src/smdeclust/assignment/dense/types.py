"""Array types and the result of the core solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]
#: indptr, indices, prices and kinds as `PairGraph.arrays` gives them.
Graph = tuple[AnyArray, AnyArray, AnyArray, AnyArray]

#: Relative tolerance (of the magnitude of the costs) within which two costs count as equal.
RELATIVE_TOLERANCE = 1e-12


@dataclass(frozen=True)
class CoreResult:
    """What `solve_core` found and what it proved.

    Attributes
    ----------
    labels
        One label per node, or None where there is none (proven) or none was found (not proven).
    cost
        The cost of `labels`; infinity without labels.
    bound
        A true lower bound on the cost of every feasible labeling; equals `cost` when proven.
    proven
        Whether `labels` is proven optimal, or, without labels, proven not to exist.
    nodes
        Nodes of the search tree; 0 where the bound alone closed the gap.
    pivots
        Simplex pivots of all linear programs.
    """

    labels: IntArray | None
    cost: float
    bound: float
    proven: bool
    nodes: int
    pivots: int = 0
