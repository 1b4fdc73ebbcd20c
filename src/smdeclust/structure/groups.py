"""Groups: must-links contracted, which rows are coupled, and the must-links that hold a group."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smdeclust.kernels import kernel
from smdeclust.structure.graph import distinct

# Pairs by the rows that they join: the other row, and the number of the pair.
Neighbors = dict[int, list[tuple[int, int]]]


@dataclass(frozen=True)
class Grouping:
    """Which group each point is in; linked groups come first, then the others of several points."""

    of_point: np.ndarray  # (N,) group of each point
    # Groups ``0 .. n_linked - 1`` have a cannot-link, groups ``n_linked .. n_compound - 1`` have
    # none but several points, and the rest are single free points in the order of their rows.
    n_groups: int
    n_linked: int
    n_compound: int
    size: np.ndarray  # (G,) number of points of each group


def contract(n_points: int, must_link: np.ndarray, cannot_link: np.ndarray) -> Grouping:
    """Merge the connected components of the must-link graph into numbered groups, in O(N + m)."""
    component = np.arange(n_points)
    if len(must_link):
        join_pairs(np.ascontiguousarray(must_link, dtype=np.int64), component)
    n_groups = int(component.max()) + 1
    size = np.bincount(component, minlength=n_groups)

    kind = np.full(n_groups, 2, dtype=np.int8)
    kind[size > 1] = 1
    kind[component[cannot_link.ravel()]] = 0

    order = np.argsort(kind, kind="stable")  # (components are numbered by their first rows)
    number = np.empty(n_groups, dtype=np.int64)
    number[order] = np.arange(n_groups)
    n_linked, n_several, _ = np.bincount(kind, minlength=3).tolist()
    return Grouping(number[component], n_groups, n_linked, n_linked + n_several, size[order])


def path_between(neighbors: Neighbors, start: int, end: int) -> tuple[list[int], list[int]]:
    """The rows on a shortest path, and the numbers of the pairs between them."""
    came, rows, numbers = came_from(neighbors, start, end), [end], []
    while rows[-1] != start:
        row, number = came[rows[-1]]
        rows.append(row)
        numbers.append(number)
    return rows[::-1], numbers


def neighbors_of(pairs: np.ndarray, numbers: np.ndarray | None = None) -> Neighbors:
    """Pairs by the rows that they join, those of a row with itself left out."""
    neighbors: Neighbors = defaultdict(list)
    names = range(len(pairs)) if numbers is None else numbers.tolist()
    for number, (i, j) in zip(names, pairs.tolist(), strict=True):
        if i != j:
            neighbors[i].append((j, number))
            neighbors[j].append((i, number))
    return neighbors


def came_from(neighbors: Neighbors, start: int, end: int = -1) -> dict[int, tuple[int, int]]:
    """Breadth first from `start`: for each row met, the row before and the pair between."""
    came = {start: (start, -1)}
    queue = [start]
    for row in queue:  # grows while it is read
        if row == end:
            break
        for other, number in neighbors[row]:
            if other not in came:
                came[other] = (row, number)
                queue.append(other)
    return came


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


@dataclass(frozen=True)
class Coupling:
    """The rows of groups that are linked or of several points; every other row is free.

    Groups ``0 .. n_linked - 1`` have a cannot-link, groups ``n_linked .. n_compound - 1`` have none
    but several points. The other groups are single free rows, numbered on in the order of rows.
    """

    n_points: int  # N
    # (m,) those rows, sorted, and the group of each
    rows: np.ndarray
    groups: np.ndarray
    # number of linked groups, and of groups that are linked or of several points
    n_linked: int
    n_compound: int

    @classmethod
    def of_pairs(cls, n_points: int, together: np.ndarray, apart: np.ndarray) -> "Coupling":
        """Contract the rows named in pairs; the cost does not depend on N."""
        named = distinct(np.concatenate([together.ravel(), apart.ravel()]))
        if len(named) == 0:
            return cls(n_points, named, named, 0, 0)
        few = contract(len(named), np.searchsorted(named, together), np.searchsorted(named, apart))
        # Rows in pairs with themselves alone are free.
        kept = few.of_point < few.n_compound
        return cls(n_points, named[kept], few.of_point[kept], few.n_linked, few.n_compound)

    @cached_property
    def n_groups(self) -> int:
        """G."""
        return self.n_compound + self.n_points - len(self.rows)

    def groups_of(self, pairs: np.ndarray) -> np.ndarray:
        """The groups of rows that are all coupled."""
        return self.groups[np.searchsorted(self.rows, pairs)]

    def rows_of(self, group: int) -> list[int]:
        """The rows of a coupled group."""
        return self.rows[self.groups == group].tolist()  # type: ignore[no-any-return]

    def is_free(self) -> np.ndarray:
        """(N,) which rows are groups of their own without a cannot-link."""
        free = np.ones(self.n_points, dtype=np.bool_)
        free[self.rows] = False
        return free

    def of_point(self) -> np.ndarray:
        """(N,) group of each row."""
        groups = np.empty(self.n_points, dtype=np.int64)
        groups[self.is_free()] = np.arange(self.n_compound, self.n_groups)
        groups[self.rows] = self.groups
        return groups

    def weights(self, of_rows: np.ndarray | None) -> np.ndarray:
        """(n_compound,) weights of the coupled groups, from those of all rows (``None``: ones)."""
        share = None if of_rows is None else of_rows[self.rows]
        return np.bincount(self.groups, share, self.n_compound).astype(np.float64)

    def all_weights(self, of_rows: np.ndarray | None) -> np.ndarray:
        """(G,) weights of all groups."""
        lone = np.ones(self.n_groups - self.n_compound)
        if of_rows is not None:
            lone = of_rows[self.is_free()]
        return np.concatenate([self.weights(of_rows), lone])


@dataclass(frozen=True)
class Bridges:
    """Must-links whose removal splits their group."""

    links: np.ndarray  # positions of the bridges among the must-links
    rows: np.ndarray  # linked rows in the order of a depth-first search
    # ``rows[start[b]:end[b]]`` are the rows on one side of bridge b
    start: np.ndarray
    end: np.ndarray


def find_bridges(must_link: np.ndarray) -> Bridges:
    """Find the must-links that the others do not imply.

    Repeated must-links and those on cycles are implied by the rest. One depth-first search without
    recursion (Tarjan's low points), O(m); the rows below a bridge are a piece of its order.
    """
    neighbors = neighbors_of(must_link)
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
