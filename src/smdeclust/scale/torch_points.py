"""Points on a device through PyTorch: many solutions at once, one matrix product for all.

The data go to the device once, in single precision and minus their mean. An iteration multiplies
them with the centers of all solutions, sends the few costs of the linked groups back, and sums the
clusters while those are assigned exactly on the processor.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smdeclust.assignment.exact import assign
from smdeclust.assignment.general import Budget
from smdeclust.assignment.status import SOLVED
from smdeclust.exceptions import InvalidInputError, NoFeasibleSolutionError, SMDEClustError
from smdeclust.local_search.array_points import ClusterSums, Fillers, available_threads
from smdeclust.local_search.streaming import as_small, assign_linked, is_past
from smdeclust.problem import Core, Problem, Solution
from smdeclust.scale.linked_costs import assign_all_by_costs

# Numbers of the products held at once (1 GiB).
MOST_PRODUCTS = 2**28
# Threads that assign linked groups while the device works.
MOST_JOBS = 5
# Rows that go to the device at once.
UPLOAD_ROWS = 8192
# Falling by less than this share of the total sum of squares is rounding: sums are in float32.
LEAST_FALL = 1e-8


class DeviceMemoryError(SMDEClustError, MemoryError):
    """The data do not fit on the device."""


@dataclass
class _Run:
    """Where the local search of one solution stands."""

    number: int
    linked: np.ndarray
    moves: dict[int, int]
    gain: float = -np.inf
    n_done: int = 0
    proven: bool = True
    finished: bool = False


@dataclass(frozen=True)
class _Limits:
    """When to stop: iterations, pivots for each proof, a moment of ``time.perf_counter()``."""

    max_iter: int | None
    proof_pivots: int | None
    deadline: float | None


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
        torch = self.torch = _import_torch()
        self.problem = problem
        self.device = _usable_device(torch, device)
        grouping = problem.grouping
        self.n_linked = grouping.n_linked
        self.seen = _as_seen(problem)
        self.lone = np.flatnonzero(grouping.of_point >= grouping.n_compound)
        self.n_free = len(self.lone) + grouping.n_compound - grouping.n_linked
        try:
            self._upload()
        except torch.OutOfMemoryError as error:
            raise self._no_room(error) from None
        self._n_jobs = min(available_threads(), MOST_JOBS)
        self._pool = ThreadPoolExecutor(self._n_jobs)

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

    def search_all(
        self,
        starts: list[np.ndarray],
        *,
        max_iter: int | None = None,
        proof_pivots: int | None = None,
        deadline: float | None = None,
    ) -> list[Solution]:
        """Local searches from several (K, d) starts minus the offset, all at once.

        `max_iter`, `proof_pivots` and `deadline` are those of :func:`local_search`.
        """
        limits = _Limits(max_iter, proof_pivots, deadline)
        try:
            return self._search_all(starts, limits)
        except self.torch.OutOfMemoryError as error:
            raise self._no_room(error) from None

    def _search_all(self, starts: list[np.ndarray], limits: _Limits) -> list[Solution]:
        torch = self.torch
        centers = torch.from_numpy(np.stack(starts)).to(self.device)
        kind = _label_type(torch, len(starts[0]))
        labels = torch.full((self.n_free, len(starts)), -1, dtype=kind, device=self.device)
        done = torch.empty_like(labels)
        runs = [_Run(s, np.full(self.n_linked, -1), {}) for s in range(len(starts))]
        active = runs
        while active:
            which = torch.tensor([run.number for run in active], device=self.device)
            moved, labels = self._iterate(active, centers[which], labels, limits)
            centers[which] = moved
            going = [s for s, run in enumerate(active) if not run.finished]
            if len(going) < len(active):
                done[:, which] = labels
                labels = labels[:, going]
                active = [active[s] for s in going]
        return self._solutions(runs, centers, done)

    def _iterate(
        self, runs: list[_Run], centers: Any, labels: Any, limits: _Limits
    ) -> tuple[Any, Any]:
        """One iteration of all runs: their (S, K, d) new centers and (n, S) new labels."""
        torch = self.torch
        n_runs, n_clusters, n_features = centers.shape
        single = centers.reshape(-1, n_features).to(torch.float32)
        norms = (single * single).sum(dim=1)
        # The linked groups first: their costs travel while the device goes on.
        costs = torch.addmm(norms, self.X[self.n_free :], single.T, alpha=-2.0)
        costs = costs.view(-1, n_runs, n_clusters).transpose(0, 1).contiguous()
        costs_here = self._fetch(costs)
        arrived = self._mark()
        sums, totals, labels, changed = self._assign_free(single, norms, n_runs, n_clusters, labels)
        few_here = self._fetch(torch.cat([totals, changed[:, None]], dim=1))
        if arrived is not None:
            arrived.synchronize()
        # A cluster without free points is seen when the sums are there, and looked after below.
        found = self._solve_linked(runs, costs_here.numpy(), limits.proof_pivots)
        if arrived is not None:
            torch.cuda.synchronize(self.device)
        few = few_here.numpy()
        for s, run in enumerate(runs):
            if (few[s, :n_clusters] == 0).any():
                found[s] = self._solve_empty(
                    run, centers[s], labels[:, s], sums[s], totals[s], limits.proof_pivots
                )
        placed = torch.from_numpy(np.stack([linked for linked, _, _ in found], axis=1))
        sums, totals = self._add_linked(sums, totals, placed.to(self.device))
        moved = sums / totals[..., None]
        gains = (totals * (moved * moved).sum(dim=2)).sum(dim=1).cpu().numpy()
        late = is_past(limits.deadline)
        for s, run in enumerate(runs):
            linked, moves, proven = found[s]
            n_changed = int(few[s, -1]) + int(np.count_nonzero(linked != run.linked))
            falling = gains[s] - run.gain > LEAST_FALL * self.problem.total_squares
            run.linked, run.moves, run.proven = linked, moves, proven
            run.gain = max(run.gain, float(gains[s]))
            run.n_done += 1
            run.finished = n_changed == 0 or not falling or run.n_done == limits.max_iter or late
        return moved, labels

    def _assign_free(
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

    def _fetch(self, tensor: Any) -> Any:
        """Start a copy to the processor; wait for the device before it is read."""
        if self.device.type != "cuda":
            return tensor
        here = self.torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        return here.copy_(tensor, non_blocking=True)

    def _mark(self) -> Any:
        """A point in the device's work that can be waited for."""
        if self.device.type != "cuda":
            return None
        event = self.torch.cuda.Event()
        event.record()
        return event

    def _solve_linked(
        self, runs: list[_Run], tables: np.ndarray, proof_pivots: int | None
    ) -> list[tuple[np.ndarray, dict[int, int], bool]]:
        """The linked groups of all runs, exactly, where no cluster wants for free points."""
        core = self.seen.linked_core
        labels = np.empty((len(runs), core.n_linked), dtype=np.int64)
        statuses = np.full(len(runs), SOLVED)
        if core.n_linked:
            # Few jobs: threads that hand a lock around would slow down who feeds the device.
            ends = np.linspace(0, len(runs), min(len(runs), self._n_jobs) + 1).astype(int)

            def solve(start: int, stop: int) -> None:
                assign_all_by_costs(
                    tables[start:stop], core.weights, core.indptr, core.indices,
                    labels[start:stop], statuses[start:stop],
                )  # fmt: skip

            list(self._pool.map(solve, ends[:-1], ends[1:]))
        return [
            (labels[s], {}, True)
            if statuses[s] == SOLVED
            else self._solve_hard(run, tables[s], proof_pivots)
            for s, run in enumerate(runs)
        ]

    def _solve_hard(
        self, run: _Run, table: np.ndarray, proof_pivots: int | None
    ) -> tuple[np.ndarray, dict[int, int], bool]:
        """The linked groups of one run where they have a dense core."""
        core = self.seen.linked_core
        upper = run.linked if run.n_done else None
        enough = np.ones(table.shape[1], dtype=np.int64)
        small = as_small(core, table.astype(np.float64))
        found, cost, bound = assign(*small, upper, Budget(max_pivots=proof_pivots), enough)
        if found is None:
            raise NoFeasibleSolutionError(
                "No feasible assignment was found: the cannot-links are dense, and whether they "
                "can be kept with so many clusters is not known. Use more clusters or fewer pairs."
            )
        return found, {}, bound >= cost

    def _solve_empty(
        self,
        run: _Run,
        centers: Any,
        labels: Any,
        sums: Any,
        totals: Any,
        proof_pivots: int | None,
    ) -> tuple[np.ndarray, dict[int, int], bool]:
        """The same where a cluster has no free point; moves of free points change the sums."""
        torch = self.torch
        counts = torch.bincount(labels[self.filling].long(), minlength=len(centers))
        held = ClusterSums(
            sums.cpu().numpy().copy(), totals.cpu().numpy().copy(), counts.cpu().numpy()
        )
        view: Any = _OneRun(self, labels)
        upper = run.linked if run.n_done else None
        linked, moves, proven = assign_linked(
            self.seen, view, centers.cpu().numpy(), held, upper, Budget(max_pivots=proof_pivots)
        )
        # The linked groups are added for all runs together: keep only what moved.
        core = self.seen.linked_core
        np.add.at(held.sums, linked, -core.weights[:, None] * core.points)
        np.add.at(held.totals, linked, -core.weights)
        sums.copy_(torch.from_numpy(held.sums))
        totals.copy_(torch.from_numpy(held.totals))
        return linked, moves, proven

    def _add_linked(self, points: Any, totals: Any, placed: Any) -> tuple[Any, Any]:
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

    def _solutions(self, runs: list[_Run], centers: Any, labels: Any) -> list[Solution]:
        """Objectives and labels of finished runs."""
        for run in runs:
            for where, k in run.moves.items():
                labels[where, run.number] = k
        squares = self._squares(centers, labels) + self._linked_squares(runs, centers)
        host, points = labels.cpu().numpy(), centers.cpu().numpy()
        grouping, problem = self.problem.grouping, self.problem
        solutions = []
        for run in runs:
            found = np.empty(grouping.n_groups, dtype=np.int32)
            found[: self.n_linked] = run.linked
            free = host[:, run.number]
            found[grouping.n_compound :] = free[: len(self.lone)]
            found[self.n_linked : grouping.n_compound] = free[len(self.lone) :]
            own = points[run.number]
            value = float(squares[run.number]) + problem.scatter
            solutions.append(Solution(found, own, value, run.n_done, run.proven))
        return solutions

    def _squares(self, centers: Any, labels: Any) -> np.ndarray:
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

    def _linked_squares(self, runs: list[_Run], centers: Any) -> np.ndarray:
        """(S,) squared distances of the linked groups to their centers, in float64."""
        torch = self.torch
        total = torch.zeros(len(centers), dtype=torch.float64, device=self.device)
        for s, run in enumerate(runs):
            placed = torch.from_numpy(run.linked).to(self.device)
            gaps = self.linked_points - centers[s][placed]
            total[s] = (gaps * gaps).sum(dim=1) @ self.linked_weights
        return np.asarray(total.cpu().numpy())

    def _no_room(self, error: Exception) -> DeviceMemoryError:
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


