"""Clusters in the plane, with the pairs that hold them together and apart; and their margins."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from smdeclust.constraints import Constraints
from smdeclust.constraints.given import all_known
from smdeclust.plotting import style
from smdeclust.plotting.inputs import as_centers, as_labels, as_points, project
from smdeclust.structure.pairs import as_pairs

_LAYERS = 6


def plot_clusters(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    must_link: ArrayLike | None = None,
    cannot_link: ArrayLike | None = None,
    centers: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    max_points: int = 4000,
    max_pairs: int = 250,
    seed: int = 0,
    ax: Axes | None = None,
    constraints: Constraints | None = None,
) -> Axes:
    """Plot the clusters and the pairs.

    Must-links are solid lines, cannot-links are dashed, and broken pairs have a cross. If there are
    more than two features, the plot shows the first two principal components. Points in a visible
    pair have a dark edge. If some points or pairs are left out, the legend says so.

    Parameters
    ----------
    X
        The (N, d) points.
    labels
        The cluster of each point.
    must_link, cannot_link
        Pairs of row positions.
    centers
        The (K, d) centers. By default, the means of the clusters.
    feature_names
        The names of the features, for the axes.
    max_points
        The approximate maximum number of points in the plot.
    max_pairs
        The maximum number of must-links, and of cannot-links, in the plot. Broken pairs come first.
    seed
        The seed for the choice of points and pairs.
    ax
        The axes to plot on. By default, a new figure.
    constraints
        A :class:`~smdeclust.Constraints` object instead of the pairs. Soft pairs look like hard
        ones.
    """
    if constraints is not None:
        given = {"must_link": must_link, "cannot_link": cannot_link}
        known = all_known("plot_clusters", X, None, constraints, given, soft=True, quotas=True)
        must_link, cannot_link = known.all_as_hard().must_link, known.all_as_hard().cannot_link
    points = as_points(X)
    label = as_labels(labels, len(points))
    pairs = {
        "must-link": as_pairs(must_link, len(points), "must_link"),
        "cannot-link": as_pairs(cannot_link, len(points), "cannot_link"),
    }
    names, center = as_centers(centers, points, label)
    plane = project(points, center, seed, feature_names)
    own_figure = ax is None
    width, height = np.ptp(plane.points, axis=0)  # on axes about 5.4 inches wide
    tall = float(np.clip(0.9 + 5.4 * height / width, 2.8, 4.8)) if width > 0 else 4.6
    ax = style.get_axes(ax, (7.4, tall))

    rng = np.random.default_rng(seed)
    drawn: list[np.ndarray] = []
    pair_handles: list[Artist] = []
    for kind, ends in pairs.items():
        broken = (label[ends[:, 0]] == label[ends[:, 1]]) != (kind == "must-link")
        some = thin_pairs(broken, max_pairs, rng)
        drawn.append(ends[some].ravel())
        pair_handles += _draw_pairs(ax, plane.points, ends, broken, some, kind)
    in_pair = np.unique(np.concatenate(drawn))
    shown = thin_points(label, in_pair, max_points, rng)
    cluster_handles = _draw_points(
        ax, plane.points, label, names, style.cluster_colors(plane.centers), shown, in_pair
    )
    # Distances are what is minimized: one unit is one unit both ways.
    flat = not plane.axis_labels[1]
    if not flat:
        ax.set_aspect("equal", adjustable="datalim")
    named = _draw_centers(ax, plane.centers, names)

    ax.set_xlabel(plane.axis_labels[0])
    ax.set_ylabel(plane.axis_labels[1])
    style.tidy(ax)
    if flat:
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
    if len(names) > style.MAX_LEGEND_CLUSTERS:
        number = "" if named == len(names) else f" ({named} of {len(names)})"
        cluster_handles = [style.handle(f"number at center{number}", style.INK, marker="$3$")]
    title = style.count_of(len(shown), len(points), "point")
    title += f", {len(names)} cluster" + ("s" if len(names) > 1 else "")
    style.legend_outside(ax, [*cluster_handles, *pair_handles], title)
    if own_figure:
        style.settle(ax)
    return ax


def _draw_pairs(
    ax: Axes, plane: np.ndarray, pairs: np.ndarray, broken: np.ndarray, shown: np.ndarray, kind: str
) -> list[Artist]:
    """Lines of one kind of pair; returns what the legend needs."""
    if len(pairs) == 0:
        return []
    solid = kind == "must-link"
    line_style = "-" if solid else style.DASHES
    color = style.MUST_LINK if solid else style.CANNOT_LINK
    kept, bad = shown[~broken[shown]], shown[broken[shown]]
    # Many lines become a texture behind the points, few stay lines.
    width, alpha = (0.9, 0.8) if len(kept) <= 100 else (0.6, 0.5)
    dashes = [line_style]
    style.add_lines(ax, plane[pairs[kept]], color, width, ls=dashes, alpha=alpha, zorder=1.5)
    caption = style.count_of(len(shown), len(pairs), kind)
    handles: list[Artist] = [style.handle(caption, color, ls=line_style, lw=1.0)]
    if len(bad):
        ends = plane[pairs[bad]]
        style.add_lines(ax, ends, style.VIOLATED, 1.7, ls=dashes, zorder=1.8)
        style.add_crosses(ax, ends.mean(axis=1), 30 if len(bad) <= 60 else 14, 1.7)
        caption = f"{style.count_of(len(bad), int(broken.sum()), kind)} broken"
        looks: dict[str, Any] = {"ls": line_style, "lw": 1.8, "marker": "x", "mew": 2}
        handles.append(style.handle(caption, style.VIOLATED, **looks))
    return handles


def _draw_points(
    ax: Axes,
    plane: np.ndarray,
    labels: np.ndarray,
    names: np.ndarray,
    colors: list[str],
    shown: np.ndarray,
    in_pair: np.ndarray,
) -> list[Artist]:
    """One scatter per cluster; returns what the legend needs."""
    size = float(np.clip(9000 / max(len(shown), 1), 7, 34))
    dense = size < 15
    edge_width = 0.45 if dense else 0.7
    paired = np.zeros(len(labels), dtype=bool)
    paired[in_pair] = True
    handles: list[Artist] = []
    for position, name in enumerate(names):
        color, marker = colors[position], style.cluster_style(position)[1]
        members = shown[labels[shown] == name]
        # Dealt out over several layers, so that no cluster covers all the others.
        for layer in range(_LAYERS):
            part = members[layer::_LAYERS]
            ax.scatter(
                plane[part, 0],
                plane[part, 1],
                s=np.where(paired[part] | (not dense), size, 0.7 * size),
                c=color,
                marker=marker,
                edgecolors=list(np.where(paired[part], style.INK, color if dense else "white")),
                linewidths=edge_width,
                zorder=2.0 + 0.1 * layer,
                # Thousands of vector markers make a PDF that no reader opens quickly.
                rasterized=len(shown) > 2000,
            )
        count = int((labels == name).sum())
        handles.append(style.cluster_handle(f"cluster {name} ({count:,})", color, marker, 6))
    return handles


def _draw_centers(ax: Axes, plane: np.ndarray, names: np.ndarray) -> int:
    """Numbers at the centers, less those that would cover another; returns how many there are."""
    few = len(names) <= style.MAX_LEGEND_CLUSTERS
    looks: dict[str, Any] = {"zorder": 5.1, "path_effects": style.halo(2.2)}
    if few:
        looks["path_effects"] = []
        disc: dict[str, Any] = {"edgecolors": style.INK, "linewidths": 1.3, "zorder": 5.0}
        ax.scatter(plane[:, 0], plane[:, 1], s=130, c="white", **disc)
    # Data units of one inch, roughly: enough to know which numbers would touch.
    ax.autoscale_view()
    width, height = style.inches(ax)
    unit = max(np.ptp(ax.get_xlim()) / width, np.ptp(ax.get_ylim()) / height)
    placed: list[np.ndarray] = []
    for name, place in zip(names, plane, strict=True):
        apart = np.abs(np.array(placed) - place) if placed and not few else np.empty((0, 2))
        if ((apart[:, 0] < 0.17 * unit) & (apart[:, 1] < 0.12 * unit)).any():
            continue
        placed.append(place)
        style.write(ax, place, str(name), 8 if few else 7, **looks)
    return len(placed)


def thin_pairs(violated: np.ndarray, limit: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of at most `limit` pairs: violated ones first, the rest drawn evenly."""
    if len(violated) <= limit:
        return np.arange(len(violated))
    # A random order, then a stable sort that brings the violated to the front.
    order = rng.permutation(len(violated))
    order = order[np.argsort(~violated[order], kind="stable")]
    return np.sort(order[:limit])


def thin_points(
    labels: np.ndarray, keep: np.ndarray, limit: int, rng: np.random.Generator
) -> np.ndarray:
    """Positions of about `limit` points, the same share of each cluster, and all of `keep`."""
    n_points = len(labels)
    if n_points <= limit:
        return np.arange(n_points)
    chosen = np.zeros(n_points, dtype=bool)
    for k in np.unique(labels):
        members = np.flatnonzero(labels == k)
        share = -(-len(members) * limit // n_points)  # rounded up: no cluster disappears
        chosen[rng.permutation(members)[:share]] = True
    chosen[keep] = True
    return np.flatnonzero(chosen)


# ---- margins: how much nearer the own center of a point is than the nearest other one


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
