"""Must-links that nothing else implies: the bridges of the must-link graph, and what they hold."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Bridges:
    """Must-links whose removal splits their group.

    Attributes
    ----------
    links
        Positions of the bridges among the must-links.
    rows
        Linked rows in the order of a depth-first search.
    start, end
        ``rows[start[b]:end[b]]`` are the rows on one side of bridge b.
    """

    links: np.ndarray
    rows: np.ndarray
    start: np.ndarray
    end: np.ndarray


def find_bridges(must_link: np.ndarray) -> Bridges:
    """Find the must-links that the others do not imply.

    Repeated must-links and those on cycles are implied by the rest. One depth-first search without
    recursion (Tarjan's low points), O(m); the rows below a bridge are a piece of its order.
    """
    neighbors: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for link, (i, j) in enumerate(must_link.tolist()):
        if i != j:
            neighbors[i].append((j, link))
            neighbors[j].append((i, link))
    rows: list[int] = []
    place: dict[int, int] = {}
    low: dict[int, int] = {}
    found: list[tuple[int, int, int]] = []

    def enter(row: int) -> None:
        place[row] = low[row] = len(rows)
        rows.append(row)

    for root in list(neighbors):
        if root in place:
            continue
        enter(root)
        stack = [(root, -1, 0)]
        while stack:
            row, entered_by, turn = stack.pop()
            if turn < len(neighbors[row]):
                stack.append((row, entered_by, turn + 1))
                other, link = neighbors[row][turn]
                if link == entered_by:
                    continue
                if other in place:
                    low[row] = min(low[row], place[other])
                else:
                    enter(other)
                    stack.append((other, link, 0))
            elif stack:
                above = stack[-1][0]
                low[above] = min(low[above], low[row])
                if low[row] > place[above]:
                    found.append((entered_by, place[row], len(rows)))
    table = np.array(sorted(found), dtype=np.int64).reshape(-1, 3)
    return Bridges(table[:, 0], np.array(rows, dtype=np.int64), table[:, 1], table[:, 2])
