"""Local searches on a device, many at once.

An iteration multiplies the points with the centers of all solutions, sends the few costs of the
linked groups back, and sums the clusters while those are assigned exactly on the processor.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.exact import assign_points
from smdeclust.assignment.status import SOLVED
from smdeclust.assignment.tables import assign_tables
from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.local_search.streaming import as_small, assign_linked, is_past
from smdeclust.points.array_points import ClusterSums, Fillers, available_threads
from smdeclust.points.torch_points import TorchPoints
from smdeclust.problem import Problem, Solution

# Threads that assign linked groups while the device works.
MOST_JOBS = 5
# Falling by less than this share of the total sum of squares is rounding: sums are in float32.
LEAST_FALL = 1e-8


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


class DeviceSearch:
    """Local searches of a problem whose points are on a device.

    Parameters
    ----------
    problem
        A problem in memory.
    device
        What ``torch.device`` takes: ``"cuda"``, ``"cuda:1"``, ``"cpu"``.
    """

    def __init__(self, problem: Problem, device: str) -> None:
        self.points = TorchPoints(problem, device)
        self._n_jobs = min(available_threads(), MOST_JOBS)
        self._pool = ThreadPoolExecutor(self._n_jobs)

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
        except self.points.torch.OutOfMemoryError as error:
            raise self.points.no_room(error) from None

    def _search_all(self, starts: list[np.ndarray], limits: _Limits) -> list[Solution]:
        torch = self.points.torch
        centers = torch.from_numpy(np.stack(starts)).to(self.points.device)
        kind = _label_type(torch, len(starts[0]))
        labels = torch.full(
            (self.points.n_free, len(starts)), -1, dtype=kind, device=self.points.device
        )
        done = torch.empty_like(labels)
        runs = [_Run(s, np.full(self.points.n_linked, -1), {}) for s in range(len(starts))]
        active = runs
        while active:
            which = torch.tensor([run.number for run in active], device=self.points.device)
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
        torch = self.points.torch
        n_runs, n_clusters, n_features = centers.shape
        single = centers.reshape(-1, n_features).to(torch.float32)
        norms = (single * single).sum(dim=1)
        # The linked groups first: their costs travel while the device goes on.
        costs = self.points.linked_products(single, norms)
        costs = costs.view(-1, n_runs, n_clusters).transpose(0, 1).contiguous()
        costs_here = self.points.fetch(costs)
        arrived = self.points.mark()
        sums, totals, labels, changed = self.points.assign_free(
            single, norms, n_runs, n_clusters, labels
        )
        few_here = self.points.fetch(torch.cat([totals, changed[:, None]], dim=1))
        if arrived is not None:
            arrived.synchronize()
        # A cluster without free points is seen when the sums are there, and looked after below.
        found = self._solve_linked(runs, costs_here.numpy(), limits.proof_pivots)
        if arrived is not None:
            torch.cuda.synchronize(self.points.device)
        few = few_here.numpy()
        for s, run in enumerate(runs):
            if (few[s, :n_clusters] == 0).any():
                found[s] = self._solve_empty(
                    run, centers[s], labels[:, s], sums[s], totals[s], limits.proof_pivots
                )
        placed = torch.from_numpy(np.stack([linked for linked, _, _ in found], axis=1))
        sums, totals = self.points.add_linked(sums, totals, placed.to(self.points.device))
        moved = sums / totals[..., None]
        gains = (totals * (moved * moved).sum(dim=2)).sum(dim=1).cpu().numpy()
        late = is_past(limits.deadline)
        for s, run in enumerate(runs):
            linked, moves, proven = found[s]
            n_changed = int(few[s, -1]) + int(np.count_nonzero(linked != run.linked))
            falling = gains[s] - run.gain > LEAST_FALL * self.points.problem.total_squares
            run.linked, run.moves, run.proven = linked, moves, proven
            run.gain = max(run.gain, float(gains[s]))
            run.n_done += 1
            run.finished = n_changed == 0 or not falling or run.n_done == limits.max_iter or late
        return moved, labels

    def _solve_linked(
        self, runs: list[_Run], tables: np.ndarray, proof_pivots: int | None
    ) -> list[tuple[np.ndarray, dict[int, int], bool]]:
        """The linked groups of all runs, exactly, where no cluster wants for free points."""
        core = self.points.seen.linked_core
        labels = np.empty((len(runs), core.n_linked), dtype=np.int64)
        statuses = np.full(len(runs), SOLVED)
        if core.n_linked:
            # Few jobs: threads that hand a lock around would slow down who feeds the device.
            ends = np.linspace(0, len(runs), min(len(runs), self._n_jobs) + 1).astype(int)

            def solve(start: int, stop: int) -> None:
                assign_tables(
                    tables[start:stop], core.weights, core.graph.arrays, labels[start:stop],
                    statuses[start:stop],
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
        core = self.points.seen.linked_core
        upper = run.linked if run.n_done else None
        enough = np.ones(table.shape[1], dtype=np.int64)
        small = as_small(core, table.astype(np.float64))
        budget = Budget.of(max_pivots=proof_pivots)
        found, cost, bound = assign_points(*small, upper, budget, enough)
        if found is None:
            raise NoFeasibleSolutionError
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
        torch = self.points.torch
        counts = torch.bincount(labels[self.points.filling].long(), minlength=len(centers))
        held = ClusterSums(
            sums.cpu().numpy().copy(), totals.cpu().numpy().copy(), counts.cpu().numpy()
        )
        view: Any = _OneRun(self.points, labels)
        upper = run.linked if run.n_done else None
        linked, moves, proven = assign_linked(
            self.points.seen,
            view,
            centers.cpu().numpy(),
            held,
            upper,
            Budget.of(max_pivots=proof_pivots),
        )
        # The linked groups are added for all runs together: keep only what moved.
        core = self.points.seen.linked_core
        np.add.at(held.sums, linked, -core.weights[:, None] * core.points)
        np.add.at(held.totals, linked, -core.weights)
        sums.copy_(torch.from_numpy(held.sums))
        totals.copy_(torch.from_numpy(held.totals))
        return linked, moves, proven

    def _solutions(self, runs: list[_Run], centers: Any, labels: Any) -> list[Solution]:
        """Objectives and labels of finished runs."""
        for run in runs:
            for where, k in run.moves.items():
                labels[where, run.number] = k
        squares = self.points.squares(centers, labels) + self.points.linked_squares(
            [run.linked for run in runs], centers
        )
        host, points = labels.cpu().numpy(), centers.cpu().numpy()
        grouping, problem = self.points.problem.grouping, self.points.problem
        solutions = []
        for run in runs:
            found = np.empty(grouping.n_groups, dtype=np.int32)
            found[: self.points.n_linked] = run.linked
            free = host[:, run.number]
            found[grouping.n_compound :] = free[: len(self.points.lone)]
            found[self.points.n_linked : grouping.n_compound] = free[len(self.points.lone) :]
            own = points[run.number]
            value = float(squares[run.number]) + problem.scatter
            solutions.append(Solution(found, own, value, run.n_done, run.proven))
        return solutions


class _OneRun:
    """The free points as one run sees them, for the rare case of a cluster without any."""

    def __init__(self, points: TorchPoints, labels: Any) -> None:
        self.points, self.labels = points, labels

    def fillers(self, centers: np.ndarray) -> Fillers:
        """The free groups among the K cheapest to move to some cluster, by regret."""
        return self.points.fillers(centers, self.labels)


def _label_type(torch: Any, n_clusters: int) -> Any:
    return torch.int16 if n_clusters < 2**15 else torch.int32
