"""The constraints as a graph: must-link groups are nodes, cannot-links between them edges."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.markers import MarkerStyle
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.transforms import Affine2D
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import smacof

from smdeclust.plotting import style
from smdeclust.plotting.inputs import as_labels
from smdeclust.structure.groups import contract
from smdeclust.structure.pairs import as_pairs

_MAX_NUMBERED = 80  # nodes; with more, the numbers in them are too small to read


def plot_constraint_graph(
    n_points: int,
    *,
    must_link: ArrayLike | None = None,
    cannot_link: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    max_groups: int = 400,
    seed: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Plot must-link groups as nodes, and cannot-links as dashed edges.

    The area of a node grows with its number of points. Points without pairs are left out. With
    labels, a node has the color and marker of its cluster, and broken pairs are marked.

    Parameters
    ----------
    n_points
        The number of points.
    must_link, cannot_link
        Pairs of row positions.
    labels
        The cluster of each point.
    max_groups
        The maximum number of groups in the plot. Components with broken pairs and large components
        come first.
    seed
        The seed of the layout.
    ax
        The axes to plot on. By default, a new figure.
    """
    must = as_pairs(must_link, n_points, "must_link")
    cannot = as_pairs(cannot_link, n_points, "cannot_link")
    label = None if labels is None else as_labels(labels, n_points)
    graph = _group_graph(n_points, must, cannot, label)
    shown = _choose_groups(graph, max_groups)
    own_figure = ax is None
    ax = style.get_axes(ax, (7.6, 4.6))
    ax.set_axis_off()
    ax.set_aspect("equal", adjustable="datalim")

    position = np.full(len(graph.sizes), -1)
    position[shown] = np.arange(len(shown))
    inside = (position[graph.edges] >= 0).all(axis=1) if len(graph.edges) else np.zeros(0, bool)
    edges = position[graph.edges[inside]]
    broken_edge = graph.broken_edge[inside]
    sizes = graph.sizes[shown]
    # Area by points, the largest at most four times as wide as the smallest.
    radii = np.minimum(np.sqrt(sizes), 4.0) if len(sizes) else np.zeros(0)
    if sizes.size and sizes.max() > 16:
        radii = 1.0 + 3.0 * (np.sqrt(sizes) - 1.0) / (np.sqrt(sizes.max()) - 1.0)
    places = lay_out(edges, radii, _free_aspect(ax), seed) if len(shown) else np.zeros((0, 2))

    handles = _draw_edges(ax, places, radii, edges, broken_edge)
    handles += _draw_groups(ax, places, radii, graph, shown, label)
    if len(places):
        low, high = (places - radii[:, None]).min(axis=0), (places + radii[:, None]).max(axis=0)
        ax.update_datalim(np.array([low - 1, high + 1]))
        ax.margins(0)
        ax.autoscale_view()
    _annotate(ax, graph, shown, handles, labels is not None)
    if own_figure:
        style.settle(ax)
    return ax


def _free_aspect(ax: Axes) -> float:
    """Width over height of what the legend will leave of the axes."""
    width, height = style.inches(ax)
    figure = ax.get_figure(root=True)
    if figure is not None and figure.get_layout_engine() is not None:
        width -= 1.9
    return float(np.clip(width / height, 0.5, 3.0))


def _font_size(ax: Axes, places: np.ndarray, radii: np.ndarray) -> float:
    """Points of a number that fits into a group of two, 7.5 at most."""
    if len(radii) == 0:
        return 0.0
    width, height = np.ptp(places, axis=0) + 2 * radii.max() + 2
    inches = style.inches(ax)[1]
    per_unit = 72 * min(_free_aspect(ax) * inches / width, inches / height)
    return float(min(1.5 * np.sqrt(2) * per_unit, 7.5))


@dataclass(frozen=True)
class _GroupGraph:
    sizes: np.ndarray  # points of each group
    edges: np.ndarray  # (e, 2) groups that a cannot-link keeps apart, each once
    component: np.ndarray  # of each group
    cluster: np.ndarray  # position of the group's label among the labels, or 0
    names: np.ndarray  # the labels
    broken_group: np.ndarray  # split over clusters, or contradicted by a cannot-link
    broken_edge: np.ndarray  # both ends in one cluster
    n_alone: int  # points in no pair


