"""Bounds for large data: prove each part of a split by itself, and add up.

Parts are independent: they are proven on several processes, kept in a folder if one is given (a
later run continues from there), and the weakest are joined and proven together while time is left.
"""

import hashlib
import logging
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from joblib.parallel import get_active_backend  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from smdeclust.exact.admm import Ending, Settings
from smdeclust.exact.block import Proven, bound_block, cost_of, without_search
from smdeclust.exact.certificate import Certificate, join_proofs, relative_gap
from smdeclust.exact.relaxation import IntArray
from smdeclust.exact.split import split
from smdeclust.exact.tree import STARTING
from smdeclust.exact.verify import admit, proven_below
from smdeclust.exact.verify_tree import close
from smdeclust.exceptions import SMDEClustError
from smdeclust.problem import Problem

logger = logging.getLogger(__name__)

Progress = Callable[[str], None]

SMALLEST, LARGEST, PER_CLUSTER = 250, 1000, 50
# A part of n groups takes about this many seconds times n^2 on one core.
_SECONDS = 5e-5
# Seconds below which a part is not begun.
_LEAST_SHARE = 0.05
# The gap of a part that is not worth more time, at first and later.
_FIRST_TOL, _JOINED_TOL = 5e-4, 2e-4
_JOINED_LARGEST = 1000


class Part(NamedTuple):
    """One part: its rows, and the best that is proven about them."""

    rows: IntArray
    proven: Proven

    @property
    def missing(self) -> float:
        """How far the bound is below what the labels cost in this part."""
        return self.proven.upper_bound - self.proven.lower_bound


def part_size(n_clusters: int, n_groups: int, seconds: float) -> int:
    """Groups in one part: enough points of every cluster, and time for all parts.

    The split alone loses about a share of K / (groups in a part) of the cost.
    """
    affordable = seconds / (_SECONDS * n_groups)
    return int(max(min(PER_CLUSTER * n_clusters, LARGEST, affordable), SMALLEST))


def prove_in_parts(jobs: "Jobs", n_parts: int, tol: float, progress: Progress | None) -> Proven:
    """Prove every part, join parts until the gap is `tol` or time is over; return all as one."""
    problem, labels, deadline = jobs.problem, jobs.labels, jobs.deadline
    upper = cost_of(problem, labels)
    try:
        number = np.unique(split(problem, labels, n_parts), return_inverse=True)[1].reshape(-1)
    except KeyboardInterrupt:
        return replace(without_search(problem, labels), ending=Ending.INTERRUPTED)
    blocks = [np.flatnonzero(number == p) for p in range(int(number.max()) + 1)]
    parts: list[Part] = []
    ending = Ending.TARGET
    try:
        # What the split loses anyhow, no part can make up for.
        first_tol = max(_FIRST_TOL, 0.05 * problem.n_clusters * n_parts / problem.n_groups)
        for part in jobs.run(blocks, min(first_tol, 0.01)):
            parts.append(part)
            _say(progress, parts, len(blocks), upper)
            _stop_if_interrupted([part])
        while len(parts) > 1 and time.time() < deadline < np.inf:
            lower = math.fsum(part.proven.lower_bound for part in parts)
            if relative_gap(upper, lower) <= tol:
                break
            pairs, rest = _weakest_pairs(parts, jobs, deadline - time.time())
            if not pairs:
                break
            joint = [np.concatenate([a.rows, b.rows]) for a, b in pairs]
            joined = list(jobs.run(joint, max(0.5 * tol, _JOINED_TOL)))
            better = _better(pairs, joined)
            parts = rest + better
            _stop_if_interrupted(joined)
            if len(better) == 2 * len(pairs):
                break
            _say(progress, parts, len(parts), upper)
    except KeyboardInterrupt:
        ending = Ending.INTERRUPTED
    # A part that ran out of its share, or was not begun: no longer for lack of parts alone.
    short = deadline < np.inf and any(part.proven.ending in (Ending.TIME, None) for part in parts)
    if ending is Ending.TARGET and (short or time.time() >= deadline):
        ending = Ending.TIME
    done = np.zeros(problem.n_points, bool)
    for part in parts:
        done[part.rows] = True
    for rows in blocks:
        if not done[rows].any():
            parts.append(Part(rows, without_search(jobs.block(rows), labels[rows])))
    return _together(problem, labels, parts, ending)


