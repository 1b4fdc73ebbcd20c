"""Margins: how much nearer the own center of a point is than the nearest other one."""

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from smdeclust.plotting import style
from smdeclust.plotting.inputs import as_centers, as_labels, as_points

# What points nearer to another center look like.
_BELOW: dict[str, Any] = {"facecolor": "white", "edgecolor": style.VIOLATED, "hatch": "//////"}
_CHUNK = 4096  # rows; N x K distances at once would not fit for large N


def point_margins(X: ArrayLike, labels: ArrayLike, centers: ArrayLike | None = None) -> np.ndarray:
    """Return the margin of each point: its simplified silhouette (b - a) / max(a, b).

    Here, a is the distance to the point's own center, and b is the distance to the nearest other
    center. The margin is 1 at the center and 0 halfway. It is negative if another center is closer.
    In an optimal clustering, this means that constraints keep the point in its cluster.

    Parameters
    ----------
    X
        The (N, d) points.
    labels
        The cluster of each point.
    centers
        The (K, d) centers. By default, the means of the clusters.

    Returns
    -------
    ndarray of shape (N,)
        The margins, in [-1, 1]. With a single cluster, they are 1.
    """
    points = as_points(X)
    label = as_labels(labels, len(points))
    names, center = as_centers(centers, points, label)
    if len(names) == 1:
        return np.ones(len(points))
    own = np.searchsorted(names, label)
    margin = np.empty(len(points))
    for start in range(0, len(points), _CHUNK):
        rows = slice(start, min(start + _CHUNK, len(points)))
        distance = cdist(points[rows], center)
        row = np.arange(len(distance))
        a = distance[row, own[rows]]
        distance[row, own[rows]] = np.inf
        b = distance.min(axis=1)
        scale = np.maximum(a, b)
        # A point on two coinciding centers has no preference: 0.
        margin[rows] = np.divide(b - a, scale, out=np.zeros_like(a), where=scale > 0)
    return margin


def plot_margins(
    X: ArrayLike, labels: ArrayLike, *, centers: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Plot the margins of all points, as one silhouette for each cluster.

    :func:`~smdeclust.plotting.point_margins` explains margins.

    Parameters
    ----------
    X, labels, centers
        As for :func:`~smdeclust.plotting.point_margins`.
    ax
        The axes to plot on. By default, a new figure.
    """
    points = as_points(X)
    label = as_labels(labels, len(points))
    margin = point_margins(points, label, centers)
    names = np.unique(label)
    ax = style.get_axes(ax, (6.6, float(np.clip(1.6 + 0.27 * len(names), 3.6, 9.5))))

    gap = max(1.0, 0.012 * len(points)) if len(names) <= 40 else 0.004 * len(points)
    top = 0.0
    middles = []
    for position, name in enumerate(names):
        blade = np.sort(margin[label == name])[::-1]
        # Edges of the steps: each point is a bar of height 1, also where there is only one.
        y = top + np.repeat(np.arange(len(blade) + 1), 2)[1:-1]
        width = np.repeat(blade, 2)
        color, _ = style.cluster_style(position)
        ax.fill_betweenx(y, 0, np.maximum(width, 0), color=color, lw=0)
        ax.fill_betweenx(y, 0, np.minimum(width, 0), where=width < 0, lw=0.8, **_BELOW)
        middles.append(top + len(blade) / 2)
        top += len(blade) + gap

    height = top - gap
    ax.set_ylim(height + gap, -gap)
    _name_clusters(ax, names, np.array(middles), label, height)
    ax.axvline(0, color=style.INK, lw=0.8)
    average = float(margin.mean())
    ax.axvline(average, color=style.INK, lw=1.1, ls=style.LINE_STYLES[1])
    ax.set_xlim(min(-0.05, 1.08 * float(margin.min())), 1.0)
    ax.set_xlabel("margin  (1 at its own center, 0 halfway to another)")
    ax.set_ylabel("cluster (points)" if len(names) <= 40 else "cluster")
    style.tidy(ax, "x")
    ax.tick_params(axis="y", length=0)
    text = f"mean {average:.2f}".replace("-", "\N{MINUS SIGN}")
    handles: list[Artist] = [style.handle(text, style.INK, lw=1.1, ls=style.LINE_STYLES[1])]
    below = int((margin < 0).sum())
    if below:
        text = f"{below:,} {'point' if below == 1 else 'points'} closer\nto another center"
        handles.append(Patch(label=text, **_BELOW))
    style.legend_outside(ax, handles, style.count_of(len(points), len(points), "point"))
    return ax


def _name_clusters(
    ax: Axes, names: np.ndarray, middles: np.ndarray, labels: np.ndarray, height: float
) -> None:
    """Cluster names beside the blades, as many as fit without touching."""
    # 0.85: the axis label below will take its part of the height.
    needed = 0.12 * height / (0.85 * style.inches(ax)[1])
    shown: dict[float, str] = {}
    for middle, name in zip(middles, names, strict=True):
        if not shown or middle - max(shown) >= needed:
            count = f" ({np.count_nonzero(labels == name):,})" if len(names) <= 40 else ""
            shown[middle] = f"{name}{count}"
    ax.set_yticks(list(shown), list(shown.values()), fontsize=8)