def _group_graph(
    n_points: int, must: np.ndarray, cannot: np.ndarray, labels: np.ndarray | None
) -> _GroupGraph:
    """Contract must-links; keep only groups that some pair mentions."""
    grouping = contract(n_points, must, cannot)
    # The others are single points in no pair.
    group, n_groups = grouping.of_point, grouping.n_compound
    sizes = grouping.size[:n_groups]

    ends = np.sort(group[cannot], axis=1).reshape(-1, 2)
    broken_group = np.zeros(n_groups, dtype=bool)
    broken_group[ends[ends[:, 0] == ends[:, 1], 0]] = True
    edges = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    _, component = connected_components(adjacency(edges, n_groups), directed=False)

    names = np.zeros(1, dtype=np.int64)
    cluster = np.zeros(n_groups, dtype=np.int64)
    broken_edge = np.zeros(len(edges), dtype=bool)
    if labels is not None and n_groups:
        names, index = np.unique(labels, return_inverse=True)
        cluster = index[np.unique(group, return_index=True)[1][:n_groups]]
        split = must[labels[must[:, 0]] != labels[must[:, 1]]]
        broken_group[group[split].ravel()] = True
        # By points, not by groups: a split group may break one cannot-link and keep another.
        inside = cannot[labels[cannot[:, 0]] == labels[cannot[:, 1]]]
        bad = np.sort(group[inside], axis=1).reshape(-1, 2)
        broken_edge = np.isin(edges @ [n_groups, 1], bad @ [n_groups, 1])
    n_alone = n_points - int(sizes.sum())
    return _GroupGraph(sizes, edges, component, cluster, names, broken_group, broken_edge, n_alone)


def _choose_groups(graph: _GroupGraph, limit: int) -> np.ndarray:
    """Groups to draw: whole components while they fit."""
    n_groups = len(graph.sizes)
    if n_groups <= limit:
        return np.arange(n_groups)
    broken = graph.broken_group.copy()
    broken[graph.edges[graph.broken_edge].ravel()] = True
    count = np.bincount(graph.component)
    violated = np.bincount(graph.component, weights=broken) > 0
    points = np.bincount(graph.component, weights=graph.sizes)
    order = np.lexsort((-points, -count, ~violated))
    fits = order[np.cumsum(count[order]) <= limit]
    if len(fits) == 0:
        degree = np.bincount(graph.edges.ravel(), minlength=n_groups)
        members = np.flatnonzero(graph.component == order[0])
        rank = np.lexsort((-graph.sizes[members], -degree[members], ~broken[members]))
        return np.sort(members[rank[:limit]])
    return np.flatnonzero(np.isin(graph.component, fits))


def _draw_edges(
    ax: Axes, places: np.ndarray, radii: np.ndarray, edges: np.ndarray, broken: np.ndarray
) -> list[Artist]:
    """Cannot-links, the broken ones on top; returns what the legend needs."""
    if len(edges) == 0:
        return []
    width = 1.1 if len(edges) <= 150 else 0.7 if len(edges) <= 600 else 0.4
    alpha = 1.0 if len(edges) <= 600 else 0.7
    looks: dict[str, Any] = {"ls": style.DASHES}
    lines = places[edges]
    kept: dict[str, Any] = {"linestyles": [style.DASHES], "alpha": alpha, "zorder": 1}
    style.add_lines(ax, lines[~broken], style.CANNOT_LINK, width, **kept)
    handles: list[Artist] = [style.handle("cannot-link", style.CANNOT_LINK, lw=1.1, **looks)]
    if broken.any():
        # The middle of what the two nodes leave to see of the line.
        start, end = lines[broken][:, 0], lines[broken][:, 1]
        along = (end - start) / np.linalg.norm(end - start, axis=1, keepdims=True)
        lean = (radii[edges[broken, 0]] - radii[edges[broken, 1]])[:, None]
        style.add_lines(ax, lines[broken], style.VIOLATED, 1.8, linestyles=[style.DASHES], zorder=3)
        style.add_crosses(ax, (start + end + lean * along) / 2, 40, 2)
        looks |= {"lw": 1.8, "marker": "x", "mew": 2}
        handles.append(style.handle("broken cannot-link", style.VIOLATED, **looks))
    return handles