def _stop_if_interrupted(parts: list[Part]) -> None:
    """A Ctrl-C ends the search of a part, which keeps its bound: it is meant for all of them."""
    if any(part.proven.ending is Ending.INTERRUPTED for part in parts):
        raise KeyboardInterrupt


def _say(progress: Progress | None, parts: list[Part], total: int, upper: float) -> None:
    lower = math.fsum(part.proven.lower_bound for part in parts)
    cost = math.fsum(part.proven.upper_bound for part in parts)
    logger.info("%d of %d parts, %.9g of %.9g proven", len(parts), total, lower, cost)
    if progress is not None:
        share = max(1.0 - lower / cost, 0.0) if cost > 0 else 0.0
        progress(f"{len(parts)} of {total} parts, {100 * share:.2f}% missing in these")


def _together(problem: Problem, labels: IntArray, parts: list[Part], ending: Ending) -> Proven:
    """One proof of the whole from those of its parts."""
    parts = sorted(parts, key=lambda part: int(part.rows[0]))
    number = np.empty(problem.n_points, np.int64)
    for index, part in enumerate(parts):
        number[part.rows] = index
    upper = cost_of(problem, labels)
    lower = math.fsum(part.proven.lower_bound for part in parts) * (1.0 - 1e-15)
    root = min(math.fsum(part.proven.root_bound for part in parts), upper)
    proof = join_proofs([part.proven.proof.renamed(part.rows) for part in parts], number)
    work = (sum(getattr(p.proven, name) for p in parts) for name in ("n_nodes", "n_iterations"))
    return Proven(min(lower, upper), upper, labels, False, root, ending, proof, *work)


