"""The clustering as a drawing within the page: points with their names, pairs as lines."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Drawing:
    """A scatter plot in the units of its view box."""

    width: int
    height: int
    points: list[dict[str, Any]]
    lines: list[dict[str, Any]]
    centers: list[dict[str, Any]]
    description: str
    caption: str


def cluster_marks(cluster: int) -> dict[str, int]:
    """Number of the color and of the marker of a cluster."""
    return {"color": cluster % N_COLORS, "marker": cluster % len(MARKERS)}


def drawings(content: Content) -> list[Drawing]:
    """The clustering, and the one without pairs where that is known."""
    place = _places(content)
    how = " on the plane in which the points spread most (two principal components)"
    found = [
        _draw(
            content,
            place,
            content.labels,
            f"Scatter plot of the {content.n_clusters} clusters with their pairs",
            f"The clusters{how if content.X.shape[1] > 2 else ''}. Must-links are solid, "
            "cannot-links dashed lines. Point at a sign to see its name.",
        )
    ]
    if content.free_labels is not None:
        found.append(
            _draw(
                content,
                place,
                content.free_labels,
                "Scatter plot of the clusters without constraints, broken pairs marked",
                "For comparison, the clusters that the same method finds without any pair. Pairs "
                "that it breaks are red.",
            )
        )
    return found


@dataclass(frozen=True)
class _Places:
    """Which points and pairs are drawn, and where the points are in the view box."""

    at: np.ndarray
    height: int
    rows: np.ndarray
    must: np.ndarray
    cannot: np.ndarray


def _places(content: Content) -> _Places:
    from smdeclust.plotting.clusters import thin_pairs, thin_points
    from smdeclust.plotting.projection import project

    rng = np.random.default_rng(0)
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

    def to_view(points: np.ndarray) -> np.ndarray:
        middle = low + size / 2
        moved = (points - middle) * scale * np.array([1.0, -1.0])
        return np.round(moved + np.array([_WIDTH / 2, height / 2]), 1)

    labels = content.labels
    ends = {kind: labels[getattr(content, kind)] for kind in ("must_link", "cannot_link")}
    must = thin_pairs(ends["must_link"][:, 0] != ends["must_link"][:, 1], MAX_PAIRS, rng)
    cannot = thin_pairs(ends["cannot_link"][:, 0] == ends["cannot_link"][:, 1], MAX_PAIRS, rng)
    linked = np.unique(np.concatenate([content.must_link[must], content.cannot_link[cannot]]))
    rows = thin_points(labels, linked, MAX_POINTS, rng)
    return _Places(to_view(plane), height, rows, must, cannot)


def _draw(
    content: Content, place: _Places, labels: np.ndarray, description: str, caption: str
) -> Drawing:
    linked = np.zeros(len(content.X), dtype=bool)
    linked[np.concatenate([content.must_link, content.cannot_link]).ravel()] = True
    points = [
        {
            "x": x,
            "y": y,
            "paired": bool(linked[row]),
            "title": f"{content.name(row)}: cluster {labels[row]}",
            **cluster_marks(int(labels[row])),
        }
        for row, (x, y) in zip(place.rows.tolist(), place.at[place.rows].tolist(), strict=True)
    ]
    centers = []
    for cluster in range(content.n_clusters):
        members = labels == cluster
        if members.any():
            x, y = np.round(place.at[members].mean(axis=0), 1).tolist()
            centers.append({"x": x, "y": y, "number": cluster})
    if len(place.rows) < len(content.X):
        caption += f" {len(place.rows):,} of {len(content.X):,} points are drawn."
    n_pairs = len(content.must_link) + len(content.cannot_link)
    n_drawn = len(place.must) + len(place.cannot)
    if n_drawn < n_pairs:
        caption += f" {n_drawn:,} of {n_pairs:,} pairs are drawn."
    lines = _lines(content, place, labels, "must_link", place.must)
    lines += _lines(content, place, labels, "cannot_link", place.cannot)
    return Drawing(int(_WIDTH), place.height, points, lines, centers, description, caption)


def _lines(
    content: Content, place: _Places, labels: np.ndarray, kind: str, positions: np.ndarray
) -> list[dict[str, Any]]:
    pairs = getattr(content, kind)
    found = []
    for position in positions.tolist():
        i, j = pairs[position].tolist()
        (x1, y1), (x2, y2) = place.at[i].tolist(), place.at[j].tolist()
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
