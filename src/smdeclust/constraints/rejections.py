"""Pairs that no clustering can satisfy, each kind rejected with its explanation."""

from __future__ import annotations

import numpy as np

from smdeclust.constraints.feasibility import Verdict, find_coloring
from smdeclust.constraints.groups import must_link_path
from smdeclust.exceptions import InfeasibleConstraintsError


def reject_self_cannot_links(apart: np.ndarray) -> None:
    """Raise an error if a cannot-link pairs a row with itself."""
    loops = np.flatnonzero(apart[:, 0] == apart[:, 1])
    if len(loops):
        where, row = int(loops[0]), int(apart[loops[0], 0])
        raise InfeasibleConstraintsError(
            f"cannot_link: pair {where} says that row {row} must be apart from itself.",
            reason="self_cannot_link",
            details={"pair": (row, row), "position": where},
        )


def reject_contradictions(
    edges: np.ndarray, together: np.ndarray, apart: np.ndarray, n_points: int
) -> None:
    inside = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(inside) == 0:
        return
    where = int(inside[0])
    i, j = (int(v) for v in apart[where])
    path = must_link_path(n_points, together, i, j)
    shown = path if len(path) <= 12 else [*path[:6], "...", *path[-5:]]
    raise InfeasibleConstraintsError(
        f"cannot_link: pair {where} keeps rows {i} and {j} apart, but must-links join them: "
        f"{' - '.join(map(str, shown))}. Remove that pair or one of these must-links.",
        reason="must_link_path",
        details={"pair": (i, j), "position": where, "path": path},
    )


def reject_too_few_groups(n_filling: int, n_groups: int, n_points: int, n_clusters: int) -> None:
    if n_filling >= n_clusters:
        return
    why = "" if n_filling == n_groups else " with positive weight"
    raise InfeasibleConstraintsError(
        f"n_clusters={n_clusters}, but the must-links leave only {n_filling} groups{why} of the "
        f"{n_points} points, and every cluster needs one. Use at most {n_filling} clusters.",
        reason="too_few_groups",
        details={"n_groups": n_filling, "n_clusters": n_clusters},
    )


def reject_uncolorable(
    indptr: np.ndarray,
    indices: np.ndarray,
    n_clusters: int,
    groups: np.ndarray,
    rows_of_points: np.ndarray,
) -> None:
    """Raise an error if the cannot-links need more than K clusters, as far as that is known.

    `groups` are those of the rows `rows_of_points`.
    """
    result = find_coloring(indptr, indices, n_clusters)
    if result.verdict is not Verdict.INFEASIBLE:
        return
    assert result.witness is not None
    first = [int(np.flatnonzero(groups == g)[0]) for g in result.witness.tolist()]
    rows = rows_of_points[first].tolist()
    shown = ", ".join(map(str, rows[:12])) + (", ..." if len(rows) > 12 else "")
    if result.is_clique:
        raise InfeasibleConstraintsError(
            f"{len(rows)} groups of points are all cannot-linked to each other, which needs at "
            f"least {len(rows)} clusters, not n_clusters={n_clusters}. One row of each: {shown}.",
            reason="clique",
            details={"rows": rows, "n_clusters": n_clusters},
        )
    raise InfeasibleConstraintsError(
        f"The cannot-links among {len(rows)} groups of points cannot be kept with "
        f"n_clusters={n_clusters}: every way to place them was tried. One row of each: {shown}.",
        reason="no_coloring",
        details={"rows": rows, "n_clusters": n_clusters},
    )
