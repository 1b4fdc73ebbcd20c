"""Points on a device through PyTorch: many solutions at once, one matrix product for all.

The data go to the device once, in single precision and minus their mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smdeclust.points.array_points import Fillers
from smdeclust.points.torch_device import DeviceMemoryError, import_torch, usable_device
from smdeclust.problem import Core, Problem

# Numbers of the products held at once (1 GiB).
MOST_PRODUCTS = 2**28
# Rows that go to the device at once.
UPLOAD_ROWS = 8192


class TorchPoints:
    """The points of a problem on a device.

    Rows are, in this order: lone free points, free groups of several points, linked groups.

    Parameters
    ----------
    problem
        A problem in memory.
    device
        What ``torch.device`` takes: ``"cuda"``, ``"cuda:1"``, ``"cpu"``.
    """

    def __init__(self, problem: Problem, device: str) -> None:
        torch = self.torch = import_torch()
        self.problem = problem
        self.device = usable_device(torch, device)
        grouping = problem.grouping
        self.n_linked = grouping.n_linked
        self.seen = _as_seen(problem)
        self.lone = np.flatnonzero(grouping.of_point >= grouping.n_compound)
        self.n_free = len(self.lone) + grouping.n_compound - grouping.n_linked
        try:
            self._upload()
        except torch.OutOfMemoryError as error:
            raise self.no_room(error) from None

    def _upload(self) -> None:
        torch, problem = self.torch, self.problem
        n, d = self.n_free + self.n_linked, self.seen.n_features
        self.X = torch.empty((n, d), dtype=torch.float32, device=self.device)
        for start in range(0, len(self.lone), UPLOAD_ROWS):
            rows = self.lone[start : start + UPLOAD_ROWS]
            part = self.seen.lone_points(rows, start).astype(np.float32)
            self.X[start : start + len(rows)] = torch.from_numpy(part).to(self.device)
        means = self.seen.compound_means
        few = np.concatenate([means[self.n_linked :], means[: self.n_linked]]).astype(np.float32)
        self.X[len(self.lone) :] = torch.from_numpy(few).to(self.device)
        self.linked_points = torch.from_numpy(means[: self.n_linked].copy()).to(self.device)
        self.linked_weights = torch.from_numpy(problem.weights[: self.n_linked].copy()).to(
            self.device
        )
        weights = np.concatenate(
            [
                np.broadcast_to(problem.point_weights, problem.n_points)[self.lone],
                problem.weights[self.n_linked : problem.grouping.n_compound],
            ]
        )
        self.weights = torch.from_numpy(weights.astype(np.float32)).to(self.device)
        self.filling = self.weights > 0
        self.ones = torch.ones(self.n_free, dtype=torch.float32, device=self.device)

    def linked_products(self, single: Any, norms: Any) -> Any:
        """|y|^2 - 2 x.y of the linked groups, for all centers of all solutions."""
        return self.torch.addmm(norms, self.X[self.n_free :], single.T, alpha=-2.0)

    def assign_free(
        self, single: Any, norms: Any, n_runs: int, n_clusters: int, labels: Any
    ) -> tuple[Any, Any, Any, Any]:
        """Nearest centers of the free rows and what they add up to, part by part.

        Returns (S, K, d) sums and (S, K) weights in float64, the new (n, S) labels, and how many
        changed in each solution.
        """
        torch = self.torch
        size, n_features = n_runs * n_clusters, single.shape[1]
        sums = torch.zeros((size, n_features), dtype=torch.float64, device=self.device)
        totals = torch.zeros(size, dtype=torch.float64, device=self.device)
        changed = torch.zeros(n_runs, dtype=torch.float64, device=self.device)
        found = torch.empty_like(labels)
        step = max(1, MOST_PRODUCTS // (2 * size))
        shift = torch.arange(n_runs, device=self.device) * n_clusters
        for start in range(0, self.n_free, step):
            part = slice(start, min(start + step, self.n_free))
            X = self.X[part]
            scores = torch.addmm(norms, X, single.T, alpha=-2.0)
            nearest = scores.view(-1, n_runs, n_clusters).argmin(dim=2)
            found[part] = nearest
            # The same storage now holds who is where: a weight in each row for each solution.
            share = scores.zero_()
            share.scatter_(1, nearest + shift, self.weights[part, None].expand(-1, n_runs))
            sums += share.T @ X
            totals += self.ones[: len(X)] @ share
        changed += (found != labels).sum(dim=0)
        shape = n_runs, n_clusters
        return sums.view(*shape, -1), totals.view(shape), found, changed

    def add_linked(self, points: Any, totals: Any, placed: Any) -> tuple[Any, Any]:
        """Sums and weights with the linked groups, labelled (L, S), in float64."""
        if self.n_linked == 0:
            return points, totals
        torch = self.torch
        n_clusters = points.shape[1]
        chosen = torch.nn.functional.one_hot(placed, n_clusters).to(torch.float64)
        chosen *= self.linked_weights[:, None, None]
        flat = chosen.reshape(self.n_linked, -1)
        more = (flat.T @ self.linked_points).view_as(points)
        return points + more, totals + flat.sum(dim=0).view_as(totals)

    def squares(self, centers: Any, labels: Any) -> np.ndarray:
        """(S,) squared distances of the free rows to their centers, added up in float64."""
        torch = self.torch
        total = torch.zeros(len(centers), dtype=torch.float64, device=self.device)
        single = centers.to(torch.float32)
        step = max(1, MOST_PRODUCTS // (4 * self.X.shape[1]))
        for start in range(0, self.n_free, step):
            part = slice(start, min(start + step, self.n_free))
            for s in range(len(centers)):
                gaps = self.X[part] - single[s][labels[part, s].long()]
                rows = (gaps * gaps).sum(dim=1) * self.weights[part]
                total[s] += rows.sum(dtype=torch.float64)
        return np.asarray(total.cpu().numpy())

    def linked_squares(self, labels: list[np.ndarray], centers: Any) -> np.ndarray:
        """(S,) squared distances of the linked groups to their centers, in float64."""
        torch = self.torch
        total = torch.zeros(len(centers), dtype=torch.float64, device=self.device)
        for s, linked in enumerate(labels):
            placed = torch.from_numpy(linked).to(self.device)
            gaps = self.linked_points - centers[s][placed]
            total[s] = (gaps * gaps).sum(dim=1) @ self.linked_weights
        return np.asarray(total.cpu().numpy())

    def fillers(self, centers: np.ndarray, labels: Any) -> Fillers:
        """The free groups among the K cheapest to move to some cluster, by regret, given their
        labels in one solution."""
        torch = self.torch
        X, weights = self.X[: self.n_free], self.weights
        there = torch.from_numpy(centers).to(self.device)
        single = there.to(torch.float32)
        scores = (single * single).sum(dim=1) - 2.0 * (X @ single.T)
        own = scores.gather(1, labels.long()[:, None])
        regrets = (scores - own) * weights[:, None]
        regrets[~self.filling] = torch.inf
        most = min(len(centers), self.n_free)
        rows = torch.unique(torch.topk(regrets, most, dim=0, largest=False).indices)
        rows = rows[self.filling[rows]]
        return Fillers(
            where=rows.cpu().numpy(),
            points=X[rows].to(torch.float64).cpu().numpy(),
            weights=weights[rows].to(torch.float64).cpu().numpy(),
            labels=labels[rows].long().cpu().numpy(),
        )

    def fetch(self, tensor: Any) -> Any:
        """Start a copy to the processor; wait for the device before it is read."""
        if self.device.type != "cuda":
            return tensor
        here = self.torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        return here.copy_(tensor, non_blocking=True)

    def mark(self) -> Any:
        """A point in the device's work that can be waited for."""
        if self.device.type != "cuda":
            return None
        event = self.torch.cuda.Event()
        event.record()
        return event

    def no_room(self, error: Exception) -> DeviceMemoryError:
        """The error to raise where the device is full."""
        size = self.problem.X.shape[0] * self.problem.n_features * 4 / 2**30
        return DeviceMemoryError(
            f"The points take {size:.2f} GiB in single precision and do not fit on {self.device} "
            f"with what else is there ({error}). Use a larger device, or device=None."
        )


@dataclass(frozen=True)
class _Seen:
    """The problem in the coordinates of its kernels: rotated where d > G (see ``Core``)."""

    problem: Problem
    rotated: bool
    compound_means: np.ndarray
    linked_core: Core
    weights: np.ndarray
    n_linked: int
    n_features: int

    def lone_points(self, rows: np.ndarray, start: int) -> np.ndarray:
        """Lone points by their rows, of which `start` come before."""
        if not self.rotated:
            return np.asarray(self.problem.X[rows] - self.problem.offset)
        first = self.problem.grouping.n_compound + start
        return self.problem.core.points[first : first + len(rows)]


def _as_seen(problem: Problem) -> _Seen:
    n_linked, n_compound = problem.grouping.n_linked, problem.grouping.n_compound
    if problem.n_features <= problem.n_groups:
        means, linked = problem.compound_means, problem.linked_core
    else:
        means = problem.core.points[:n_compound]
        linked = replace(problem.core, points=means[:n_linked], weights=problem.weights[:n_linked])
    return _Seen(
        problem=problem,
        rotated=problem.n_features > problem.n_groups,
        compound_means=means,
        linked_core=linked,
        weights=problem.weights,
        n_linked=n_linked,
        n_features=means.shape[1],
    )