def _draw_groups(
    ax: Axes,
    places: np.ndarray,
    radii: np.ndarray,
    graph: _GroupGraph,
    shown: np.ndarray,
    labels: np.ndarray | None,
) -> list[Artist]:
    """Nodes in data units, so that the layout's spacing holds at any size of the figure."""
    handles: list[Artist] = []
    broken, cluster = graph.broken_group[shown], graph.cluster[shown]

    def draw(members: np.ndarray, path: Path, **looks: Any) -> None:
        at = (Affine2D().scale(radii[i]).translate(*places[i]) for i in members)
        patches = [PathPatch(path.transformed(place)) for place in at]
        ax.add_collection(PatchCollection(patches, zorder=2, **looks))

    for k in np.unique(cluster):
        color, marker = style.cluster_style(int(k)) if labels is not None else ("#9ecae1", "o")
        shape = MarkerStyle(marker)
        path = shape.get_path().transformed(shape.get_transform())
        path = path.transformed(Affine2D().scale(0.95 / np.abs(path.vertices).max()))
        members = np.flatnonzero((cluster == k) & ~broken)
        width = 0.8 if len(shown) <= 150 else 0.4
        draw(members, path, facecolor=color, edgecolor=style.INK, lw=width)
        if labels is not None and len(graph.names) <= style.MAX_LEGEND_CLUSTERS and len(members):
            handles.append(style.cluster_handle(f"cluster {graph.names[k]}", color, marker, 7))
    if broken.any():
        circle = MarkerStyle("o").get_path()
        draw(np.flatnonzero(broken), circle, facecolor="white", edgecolor=style.VIOLATED, lw=2.0)
        looks: dict[str, Any] = {"marker": "o", "mec": style.VIOLATED, "mew": 1.8, "ms": 7}
        handles.append(style.handle("broken must-link group", "white", **looks))
    font = _font_size(ax, places, radii) if len(shown) <= _MAX_NUMBERED else 0.0
    if font >= 5.0:
        for i in np.flatnonzero(graph.sizes[shown] > 1):
            text = str(graph.sizes[shown[i]])
            style.write(ax, places[i], text, font, path_effects=style.halo(1.8), zorder=5)
    return handles


def _annotate(
    ax: Axes, graph: _GroupGraph, shown: np.ndarray, handles: list[Artist], colored: bool
) -> None:
    """The legend and the counts that go with it."""
    lines = [style.count_of(len(shown), len(graph.sizes), "group")]
    if graph.sizes.size:
        small, large = int(graph.sizes.min()), int(graph.sizes.max())
        span = f"{small} to {large:,}" if large > small else f"{small}"
        lines[0] += f" of {span} point" + ("s" if large > 1 else "")
    n_edges = len(graph.edges)
    lines.append(f"{style.count_of(n_edges, n_edges, 'cannot-link')} between them")
    if graph.n_alone:
        lines.append(f"{graph.n_alone:,} points in no pair, not shown")
    if colored and len(graph.names) > style.MAX_LEGEND_CLUSTERS:
        lines.append(f"color and shape: {len(graph.names)} clusters")
    style.legend_outside(ax, handles, "\n".join(lines))


# ---- places: a stress layout, overlaps removed, components packed


def adjacency(edges: np.ndarray, n_nodes: int) -> csr_array:
    """Symmetric 0/1 matrix of an (e, 2) edge list."""
    both = np.concatenate([edges, edges[:, ::-1]])
    shape = (n_nodes, n_nodes)
    matrix = csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=shape)
    matrix.data[:] = 1.0  # repeated edges were added up
    return matrix


def lay_out(edges: np.ndarray, radii: np.ndarray, aspect: float, seed: int = 0) -> np.ndarray:
    """(n, 2) places of the nodes such that no two circles overlap and components stay apart.

    An edge is about 3.5 mean radii long; `aspect` is the wanted width over height of the whole.
    """
    n_nodes = len(radii)
    graph = adjacency(edges, n_nodes)
    n_components, component = connected_components(graph, directed=False)
    unit = float(np.mean(radii))
    places = np.zeros((n_nodes, 2))
    boxes = []
    order = np.argsort(component, kind="stable")
    bounds = np.searchsorted(component[order], np.arange(n_components + 1))
    for c in range(n_components):
        nodes = order[bounds[c] : bounds[c + 1]]
        local = _stress_layout(graph[nodes][:, nodes], seed) * 3.5 * unit
        local = _spread(local, radii[nodes], unit)
        # The longest extent becomes the horizontal, so that shelves pack well.
        local = local - local.mean(axis=0)
        local = local @ np.linalg.eigh(local.T @ local)[1][:, ::-1]
        low = (local - radii[nodes, None]).min(axis=0)
        high = (local + radii[nodes, None]).max(axis=0)
        places[nodes] = local - low
        boxes.append((nodes, high - low))
    _pack(places, boxes, aspect, gap=2.0 * unit)
    return places