class _OneRun:
    """The free points as one run sees them, for the rare case of a cluster without any."""

    def __init__(self, points: TorchPoints, labels: Any) -> None:
        self.points, self.labels = points, labels

    def fillers(self, centers: np.ndarray) -> Fillers:
        """The free groups among the K cheapest to move to some cluster, by regret."""
        device, torch = self.points, self.points.torch
        X, weights = device.X[: device.n_free], device.weights
        there = torch.from_numpy(centers).to(device.device)
        single = there.to(torch.float32)
        scores = (single * single).sum(dim=1) - 2.0 * (X @ single.T)
        own = scores.gather(1, self.labels.long()[:, None])
        regrets = (scores - own) * weights[:, None]
        regrets[~device.filling] = torch.inf
        most = min(len(centers), device.n_free)
        rows = torch.unique(torch.topk(regrets, most, dim=0, largest=False).indices)
        rows = rows[device.filling[rows]]
        return Fillers(
            where=rows.cpu().numpy(),
            points=X[rows].to(torch.float64).cpu().numpy(),
            weights=weights[rows].to(torch.float64).cpu().numpy(),
            labels=self.labels[rows].long().cpu().numpy(),
        )


def _import_torch() -> Any:
    try:
        import torch
    except ImportError:
        raise InvalidInputError(
            "device needs PyTorch, which is not installed: pip install 'smdeclust[torch]'."
        ) from None
    return torch


def _usable_device(torch: Any, device: str) -> Any:
    try:
        found = torch.device(device)
        torch.zeros(1, device=found)
    except (RuntimeError, AssertionError, TypeError) as error:
        first = str(error).split("\n")[0]
        raise InvalidInputError(f"device={device!r} cannot be used: {first}.") from None
    return found


def _label_type(torch: Any, n_clusters: int) -> Any:
    return torch.int16 if n_clusters < 2**15 else torch.int32
