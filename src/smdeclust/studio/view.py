"""What the page draws: places of the points, rows of the table, portraits of the clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from smdeclust.io import Table
from smdeclust.studio.wishes import Wishes

# Rows of the table that are sent at once, and points that a projection is learned from.
PAGE = 200
SAMPLE = 50_000

# Standard deviations from the mean of all points below which a column sets no cluster apart.
LEAST_APART = 0.1


def chosen_points(table: Table, wishes: Wishes) -> np.ndarray:
    """The columns that count, brought to one scale where that was asked for."""
    at = [table.feature_names.index(name) for name in wishes.columns]
    points = np.ascontiguousarray(table.X[:, at])
    return standardized(points) if wishes.standardize else points


def standardized(points: np.ndarray) -> np.ndarray:
    """Every column with mean 0 and standard deviation 1; constant ones become 0."""
    scale = points.std(axis=0)
    return (points - points.mean(axis=0)) / np.where(scale > 0, scale, 1.0)


def principal_plane(points: np.ndarray) -> np.ndarray:
    """(N, 2) places along the two directions of most variance."""
    centered = points - points.mean(axis=0)
    part = centered[:: max(1, len(points) // SAMPLE)]
    _, vectors = np.linalg.eigh(np.atleast_2d(np.cov(part.T, bias=True)))
    return centered @ _two(vectors[:, ::-1])


def telling_plane(points: np.ndarray, wishes: Wishes) -> np.ndarray:
    """(N, 2) places along the directions that the pairs call telling.

    Those in which the points vary most, compared with how much points vary that belong together:
    eigenvectors of the total covariance against that inside must-link pairs, which is drawn
    towards a multiple of the identity where pairs are few.
    """
    together = [pair.key for pair in wishes.pairs if pair.together]
    if not together:
        return principal_plane(points)
    centered = points - points.mean(axis=0)
    rows = np.array(together)
    gaps = points[rows[:, 0]] - points[rows[:, 1]]
    within = gaps.T @ gaps / (2 * len(gaps))
    total = np.atleast_2d(np.cov(centered[:: max(1, len(points) // SAMPLE)].T, bias=True))
    n_features = points.shape[1]
    weight = n_features / (n_features + len(gaps))
    level = np.trace(total) / n_features
    mixed = (1 - weight) * within + (weight * level + 1e-9 * level) * np.eye(n_features)
    _, vectors = eigh(total, mixed)
    return centered @ _two(vectors[:, ::-1])


def _two(vectors: np.ndarray) -> np.ndarray:
    """The first two columns, a zero one where there is only one; signs fixed."""
    plane = np.zeros((len(vectors), 2))
    plane[:, : min(2, vectors.shape[1])] = vectors[:, :2]
    signs = np.sign(plane[np.abs(plane).argmax(axis=0), np.arange(2)])
    return plane * np.where(signs == 0, 1.0, signs)


def places(table: Table, wishes: Wishes, kind: str, x: str, y: str) -> np.ndarray:
    """(N, 2) places of a kind: ``pca``, ``pairs``, or two ``columns``."""
    if kind == "columns":
        at = [table.feature_names.index(name) for name in (x, y)]
        return table.X[:, at]
    points = chosen_points(table, wishes)
    return telling_plane(points, wishes) if kind == "pairs" else principal_plane(points)


def portraits(table: Table, labels: np.ndarray, n_clusters: int) -> list[dict[str, Any]]:
    """For each cluster its size, and its mean in each column against all points.

    ``profile`` holds, for each column, how many standard deviations of the column the cluster's
    mean lies from the mean of all points; ``apart`` names the columns where that is most.
    """
    X = table.X
    mean, spread = X.mean(axis=0), X.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    sizes = np.bincount(labels, minlength=n_clusters)
    sums = np.zeros((n_clusters, X.shape[1]))
    for j in range(X.shape[1]):
        sums[:, j] = np.bincount(labels, X[:, j], n_clusters)
    means = sums / np.maximum(sizes, 1)[:, None]
    profile = (means - mean) / spread
    out = []
    for k in range(n_clusters):
        order = np.argsort(-np.abs(profile[k]), kind="stable")[:3]
        order = order[np.abs(profile[k, order]) >= LEAST_APART]
        out.append(
            {
                "size": int(sizes[k]),
                "means": means[k].tolist(),
                "profile": profile[k].tolist(),
                "apart": [
                    {"column": table.feature_names[j], "by": float(profile[k, j])} for j in order
                ],
            }
        )
    return out


def table_page(
    table: Table, labels: np.ndarray, sort: str, descending: bool, cluster: int | None, start: int
) -> dict[str, Any]:
    """One page of the table of points: rows, ids, clusters and values."""
    rows = np.arange(len(table.X)) if cluster is None else np.flatnonzero(labels == cluster)
    if sort in table.feature_names:
        keys = table.X[rows, table.feature_names.index(sort)]
    elif sort == "cluster":
        keys = labels[rows]
    elif sort == "id" and table.ids is not None:
        keys = np.array(table.ids)[rows]
    else:
        keys = rows
    order = np.argsort(keys, kind="stable")
    rows = rows[order[::-1] if descending else order]
    chosen = rows[start : start + PAGE]
    return {
        "n_rows": len(rows),
        "start": start,
        "rows": [describe_row(table, labels, int(row)) for row in chosen],
    }


def describe_row(table: Table, labels: np.ndarray | None, row: int) -> dict[str, Any]:
    """Everything about one point."""
    return {
        "row": row,
        "id": str(row) if table.ids is None else table.ids[row],
        "cluster": None if labels is None else int(labels[row]),
        "values": table.X[row].tolist(),
    }


def find_rows(table: Table, text: str, most: int = 20) -> list[int]:
    """Rows whose id is, begins with, or holds the text, in this order."""
    ids = [str(row) for row in range(len(table.X))] if table.ids is None else list(table.ids)
    wanted = text.casefold()
    ranked: list[list[int]] = [[], [], []]
    for row, name in enumerate(ids):
        folded = name.casefold()
        if wanted in folded:
            rank = 0 if folded == wanted else 1 if folded.startswith(wanted) else 2
            ranked[rank].append(row)
            if len(ranked[0]) >= most:
                break
    return [row for rank in ranked for row in rank][:most]
