"""Contraction: must-links -> groups (the "common ground" of all methods)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order

from smdeclust.kernels import kernel


@dataclass(frozen=True)
class Grouping:
    """Which group each point is in; linked groups come first, then the others of several points.

    Attributes
    ----------
    of_point
        (N,) group of each point.
    n_groups, n_linked, n_compound
        Groups ``0 .. n_linked - 1`` have a cannot-link, groups ``n_linked .. n_compound - 1`` have
        none but several points, and the rest are single free points in the order of their rows.
    size
        (G,) number of points of each group.
    """

    of_point: np.ndarray
    n_groups: int
    n_linked: int
    n_compound: int
    size: np.ndarray


def contract(n_points: int, must_link: np.ndarray, cannot_link: np.ndarray) -> Grouping:
    """Merge the connected components of the must-link graph into numbered groups, in O(N + m)."""
    component = _components(n_points, must_link)
    n_groups = int(component.max()) + 1
    size = np.bincount(component, minlength=n_groups)

    kind = np.full(n_groups, 2, dtype=np.int8)
    kind[size > 1] = 1
    kind[component[cannot_link.ravel()]] = 0

    first_row = np.empty(n_groups, dtype=np.int64)
    first_row[component[::-1]] = np.arange(n_points - 1, -1, -1)

    order = np.lexsort((first_row, kind))
    number = np.empty(n_groups, dtype=np.int64)
    number[order] = np.arange(n_groups)
    return Grouping(
        of_point=number[component],
        n_groups=n_groups,
        n_linked=int(np.count_nonzero(kind == 0)),
        n_compound=int(np.count_nonzero(kind <= 1)),
        size=size[order],
    )


def must_link_path(n_points: int, must_link: np.ndarray, start: int, end: int) -> list[int]:
    """Return rows from `start` to `end`, each must-linked to the next."""
    graph = _adjacency(n_points, must_link)
    _, predecessor = breadth_first_order(graph, start, directed=False)
    path = [end]
    while path[-1] != start:
        path.append(int(predecessor[path[-1]]))
    return path[::-1]


def _components(n_points: int, must_link: np.ndarray) -> np.ndarray:
    component = np.arange(n_points)
    if len(must_link):
        join_pairs(np.ascontiguousarray(must_link, dtype=np.int64), component)
    return component


@kernel()
def join_pairs(pairs, component):
    """Write the number of each point's component to `component`, which holds 0, 1, 2, ... before.

    Union by the smaller point, with paths halved: nearly linear.
    """
    for i in range(len(pairs)):
        ends = (pairs[i, 0], pairs[i, 1])
        low, high = -1, -1
        for end in ends:
            while component[end] != end:
                component[end] = component[component[end]]
                end = component[end]
            low, high = end, low
        if low > high:
            low, high = high, low
        component[high] = low
    n_found = 0
    for point in range(len(component)):
        # Roots come before the points that follow them.
        if component[point] == point:
            component[point] = n_found
            n_found += 1
        else:
            component[point] = component[component[point]]


def _adjacency(n_points: int, pairs: np.ndarray) -> csr_array:
    # Repeated pairs are added up: a type that cannot wrap around to zero.
    ones = np.ones(len(pairs), dtype=np.float64)
    return coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n_points, n_points)).tocsr()
