"""Check the trees of a certificate: their leaves must cover every clustering of their part.

Every part of the rows has one tree; its root stands for all clusterings. A node is a leaf or has
exactly two children, which put the same two rows together and apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from smdeclust.exact.certificate import KINDS, VALUES, Multipliers, Proof
from smdeclust.exact.verify_bound import in_range, require


@dataclass(frozen=True)
class Tree:
    """One checked tree: the leaves of one part."""

    rows: np.ndarray  # rows of the data that the part consists of
    leaves: list[int]  # places of its leaves in proof.leaf_node


def check_forest(proof: Proof, n: int) -> list[Tree]:
    """Check shapes, pointers and branching; return one tree for each part."""
    _check_shapes(proof)
    part = proof.part if len(proof.part) else np.zeros(n, np.int64)
    require(len(part) == n, f"parts of {len(part)} rows, but there are {n}")
    size = len(proof.parent)
    require(size >= 1 and proof.parent[0] == -1, "the tree has no root")
    require(in_range(proof.parent, -1, size), "a parent is not a node")
    require(bool(np.all(proof.parent < np.arange(size))), "a node comes before its parent")
    below = proof.parent >= 0
    for name in ("first", "second"):
        require(in_range(getattr(proof, name)[below], 0, n), "a node refers to no row of the data")
    roots = np.flatnonzero(~below)
    require(in_range(part, 0, len(roots)), "a row is in no part, or a part has no tree")
    require(len(np.unique(part)) == len(roots), "a part without rows")

    children = np.flatnonzero(below)
    order = children[np.argsort(proof.parent[children], kind="stable")]
    require(len(order) % 2 == 0, "a node has one child")
    a, b = order[::2], order[1::2]
    inner = proof.parent[a]
    require(bool(np.all(inner == proof.parent[b])), "a node has one child")
    require(len(np.unique(inner)) == len(inner), "a node has more than two children")
    kinds = np.sort(np.column_stack([proof.kind[a], proof.kind[b]]), axis=1)
    require(bool(np.all(kinds == [-1, 1])), "two children must be one together and one apart")
    same = (proof.first[a] == proof.first[b]) & (proof.second[a] == proof.second[b])
    require(bool(np.all(same)), "the children of a node decide on different pairs")

    root_of = np.empty(size, np.int64)
    root_of[roots] = np.arange(len(roots))
    for node in children:  # parents come first
        root_of[node] = root_of[proof.parent[node]]
    for name in ("first", "second"):
        rows = getattr(proof, name)[children]
        require(bool(np.all(part[rows] == root_of[children])), "a pair outside of its part")
    leaf_nodes = np.setdiff1d(np.arange(size), inner)
    require(
        len(proof.leaf_node) == len(leaf_nodes)
        and np.array_equal(np.sort(proof.leaf_node), leaf_nodes),
        "the leaves with multipliers are not the leaves of the tree",
    )
    leaves: list[list[int]] = [[] for _ in roots]
    for place, node in enumerate(proof.leaf_node):
        leaves[root_of[node]].append(place)
    rows_of = np.split(np.argsort(part, kind="stable"), np.cumsum(np.bincount(part))[:-1])
    return [Tree(rows, mine) for rows, mine in zip(rows_of, leaves, strict=True)]


def _check_shapes(proof: Proof) -> None:
    for name, array in vars(proof).items():
        kinds, n_axes = "f" if name in VALUES else "iu", 2 if name == "cut_rows" else 1
        plain = isinstance(array, np.ndarray) and array.dtype.kind in kinds
        require(plain and array.ndim == n_axes, f"{name} has the wrong type or shape")
    for name in ("kind", "first", "second"):
        require(len(getattr(proof, name)) == len(proof.parent), f"{name} has the wrong length")
    for kind, names in KINDS.items():
        at, n = getattr(proof, f"{kind}_ptr"), len(getattr(proof, f"{kind}_value"))
        require(len(at) == len(proof.leaf_node) + 1, f"{kind}_ptr has the wrong length")
        ends = at[0] == 0 and at[-1] == n
        require(bool(ends and np.all(at[1:] >= at[:-1])), f"{kind}_ptr does not add up")
        for name in names:
            require(len(getattr(proof, name)) == n, f"{name}: length")


def multipliers_of(proof: Proof, leaf: int, place: np.ndarray) -> Multipliers:
    """Multipliers of one leaf, with row i of the data called ``place[i]``; none elsewhere."""

    def rows(names: np.ndarray) -> np.ndarray:
        require(in_range(names, -1, len(place)), "a multiplier refers to no row of the data")
        found = np.where(names < 0, -1, place[names])
        require(bool(np.all((found >= 0) | (names < 0))), "a multiplier of a row of another part")
        return found

    owned = {}
    for kind, names in KINDS.items():
        low, high = getattr(proof, f"{kind}_ptr")[leaf : leaf + 2]
        for name in names:
            mine = getattr(proof, name)[int(low) : int(high)]
            owned[name] = mine.astype(np.float64) if name in VALUES else rows(mine)
    return Multipliers(**owned)


def close(n: int, together: np.ndarray, apart: np.ndarray, k: int) -> np.ndarray | None:
    """Group of every row under the pairs, or None if they contradict each other.

    With two clusters, two rows that are both apart from a third are together.
    """
    while True:
        links = coo_array((np.ones(len(together)), (together[:, 0], together[:, 1])), (n, n))
        group = connected_components(links, directed=False)[1].astype(np.int64)
        ends = group[apart]
        if np.any(ends[:, 0] == ends[:, 1]):
            return None
        if k != 2 or len(apart) == 0:
            return group
        sides = np.vstack([ends, ends[:, ::-1]])
        others = np.concatenate([apart[:, 1], apart[:, 0]])
        enemy = np.empty(int(group.max()) + 1, np.int64)
        enemy[sides[:, 0]] = others  # one enemy of each group that has any
        more = np.column_stack([others, enemy[sides[:, 0]]])
        more = more[group[more[:, 0]] != group[more[:, 1]]]
        if len(more) == 0:
            return group
        together = np.vstack([together, more])


def iterate(proof: Proof, tree: Tree) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Leaves of a tree: its place, the pairs of rows that it puts together, and apart."""
    for leaf in tree.leaves:
        pairs: dict[int, list[tuple[int, int]]] = {1: [], -1: []}
        node = int(proof.leaf_node[leaf])
        while proof.parent[node] >= 0:
            pairs[int(proof.kind[node])].append((int(proof.first[node]), int(proof.second[node])))
            node = int(proof.parent[node])
        together, apart = (np.array(pairs[kind], np.int64).reshape(-1, 2) for kind in (1, -1))
        yield leaf, together, apart
