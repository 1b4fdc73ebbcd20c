"""Positions for the nodes of a sparse graph: stress layout, overlaps removed, components packed."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import smacof


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