def _weakest_pairs(
    parts: list[Part], jobs: "Jobs", left: float
) -> tuple[list[tuple[Part, Part]], list[Part]]:
    """Parts to prove together next, one pair for each process: the weakest that there is time for.

    ``f*(A and B) >= f*(A) + f*(B)``: a part of twice the size loses about half as much.
    """
    order = sorted(parts, key=lambda part: (len(part.rows) > _JOINED_LARGEST // 2, -part.missing))
    pairs: list[tuple[Part, Part]] = []
    for a, b in list(zip(order[::2], order[1::2], strict=False))[: jobs.n_jobs]:
        n = len(a.rows) + len(b.rows)
        if n > _JOINED_LARGEST or jobs.estimate(n) > left:
            break
        pairs.append((a, b))
    return pairs, order[2 * len(pairs) :]


def _better(pairs: list[tuple[Part, Part]], joined: list[Part]) -> list[Part]:
    """Of each pair and its join, what proves more."""
    by_rows = {int(part.rows[0]): part for part in joined}
    out: list[Part] = []
    for a, b in pairs:
        both = by_rows.get(int(a.rows[0]))
        apart = a.proven.lower_bound + b.proven.lower_bound
        if both is not None and both.proven.lower_bound > apart:
            out.append(both)
        else:
            out += [a, b]
    return out


@dataclass
class Jobs:
    """Proves blocks of rows on processes, and knows how long that takes.

    Finished blocks are kept in the folder; what is there is checked and used.
    """

    problem: Problem
    labels: IntArray  # feasible ones
    deadline: float  # on the clock of `time.time`, which processes share
    n_jobs: int = 1
    folder: Path | None = None
    seconds_per_cube: float = 0.0

    @cached_property
    def group(self) -> IntArray:
        """Groups are whole in every part: with two clusters, also those that pairs only imply."""
        problem = self.problem
        group = close(problem.n_points, problem.must_link, problem.cannot_link, problem.n_clusters)
        assert group is not None
        return group

    def block(self, rows: IntArray) -> Problem:
        """The problem of these rows: groups whole, pairs that lie in it."""
        problem, group = self.problem, self.group
        first = np.full(int(group.max()) + 1, -1)
        first[group[rows[::-1]]] = np.arange(len(rows))[::-1]
        must = np.column_stack([np.arange(len(rows)), first[group[rows]]])
        cannot = first[group[problem.cannot_link]]
        weights = None if problem.sample_weight is None else problem.sample_weight[rows]
        heavy = rows[problem.point_weights[rows] > 0]
        k = min(problem.n_clusters, len(np.unique(group[heavy])))
        pairs = must[must[:, 0] != must[:, 1]], cannot[np.all(cannot >= 0, axis=1)]
        return Problem.build(np.asarray(problem.X[rows]), k, *pairs, weights)

    def estimate(self, n_rows: int) -> float:
        """Seconds that a part of this size will take."""
        return self.seconds_per_cube * n_rows**3

    def run(self, blocks: list[IntArray], tol: float) -> Iterator[Part]:
        """Prove all blocks, in any order."""

        def prepare(index: int, rows: IntArray) -> Any:
            waiting = math.ceil((len(blocks) - index) / self.n_jobs)
            task = _Task(rows, self.block(rows), self.labels[rows], tol, self.folder)
            return delayed(task.run)(self.deadline, waiting)

        tasks = [prepare(*block) for block in enumerate(blocks)]
        n_jobs = self.n_jobs if time.time() + STARTING < self.deadline else 1
        kind: dict[str, Any] = {} if n_jobs > 1 else {"backend": "sequential"}
        backend = get_active_backend()[0]  # of joblib.parallel_config: processes, or a Dask cluster
        at_once = n_jobs == 1 or getattr(backend, "supports_return_generator", False)
        form = "generator_unordered" if at_once else "list"
        for rows, proven, seconds in Parallel(n_jobs, return_as=form, **kind)(tasks):
            # The largest tell most about what is larger still.
            self.seconds_per_cube = max(0.5 * self.seconds_per_cube, seconds / len(rows) ** 3)
            yield Part(rows, proven)


@dataclass(frozen=True)
class _Task:
    """One block as a problem of its own, with all that a process needs to know about it."""

    rows: IntArray
    problem: Problem
    labels: IntArray
    tol: float
    folder: Path | None

    def run(self, deadline: float, waiting: int) -> tuple[IntArray, Proven, float]:
        """Prove it, in its share of the time that is left."""
        start, path, problem = time.perf_counter(), self._file(), self.problem
        known = self._read(path) if path is not None and path.is_file() else None
        if known is not None:
            return self.rows, known, 0.0
        share = (deadline - time.time()) / waiting
        if share < _LEAST_SHARE:  # not even one bound: what costs nothing, so that the limit holds
            return self.rows, without_search(problem, self.labels), 0.0
        with threadpool_limits(limits=1):
            proven = bound_block(
                problem, self.labels, tol=self.tol, deadline=start + share,
                settings=Settings(max_nodes=1),
            )  # fmt: skip
        # What the labels cost here, not the best of the part: that is what must be made up for.
        proven = replace(proven, upper_bound=cost_of(problem, self.labels), labels=self.labels)
        if path is not None and proven.ending not in (Ending.TIME, Ending.INTERRUPTED, None):
            self._write(path, proven)
        return self.rows, proven, time.perf_counter() - start

    def _file(self) -> Path | None:
        if self.folder is None:
            return None
        known = self.problem
        digest = hashlib.sha256(repr((known.n_clusters, self.tol, known.X.shape)).encode())
        given = known.X, known.must_link, known.cannot_link, self.labels, known.sample_weight
        for array in given:
            digest.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
        return self.folder / f"part-{digest.hexdigest()[:32]}.npz"

    def _read(self, path: Path) -> Proven | None:
        """What an earlier run has proven about this very block, checked; or None."""
        known, k = self.problem, self.problem.n_clusters
        try:
            stored = Certificate.load(path)
            data = admit(known.X, known.sample_weight, known.must_link, known.cannot_link, k)
            lower = min(proven_below(data, stored.proof)[0], stored.lower_bound)
        except SMDEClustError as error:
            logger.warning("%s is not used: %s", path, error)
            return None
        cost = cost_of(known, self.labels)
        return Proven(lower, cost, self.labels, False, lower, Ending.TARGET, stored.proof)

    def _write(self, path: Path, proven: Proven) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(f".{os.getpid()}")
        Certificate(
            self.labels, self.problem.n_clusters, proven.lower_bound, proven.upper_bound, 0.0,
            "part", 0.0, proof=proven.proof,
        ).save(aside)  # fmt: skip
        aside.replace(path)