def _stress_layout(graph: csr_array, seed: int) -> np.ndarray:
    """Positions whose distances fit the hop counts, by majorization of the stress."""
    n = graph.shape[0]
    if n <= 2:
        return np.column_stack([np.arange(n), np.zeros(n)])
    hops = shortest_path(graph, method="D", directed=False, unweighted=True)
    # Classical scaling: the two leading axes of the doubly centered squared distances.
    squared = hops**2
    centered = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-0.5 * centered)
    start = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    # Noise: it puts the leaves of a star on one spot, where stress has no gradient.
    start += np.random.default_rng(seed).normal(scale=0.05, size=(n, 2))
    return smacof(hops, init=start, n_init=1, max_iter=80, random_state=seed)[0]


def _spread(places: np.ndarray, radii: np.ndarray, unit: float, n_iter: int = 200) -> np.ndarray:
    """Scale a crowded layout up, then push overlapping circles apart."""
    n = len(places)
    if n < 2:
        return places
    distance = squareform(pdist(places))
    np.fill_diagonal(distance, np.inf)
    # A dense graph has tiny hop counts and all nodes on one heap: give it area by its node count.
    crowded = float(np.median(distance.min(axis=1)))
    places = places * float(np.clip(3.2 * unit / max(crowded, 1e-9), 1.0, 3.0))
    wanted = radii[:, None] + radii[None, :] + 0.9 * unit
    for _ in range(n_iter):
        offset = places[:, None, :] - places[None, :, :]
        distance = np.sqrt((offset**2).sum(axis=2))
        np.fill_diagonal(distance, np.inf)
        overlap = np.maximum(wanted - distance, 0.0)
        if overlap.max() <= 1e-3 * unit:
            break
        push = overlap / np.maximum(distance, 1e-9)
        places = places + 0.5 * (push[:, :, None] * offset).sum(axis=1)
    return places


def _pack(
    places: np.ndarray, boxes: list[tuple[np.ndarray, np.ndarray]], aspect: float, gap: float
) -> None:
    """Move the components (`places` is written) side by side, to fill a sheet of that aspect."""
    # Large ones first, single groups last: they fill the gaps.
    boxes = sorted(boxes, key=lambda box: (-box[1][1] * (len(box[0]) > 1), -box[1][0]))
    sizes = np.array([size for _, size in boxes]) + gap
    ideal = float(np.sqrt(sizes.prod(axis=1).sum() * aspect))
    widest = float(sizes[:, 0].max())
    best_height, best_corners = np.inf, np.zeros((len(boxes), 2))
    for width in np.unique(np.maximum(ideal * np.linspace(0.9, 1.8, 10), widest)):
        corners, height = _skyline(sizes, float(width))
        # What counts is the scale at which the sheet holds it.
        if max(width / aspect, height) < best_height:
            best_height, best_corners = max(width / aspect, height), corners
    for (nodes, _), corner in zip(boxes, best_corners, strict=True):
        places[nodes] += corner
    places[:, 1] = -places[:, 1]  # the first are on top


def _skyline(sizes: np.ndarray, width: float, n_columns: int = 300) -> tuple[np.ndarray, float]:
    """Drop boxes in turn where they come to lie lowest, leftmost; their corners and the height."""
    column = width / n_columns
    skyline = np.zeros(n_columns)
    corners = np.zeros((len(sizes), 2))
    for b, (box_width, box_height) in enumerate(sizes):
        span = min(int(np.ceil(box_width / column)), n_columns)
        floor = sliding_window_view(skyline, span).max(axis=1)
        left = int(floor.argmin())
        corners[b] = left * column, floor[left]
        skyline[left : left + span] = floor[left] + box_height
    return corners, float(skyline.max())
