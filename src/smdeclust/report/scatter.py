"""The clustering as a drawing within the page: points with their names, pairs as lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.report.content import Content

MAX_POINTS = 2000
MAX_PAIRS = 1500
N_COLORS = 8
_WIDTH, _EDGE = 720.0, 24.0
# 7 is prime to the 8 colors: together they tell 56 clusters apart. Circle, square, triangles,
# diamond, plus, cross; all about as large.
MARKERS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "M-3.5 -3.5h7v7h-7z",
    "M0 -4.6L4.4 3.4L-4.4 3.4z",
    "M0 -5L5 0L0 5L-5 0z",
    "M0 4.6L4.4 -3.4L-4.4 -3.4z",
    "M-1.5 -4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "M-4.2 -2.2L-2.2 -4.2L0 -2L2.2 -4.2L4.2 -2.2L2 0L4.2 2.2L2.2 4.2L0 2L-2.2 4.2L-4.2 2.2L-2 0z",
)


def cluster_marks(cluster: int) -> dict[str, int]:
    """Number of the color and of the marker of a cluster."""
    return {"color": cluster % N_COLORS, "marker": cluster % len(MARKERS)}


def drawings(content: Content) -> list[dict[str, Any]]:
    """The clustering as a scatter plot, and the one without pairs where that is known.

    Places are in the units of the view box, as wide as ``width`` and as high as ``height``.
    """
    how = " on the plane in which the points spread most (two principal components)"
    shown = [
        (
            content.labels,
            f"Scatter plot of the {content.n_clusters} clusters with their pairs",
            f"The clusters{how if content.X.shape[1] > 2 else ''}. Must-links are solid, "
            "cannot-links dashed lines. Point at a sign to see its name.",
        )
    ]
    if content.free_labels is not None:
        shown.append(
            (
                content.free_labels,
                "Scatter plot of the clusters without constraints, broken pairs marked",
                "For comparison, the clusters that the same method finds without any pair. Pairs "
                "that it breaks are red.",
            )
        )
    at, height = _places(content)
    rows, drawn = _chosen(content)
    left_out = [(len(rows), len(content.X), "points")]
    left_out.append((sum(map(len, drawn.values())), len(_ends(content)), "pairs"))
    more = "".join(f" {n:,} of {of:,} {what} are drawn." for n, of, what in left_out if n < of)
    return [
        {
            "width": int(_WIDTH),
            "height": height,
            "points": _points(content, at, rows, labels),
            "lines": [line for kind in drawn for line in _lines(content, at, labels, kind, drawn)],
            "centers": [
                {"x": x, "y": y, "number": cluster}
                for cluster in np.unique(labels).tolist()
                for x, y in np.round(at[labels == cluster].mean(axis=0), 1)[None].tolist()
            ],
            "description": description,
            "caption": caption + more,
        }
        for labels, description, caption in shown
    ]


def _ends(content: Content) -> np.ndarray:
    return np.concatenate([content.must_link, content.cannot_link])


def _places(content: Content) -> tuple[np.ndarray, int]:
    """Where the points are in the view box, and how high it is."""
    from smdeclust.plotting.projection import project

    plane = project(content.X, content.X[:1], feature_names=tuple(content.feature_names)).points
    low, size = plane.min(axis=0), np.ptp(plane, axis=0)
    size = np.where(size > 0, size, 1.0)
    # One scale for both directions, unless that makes a thin strip.
    ratio = float(np.clip(size[1] / size[0], 0.35, 0.75))
    inner = np.array([_WIDTH - 2 * _EDGE, (_WIDTH - 2 * _EDGE) * ratio])
    scale = inner / size
    if 0.35 <= size[1] / size[0] <= 0.75:
        scale = np.full(2, scale.min())
    height = round(float(inner[1]) + 2 * _EDGE)
    moved = (plane - low - size / 2) * scale * np.array([1.0, -1.0])
    return np.round(moved + np.array([_WIDTH / 2, height / 2]), 1), height


def _chosen(content: Content) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The points that are drawn, and the positions of the pairs of each kind."""
    from smdeclust.plotting.clusters import thin_pairs, thin_points

    rng, labels, drawn = np.random.default_rng(0), content.labels, {}
    for kind in ("must_link", "cannot_link"):
        first, second = labels[getattr(content, kind)].T
        broken = (first == second) != (kind == "must_link")
        drawn[kind] = thin_pairs(broken, MAX_PAIRS, rng)
    linked = np.unique(np.concatenate([getattr(content, kind)[drawn[kind]] for kind in drawn]))
    return thin_points(labels, linked, MAX_POINTS, rng), drawn


def _points(
    content: Content, at: np.ndarray, rows: np.ndarray, labels: np.ndarray
) -> list[dict[str, Any]]:
    linked = np.zeros(len(content.X), dtype=bool)
    linked[_ends(content).ravel()] = True
    return [
        {
            "x": x,
            "y": y,
            "paired": bool(linked[row]),
            "title": f"{content.name(row)}: cluster {labels[row]}",
            **cluster_marks(int(labels[row])),
        }
        for row, (x, y) in zip(rows.tolist(), at[rows].tolist(), strict=True)
    ]


def _lines(
    content: Content, at: np.ndarray, labels: np.ndarray, kind: str, drawn: dict[str, np.ndarray]
) -> list[dict[str, Any]]:
    pairs = getattr(content, kind)
    found = []
    for position in drawn[kind].tolist():
        i, j = pairs[position].tolist()
        (x1, y1), (x2, y2) = at[i].tolist(), at[j].tolist()
        broken = (labels[i] == labels[j]) != (kind == "must_link")
        word = kind.replace("_", "-")
        found.append(
            {
                "x1": x1, "y1": y1, "x2": x2, "y2": y2,
                "kind": f"{word}{' broken' if broken else ''}",
                "title": f"{word} {content.name(i)} – {content.name(j)}"
                f"{', broken here' if broken else ''} ({content.where(kind, position)})",
            }
        )  # fmt: skip
    return found
