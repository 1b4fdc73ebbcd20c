"""The neighbor graph: pairs propagated along it, and its leading eigenvectors as coordinates.

What is known of some points says something of their neighbors (Lu and Ip 2010): F = A Z A, where
A = (1 - a) (I - a S)^-1 spreads over the normalized graph S and Z holds the pairs as +1 and -1. No
N x N matrix is formed. Z = H M H' - D goes through the groups that pairs name (H: points to groups,
M: +1 inside a group of several points, minus the cannot-links, soft pairs by their weight). B = A H
is a truncated series whose small entries are dropped, and F is evaluated on the edges of the graph.
What must-links say about points that are not neighbors stays a term B M B' of low rank, which the
eigensolver applies without forming it.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array
from sklearn.neighbors import NearestNeighbors

from smdeclust.constraints import Constraints
from smdeclust.kernels import kernel
from smdeclust.structure.groups import contract
from smdeclust.views.scene import Scene, Seen, nearest_means

# Neighbors of a point, and the one whose distance is the local scale (Zelnik-Manor and Perona).
N_NEIGHBORS = 10
SCALE_NEIGHBOR = 7
# Where those in common count: a third of the points of a cluster, from the scale up to this many.
MORE_NEIGHBORS = 15
# Weight of an edge against a pair: 1 for `FEW_POINTS`, less for more, and at least this.
EDGE, FEW_POINTS = 0.3, 300

# How far pairs spread (a), by how many steps, and which share of a pair is too little to follow.
SPREADING = 0.8
SPREADING_STEPS = 8
# Steps by which known classes spread.
REACH = 100
LEAST_SHARE = 1e-3

# A point of no weight has labels nevertheless: it counts as this share of a point.
LEAST_WEIGHT = 1e-6

# Weight of cannot-links between points that are not neighbors.
FAR_APART = 0.2

# Of the eigensolver: vectors beside those wanted, and the degree of its filters.
SPARE, DEGREE = 6, 10


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The nearest neighbors of points, for these points and new ones."""

    index: NearestNeighbors
    scale: np.ndarray
    graph: csr_array  # symmetric, with local scales

    @classmethod
    def of(cls, X: np.ndarray, common: int | None = None) -> Self:
        """The neighbors of points; `common`: so many, and edges count by those in common."""
        n = len(X)
        k = min(common or N_NEIGHBORS, n - 1)
        # Distances only rank neighbors: single precision is enough, and twice as fast.
        index = NearestNeighbors().fit(X.astype(np.float32))
        if k == 0:
            return cls(index, np.ones(n), csr_array((n, n)))
        distance, near = index.kneighbors(n_neighbors=k)  # without the point itself
        scale = distance[:, min(SCALE_NEIGHBOR, k) - 1].astype(np.float64)
        scale = np.maximum(scale, 1e-3 * float(scale.mean()) + 1e-12)
        weight, starts = _closeness(distance, scale, scale[near]), np.arange(0, n * k + 1, k)
        graph = csr_array((weight.ravel(), near.ravel(), starts), shape=(n, n))
        graph = graph.maximum(graph.T).tocsr()
        graph.sort_indices()
        if common:  # as the Jaccard index has it; a point is among its own neighbors here
            circle = csr_array((np.ones(n * k), near.ravel(), starts), shape=(n, n)) + eye_array(n)
            both = _on_edges(graph, csr_array(circle), csr_array(circle))
            graph.data *= both / (2 * (k + 1) - both)
        else:
            graph.data *= np.clip(np.sqrt(FEW_POINTS / n), EDGE, 1.0)
        return cls(index, scale, graph)

    def average(self, X: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Values at new points: the weighted means of their neighbors' values."""
        k = min(N_NEIGHBORS, len(self.scale))
        distance, near = self.index.kneighbors(X.astype(np.float32), n_neighbors=k)
        own = np.maximum(distance[:, min(SCALE_NEIGHBOR, k) - 1], 1e-3 * self.scale.mean())
        weight = _closeness(distance, own, self.scale[near])
        weight /= weight.sum(axis=1, keepdims=True)
        return np.einsum("ij,ijk->ik", weight, values[near])


def _closeness(distance: np.ndarray, own: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """(n, k) weights of neighbors, by the local scales of both ends."""
    return np.maximum(np.exp(-(distance.astype(np.float64) ** 2) / (own[:, None] * theirs)), 1e-12)


@dataclass(frozen=True, eq=False)
class Links:
    """The pairs as matrices over the groups in them."""

    member: csr_array  # (N, G) which point is in which group
    # (G, G) together and apart, symmetric
    plus: csr_array
    minus: csr_array
    own: csr_array  # columns of `member`, one per point of a group of several: Z has no diagonal

    @classmethod
    def of(cls, known: Constraints) -> "Links":
        """Read hard pairs, closed under must-links, and soft pairs as they are."""
        n = len(known)
        soft_must, soft_cannot = known.soft_must_link, known.soft_cannot_link
        group = contract(n, known.must_link, known.cannot_link).of_point
        size = np.bincount(group)
        named = size > 1
        for pairs in (known.cannot_link, soft_must, soft_cannot):
            named[group[pairs.ravel()]] = True
        number, n_groups = np.cumsum(named) - 1, int(named.sum())
        rows = np.flatnonzero(named[group])
        place = number[group[rows]]
        member = csr_array((np.ones(len(rows)), (rows, place)), shape=(n, n_groups))

        def between(pairs: np.ndarray, weight: np.ndarray) -> csr_array:
            ends = number[group[pairs]]
            apart = ends[:, 0] != ends[:, 1]
            a, b, w = ends[apart, 0], ends[apart, 1], weight[apart]
            both = np.concatenate([a, b]), np.concatenate([b, a])
            table = csr_array((np.concatenate([w, w]), both), shape=(n_groups, n_groups))
            table.data = np.minimum(table.data, 1.0)  # a pair that is given twice counts once
            return table

        several = (size[named] > 1).astype(float)
        plus = diags_array(several) + between(soft_must, soft_weight(known, "soft_must_link"))
        hard = np.ones(len(known.cannot_link))
        weight = np.concatenate([hard, soft_weight(known, "soft_cannot_link")])
        minus = between(np.concatenate([known.cannot_link, soft_cannot]), weight)
        mine = rows[several[place] > 0]
        own = csr_array((np.ones(len(mine)), (mine, np.arange(len(mine)))), shape=(n, len(mine)))
        return cls(member, csr_array(plus), minus, own)


def soft_weight(known: Constraints, kind: str) -> np.ndarray:
    """2 p - 1 for soft pairs of confidence p."""
    return np.maximum(2 * getattr(known, f"{kind}_confidence") - 1, 0.0)


def propagate(graph: csr_array, links: Links) -> tuple[csr_array, csr_array]:
    """The graph with weights raised and lowered by the pairs, and B, scaled."""
    spread = _normalized(graph)
    # What reaches a point from a group is the sum of what reaches it from the points of the group.
    own, group = _series(spread, links.own), csr_array(links.own.T @ links.member)
    single = diags_array((group.sum(axis=0) == 0).astype(float))
    b = csr_array(own @ group + _series(spread, csr_array(links.member @ single)))
    towards = csr_array(b @ (links.plus - links.minus))
    change = _on_edges(graph, towards, b) - _on_edges(graph, own, own)
    top = max(float(np.abs(change).max(initial=0.0)), _largest(links, b), 1e-12)
    # A pair that is hard changes the graph by all it can, one that is doubtful by its weight.
    top /= max(float(t.data.max(initial=0.0)) for t in (links.plus, links.minus)) or 1.0
    change = np.clip(change / top, -1.0, 1.0)
    raised = 1 - (1 - change) * (1 - graph.data)
    adjusted = graph.copy()
    adjusted.data = np.where(change >= 0, raised, (1 + change) * graph.data)
    return adjusted, csr_array(b / np.sqrt(top))


def spread_classes(graph: csr_array, links: Links, n_clusters: int) -> np.ndarray | None:
    """Spread known classes along the graph (Zhou and others 2004).

    Returns (N, K) how much of each class reaches each point, rows that sum to 1; ``None`` where
    pairs do not tell exactly K classes from each other.
    """
    n_pairs = n_clusters * (n_clusters - 1)
    hard = int((links.minus.data >= 1).sum())
    if n_clusters < 2 or links.member.shape[1] != n_clusters or hard != n_pairs:
        return None
    spread, first = _normalized(graph), links.member.toarray()
    reached = first
    for _ in range(REACH):
        reached = SPREADING * (spread @ reached) + (1 - SPREADING) * first
    reached += 1e-300  # nothing reaches a part of the graph without known points
    return reached / reached.sum(axis=1, keepdims=True)


def _normalized(graph: csr_array) -> csr_array:
    root = diags_array(1 / np.sqrt(np.maximum(graph.sum(axis=1), 1e-12)))
    return csr_array(root @ graph @ root)


def _series(spread: csr_array, start: csr_array) -> csr_array:
    """(1 - a) sum_t (a S)^t H; entries below a share are dropped on the way."""
    term, step = csr_array((1 - SPREADING) * start), csr_array(SPREADING * spread)
    total = term.copy()
    for _ in range(SPREADING_STEPS):
        term = csr_array(step @ term)
        term.data[term.data < LEAST_SHARE * (1 - SPREADING)] = 0.0
        term.eliminate_zeros()
        if term.nnz == 0:
            break
        total = total + term
    return csr_array(total)


def _largest(links: Links, b: csr_array) -> float:
    """About the largest size of F: it is at a pair itself, the product of what both ends keep."""
    kept = np.zeros(b.shape[1])
    members = links.member.tocoo()
    np.maximum.at(kept, members.col, np.asarray(b[members.row, members.col]).ravel())
    pairs = (links.plus + links.minus).tocoo()
    return float((kept[pairs.row] * kept[pairs.col] * pairs.data).max(initial=0.0))


def _on_edges(graph: csr_array, left: csr_array, right: csr_array) -> np.ndarray:
    """Values of left right' at the edges of the graph."""
    values, row = np.zeros(graph.nnz), np.zeros(left.shape[1])
    edges, lefts, rights = (
        (table.indptr.astype(np.int64), table.indices.astype(np.int64))
        for table in (graph, left, right)
    )
    _dot_on_edges(*edges, *lefts, left.data, *rights, right.data, row, values)
    return values


@kernel()
def _dot_on_edges(start, end, l_start, l_col, l_value, r_start, r_col, r_value, row, values):
    """OUT values: at edge (i, j), row i of left times row j of right. `row` is a zero work row."""
    for i in range(len(start) - 1):
        for q in range(l_start[i], l_start[i + 1]):
            row[l_col[q]] = l_value[q]
        for e in range(start[i], start[i + 1]):
            j = end[e]
            total = 0.0
            for q in range(r_start[j], r_start[j + 1]):
                total += r_value[q] * row[r_col[q]]
            values[e] = total
        for q in range(l_start[i], l_start[i + 1]):
            row[l_col[q]] = 0.0


def coordinates(
    graph: csr_array,
    n_leading: int,
    seed: int,
    links: Links,
    start: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """Leading eigenvectors of the normalized graph + B (M+ - 0.2 M-) B', rows of length 1.

    Where there are pairs, they are propagated along the graph first. A point of weight w counts as
    w points at its place: each of its edges counts w times.
    """
    b = links.member
    if b.shape[1]:
        graph, b = propagate(graph, links)
    if weight is not None:
        count = diags_array(np.maximum(weight / weight.mean(), LEAST_WEIGHT))
        graph, b = csr_array(count @ graph @ count), csr_array(count @ b)
    sums = np.asarray(b.sum(axis=0)).ravel()
    degree = graph.sum(axis=1) + b @ (links.plus @ sums + FAR_APART * (links.minus @ sums))
    root = 1 / np.sqrt(np.maximum(degree, 1e-12))
    near = csr_array(diags_array(root) @ graph @ diags_array(root)).astype(np.float32)
    far = csr_array(diags_array(root) @ b).astype(np.float32)
    back = csr_array(far.T)
    middle = csr_array(links.plus - FAR_APART * links.minus).astype(np.float32)

    def times(vectors: np.ndarray) -> np.ndarray:
        return near @ vectors + far @ (middle @ (back @ vectors))

    rng = np.random.default_rng(seed)
    vectors = leading(times, len(root), n_leading, rng, 1 / root, start)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def leading(
    times: Any,
    n: int,
    n_leading: int,
    rng: np.random.Generator,
    first: np.ndarray,
    start: np.ndarray | None,
) -> np.ndarray:
    """About the leading eigenvectors of an operator with eigenvalues in [-1, 1].

    Subspace iteration with Chebyshev filters: a fixed number of block products in single precision.
    (A Lanczos method needs ten times as long where many eigenvalues crowd near 1, as here.)
    `times` applies the operator, `first` is about the leading eigenvector, `start` are vectors to
    begin with, which save a round of filters.
    """
    block = rng.standard_normal((n, min(n_leading + SPARE, n)), dtype=np.float32)
    block[:, 0] = first
    rounds = 4 if start is None else 3
    if start is not None:
        block[:, 1 : 1 + start.shape[1]] = start[:, : block.shape[1] - 1]
    for number in range(rounds + 1):
        block /= np.maximum(np.sqrt((block**2).sum(axis=0)), 1e-20)
        size, axes = np.linalg.eigh((block.T @ block).astype(np.float64))
        block = block @ (axes / np.sqrt(np.maximum(size, 1e-7))).astype(np.float32)
        image = times(block)
        size, turn = np.linalg.eigh((block.T @ image).astype(np.float64))
        turn = turn.astype(np.float32)
        block, image = block @ turn, image @ turn
        if number == rounds:
            break
        # Damp everything in [-1, low].
        low = np.float32(min(max(size[0], 0.0), 0.99) if number else 0.5)
        half, middle = (low + 1) / 2, (low - 1) / 2
        before, now = block, (image - middle * block) / half
        for _ in range(DEGREE - 1):
            before, now = now, (2 / half) * (times(now) - middle * now) - before
        block = now
    return block[:, -n_leading:].astype(np.float64)


class NeighborGraph:
    """Clusters along the graph of neighbors (or in the `learned` distance): rings, spirals."""

    def __init__(self, learned: bool = False) -> None:
        self.learned = learned

    @property
    def name(self) -> str:
        """``"graph"`` or ``"graph-learned"``."""
        return "graph-learned" if self.learned else "graph"

    def prepare(self, X: np.ndarray, n_clusters: int, seed: int) -> None:
        """Make the graph of the points as given, and its coordinates without pairs."""
        if not self.learned:
            common = int(np.clip(len(X) // (3 * n_clusters), SCALE_NEIGHBOR, MORE_NEIGHBORS))
            self._neighbors = Neighbors.of(X, common)
            n_leading = min(max(n_clusters, min(2 * n_clusters, 20)), len(X))
            nothing = Links.of(Constraints(n_points=len(X)))
            self._plain = coordinates(self._neighbors.graph, n_leading, seed, nothing)

    def see(self, scene: Scene) -> Seen:
        """Propagate the pairs, take leading eigenvectors, and cluster these."""
        if self.learned:
            neighbors, plain = Neighbors.of(scene.contrast.coordinates), None
        else:
            neighbors, plain = self._neighbors, self._plain
        links = Links.of(scene.known)
        reached = spread_classes(neighbors.graph, links, scene.n_clusters)
        size = scene.n_clusters, scene.seed
        found = coordinates(neighbors.graph, *size, links, plain, scene.weight)
        # What is free of knowledge is a feature of its own.
        features = found if plain is None else np.hstack([found, plain])
        distance = scene.contrast if self.learned else None
        if reached is None:
            labels = scene.cluster(found)
        else:
            labels = scene.assign(-np.log(reached), 0.25)  # costs are nats
        return Seen(labels, found, features, (neighbors, distance))

    def place(self, seen: Seen, X: np.ndarray) -> Seen:
        """Average the coordinates of the nearest neighbors."""
        neighbors, distance = seen.model
        assert seen.coordinates is not None
        assert seen.features is not None
        features = neighbors.average(X if distance is None else distance.map(X), seen.features)
        places = features[:, : seen.coordinates.shape[1]]
        return Seen(nearest_means(seen.coordinates, seen.labels, places), places, features)
