"""What a choice of questions sees: points, the model's clusters, its views, the answers so far."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linear_sum_assignment

from smdeclust.constraints import Constraints
from smdeclust.constraints.store import KINDS
from smdeclust.structure.graph import cannot_link_graph
from smdeclust.structure.groups import contract
from smdeclust.structure.pairs import as_pairs, count_broken
from smdeclust.structure.rejections import reject_contradictions
from smdeclust.views.scene import kept_as_hard


class Known:
    """Pairs of rows, read as answers. A *group* is a set of points that belong together."""

    def __init__(self, n_points: int, must_link: np.ndarray, cannot_link: np.ndarray) -> None:
        self.n_points = n_points
        self.answered: set[tuple[int, int]] = set()  # by soft answers, believed or not
        grouping = contract(n_points, must_link, cannot_link)
        self.group_of = grouping.of_point
        ends = np.concatenate([must_link.ravel(), cannot_link.ravel()])
        self.n_answers = np.bincount(ends, minlength=n_points)  # about each row
        self.n_linked, self.n_compound = grouping.n_linked, grouping.n_compound
        edges = grouping.of_point[cannot_link]
        reject_contradictions(edges, must_link, cannot_link)
        self._indptr, self._indices = cannot_link_graph(edges, grouping.n_linked)

    @classmethod
    def read(cls, constraints: Constraints, labels: np.ndarray) -> "Known":
        """All hard pairs, and those soft pairs that the clustering `labels` keeps.

        Soft pairs that are kept contradict nothing that is kept. Where hard pairs were added after
        the clustering was made they may; then the hard pairs alone count.
        """
        known, n = constraints.hardened(), len(labels)
        must, cannot, soft_must, soft_cannot = (as_pairs(getattr(known, k), n, k) for k in KINDS)
        hard_hold = not sum(count_broken(must, cannot, labels))
        believed = kept_as_hard(known, labels) if hard_hold else known
        out = cls(n, believed.must_link, believed.cannot_link)
        soft = np.sort(np.concatenate([soft_must, soft_cannot]), axis=1)
        out.answered = {(i, j) for i, j in soft.tolist()}
        return out

    def apart_from(self, group: int) -> np.ndarray:
        """The groups known to differ from this one by an answer of their own."""
        if group >= self.n_linked:
            return np.empty(0, dtype=np.int64)
        return self._indices[self._indptr[group] : self._indptr[group + 1]]

    @cached_property
    def members(self) -> dict[int, np.ndarray]:
        """Rows of each group that was answered about."""
        rows = np.flatnonzero(self.is_answered)
        order = rows[np.argsort(self.group_of[rows], kind="stable")]
        parts = np.unique(self.group_of[order], return_index=True, return_counts=True)
        return {int(g): order[start : start + n] for g, start, n in zip(*parts, strict=True)}

    @cached_property
    def is_answered(self) -> np.ndarray:
        """(N,) whether a row is in any answer that counts."""
        return np.asarray(self.group_of < self.n_compound)

    def follows(self, first: int, second: int) -> bool:
        """Whether the answer to this pair of rows follows from others."""
        a, b = int(self.group_of[first]), int(self.group_of[second])
        return a == b or b in self.apart_from(a)


@dataclass(frozen=True, eq=False)
class Picture:
    """The clustering as it stands."""

    points: np.ndarray  # (N, d) in the coordinates in which the model measures distances
    labels: np.ndarray  # (N,) its clusters
    n_clusters: int  # K
    known: Known  # the answers so far
    rng: np.random.Generator  # for random choices
    unsure: set[tuple[int, int]]  # pairs without an answer (don't know), the smaller row first
    ids: np.ndarray | None = None  # of each point, for reasons
    # labels of the views of the model, each with its weight; none for a model without views
    views: tuple[tuple[np.ndarray, float], ...] = ()

    @cached_property
    def votes(self) -> np.ndarray:
        """(N, K) share of the views, by weight, that have a point in each cluster."""
        votes = np.zeros((len(self.labels), self.n_clusters))
        for labels, weight in self.views or ((self.labels, 1.0),):
            numbered = match_labels(labels, self.labels, self.n_clusters)
            votes[np.arange(len(labels)), numbered] += weight
        return votes / votes.sum(axis=1, keepdims=True)


def match_labels(labels: np.ndarray, onto: np.ndarray, n_clusters: int) -> np.ndarray:
    """Renumber `labels` so that they agree with `onto` on as many points as possible.

    Points of `onto` that are in no such cluster do not count.
    """
    there = (onto >= 0) & (onto < n_clusters)
    table = np.zeros((n_clusters, n_clusters))
    np.add.at(table, (labels[there], onto[there]), 1.0)
    return linear_sum_assignment(-table)[1].astype(np.int64)[labels]
