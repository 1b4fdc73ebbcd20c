"""Points on Dask workers: centers go out, sums come back; only rows in groups are held here.

Each assignment of a block is a task that takes the block and its state before. A lost worker's
blocks and states are made again by the scheduler from what they were made of, with the same result.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError, SMDEClustError
from smdeclust.points import dask_blocks
from smdeclust.points.arrays import in_blocks
from smdeclust.points.protocol import Moves
from smdeclust.points.row_batch import RowBatch
from smdeclust.points.rows import Centers, State
from smdeclust.points.stored import CoupledRows, Points
from smdeclust.points.threads import available_threads
from smdeclust.points.validation import read_only, reject_extreme, reject_value
from smdeclust.structure.groups import Coupling

# Seconds between looks at whether any worker is left.
PATIENCE = 20.0


class WorkersLostError(SMDEClustError, RuntimeError):
    """The workers that hold the data are gone, and none took their place."""


class Cluster:
    """The active Dask client."""

    def __init__(self, client: Any, patience: float = PATIENCE) -> None:
        self.client, self.patience = client, patience
        self.n_bytes = 0  # of results gathered and of values sent out so far

    def compute(self, parts: Sequence[Any]) -> Sequence[Any]:
        """Evaluate delayed values; returns a future of each."""
        return self.client.compute(parts)

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function on the worker that holds its arguments; returns a future."""
        # Never the same key twice: a result that was released is not taken for a new one.
        return self.client.submit(function, *args, pure=False, retries=2)

    def send(self, value: Any) -> Any:
        """Put a small value on the cluster in a way that outlives any worker."""
        self.n_bytes += _size(value)
        return self.submit(_same, value)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """The results, in order; a clear error where the cluster cannot make them."""
        from distributed import KilledWorker, wait

        while True:
            try:
                wait(futures, timeout=self.patience)
                break
            except TimeoutError:
                if not self.client.scheduler_info(n_workers=-1)["workers"]:
                    raise WorkersLostError(
                        f"No Dask worker has been available for {self.patience:g} s, so the data "
                        f"cannot be read. Start workers and fit again."
                    ) from None
        try:
            results = self.client.gather(futures)
        except KilledWorker as error:
            raise WorkersLostError(
                f"A task killed one worker after another, probably for lack of memory: {error}. "
                f"Use smaller chunks or larger workers, and fit again."
            ) from error
        self.n_bytes += _size(results)
        return list(results)


class Threads(Cluster):
    """Threads of this process in place of a Dask cluster: no messages, no copies.

    Tasks start in the order in which they are submitted, so that none waits for one behind it.
    """

    client: Executor

    def compute(self, parts: Sequence[Any]) -> Sequence[Any]:
        return [self.submit(partial(part.compute, scheduler="synchronous")) for part in parts]

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self.client.submit(_run, function, args)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        return [future.result() for future in futures]


@contextmanager
def active_cluster() -> Iterator[Cluster]:
    """The user's Dask client; where there is none, threads of this process for a while."""
    try:
        from distributed import get_client

        client = get_client()
    except (ImportError, ValueError):
        with ThreadPoolExecutor(available_threads()) as own:
            try:
                yield Threads(own)
            except BaseException:
                own.shutdown(cancel_futures=True)  # what has not begun is not needed
                raise
        return
    yield Cluster(client)


def _run(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    return function(*[arg.result() if isinstance(arg, Future) else arg for arg in args])


def _same(value: Any) -> Any:
    return value


def _size(value: Any) -> int:
    """About how many bytes of numbers there are in a value."""
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    return sum(map(_size, vars(value).values())) if hasattr(value, "__dict__") else 8


# The parts of what `dask_blocks.ask` returns.
STATE, ANSWER = itemgetter(0), itemgetter(1)


@dataclass(frozen=True)
class DaskLabels:
    """Labels as the few numbers they follow from: no row of the data has one stored."""

    centers: np.ndarray  # (K, d) centers minus the offset to which the free points were assigned
    compound: np.ndarray  # (n_compound,) labels of the groups that the driver holds
    moves: Moves  # rows (or groups, numbered after the rows) that fill a cluster instead
    # under bounds: the (B, K) prices at which the free points were assigned, and what all rows
    # count then, (B, N) or (B, 1)
    prices: np.ndarray | None = None
    counts: np.ndarray | None = None


class DaskPoints(Points):
    """A Dask array of chunks of whole rows (see ``validation``), on workers; it is read twice."""

    def __init__(
        self, X: Any, coupling: Coupling, sample_weight: np.ndarray | None, cluster: Cluster
    ) -> None:
        import dask

        super().__init__(X, coupling, sample_weight)
        self.cluster = cluster
        self.starts = np.concatenate([[0], np.cumsum(X.chunks[0])]).astype(np.int64)
        spans = list(itertools.pairwise(self.starts.tolist()))
        parts = [dask.delayed(dask_blocks.as_block)(part) for part in X.to_delayed().ravel()]
        raw = cluster.compute(parts)
        shares = [None if sample_weight is None else sample_weight[a:b] for a, b in spans]
        summaries = cluster.gather(
            [cluster.submit(dask_blocks.summarize, *two) for two in zip(raw, shares, strict=True)]
        )
        _check(summaries, spans)
        total = np.sum([summary.sums for summary in summaries], axis=0)
        self.offset = read_only(total / self.total_weight)
        self.blocks = []
        for (a, b), part, share in zip(spans, raw, shares, strict=True):
            low, high = np.searchsorted(coupling.rows, [a, b])
            here = coupling.rows[low:high] - a
            self.blocks.append(
                cluster.submit(dask_blocks.make_block, part, share, here, self.offset)
            )
        self.total_squares = float(
            sum(cluster.gather([cluster.submit(dask_blocks.squares_about_offset, block)
                                for block in self.blocks]))
        )  # fmt: skip
        self.coupled = CoupledRows(coupling, self.fetch(coupling.rows) - self.offset, sample_weight)
        self.scale = float(np.sqrt(self.total_squares / self.total_weight)) or 1.0

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Some rows of the data, in float64, in the order given."""
        rows = np.asarray(rows, dtype=np.int64)
        home = np.searchsorted(self.starts, rows, side="right") - 1
        out = np.empty((len(rows), self.n_features))
        asked = np.unique(home)
        futures = [
            self.cluster.submit(
                dask_blocks.rows_of, self.blocks[b], rows[home == b] - self.starts[b]
            )
            for b in asked
        ]
        for b, found in zip(asked, self.cluster.gather(futures), strict=True):
            out[home == b] = found
        return out

    def begin(self, n_starts: int) -> "DaskBatch":
        """A new batch: its states are on the workers."""
        return DaskBatch(self)

    def describe(self, labels: DaskLabels) -> tuple[Any, np.ndarray, float]:
        """Labels as a lazy Dask array, centers, and the sum of squares, evaluated again."""
        linked = labels.compound[: self.coupling.n_linked]
        with DaskBatch(self) as batch:
            batch.repeat(labels)
            moved, _ = batch.move(linked[None], [labels.moves])
            value = batch.squares(0, moved[0], linked, labels.moves)
        return self._lazy(labels), moved[0] + self.offset, value

    def sums_under(self, labels: DaskLabels, of_compound: np.ndarray) -> np.ndarray:
        """(B, K) sums under labels that were found at prices; `of_compound` (B, n_compound) is what
        the groups count that the driver holds."""
        k = len(labels.centers)
        with DaskBatch(self) as batch:
            batch.repeat(labels)
            held = batch.held()[0][0]
            few = batch.as_fillers(np.array(sorted(labels.moves), dtype=np.int64))
        new = np.array([labels.moves[name] for name in few.where.tolist()], dtype=np.int64)
        for b in range(len(held)):
            held[b] += np.bincount(labels.compound, of_compound[b], k)
            held[b] += np.bincount(new, few.counts[b], k) - np.bincount(
                few.labels, few.counts[b], k
            )
        return held

    def _lazy(self, labels: DaskLabels) -> Any:
        """All labels over the chunks of the data: nearest centers, and what was decided here."""
        decided = dict(
            zip(self.coupling.rows.tolist(), labels.compound[self.coupling.groups].tolist(),
                strict=True)
        )  # fmt: skip
        decided.update({row: k for row, k in labels.moves.items() if row < self.n_points})
        rows = np.array(sorted(decided), dtype=np.int64)
        known = rows, np.array([decided[row] for row in rows.tolist()], dtype=np.int64)
        at = Centers(labels.centers, np.zeros(len(labels.centers)), self.scale)
        return self.X.map_blocks(
            dask_blocks.label_rows, self.offset, at, known, self.sample_weight, labels.prices,
            labels.counts, dtype=np.int64, drop_axis=1,
        )  # fmt: skip


class DaskBatch(RowBatch):
    """One solution: free rows on the workers, free groups of several points here."""

    def __init__(self, points: DaskPoints) -> None:
        coupled, n_linked, n = points.coupled, points.coupling.n_linked, points.n_points
        self.cluster, self.points = points.cluster, points
        blocks, starts = points.blocks, points.starts.tolist()
        if len(coupled.group_weights) > n_linked:
            heavy = read_only(coupled.group_weights[n_linked:])
            more, further = in_blocks(coupled.means[n_linked:], heavy)
            blocks, starts = blocks + more, starts[:-1] + [n + start for start in further]
        self.n_remote = len(points.blocks)
        none = np.empty(0, np.bool_)
        super().__init__(points, blocks, starts, none, n, points.scale)

    def forget(self) -> None:
        local = zip(self.starts[self.n_remote :], self.starts[self.n_remote + 1 :], strict=False)
        self.states = [None] * self.n_remote + [State.fresh(b - a) for a, b in local]
        self._restart()

    def count(self, counts: np.ndarray) -> None:
        if counts.shape[1] > 1:
            self.free = self.points.coupling.is_free()
        super().count(counts)

    def _count(self, counts: np.ndarray) -> None:
        super()._count(counts)
        self._counted = [self.cluster.send(part) for part in self._counted]

    def repeat(self, labels: DaskLabels) -> None:
        """Label the free rows as they were."""
        if labels.counts is not None:
            self._count(labels.counts)
        self.label(labels.centers[None], labels.prices)

    def _labels(self, linked: np.ndarray, moves: Moves) -> DaskLabels:
        """What the labels of all points follow from."""
        compound = np.concatenate([linked, self.compound_labels()]).astype(np.int64)
        for name, k in moves.items():
            if name >= self.n_data:
                compound[len(linked) + name - self.n_data] = k
        counts = None if self._prices is None else self._counts
        return DaskLabels(self._centers.copy(), compound, moves, self._prices, counts)

    def _each(
        self,
        method: str,
        *args: Any,
        more: Sequence[Any] | None = None,
        only: list[int] | None = None,
        changes: bool = False,
    ) -> list[Any]:
        which = list(range(len(self.blocks)) if only is None else only)
        rest = [()] * len(which) if more is None else more
        there = [(b, r) for b, r in zip(which, rest, strict=True) if b < self.n_remote]
        here = [b for b in which if b >= self.n_remote]
        sent = self.cluster.send(args)
        answers = []
        for b, r in there:
            given = self.blocks[b], self.states[b], method, sent, r
            answers.append(self.cluster.submit(dask_blocks.ask, *given))
            if changes:
                self.states[b] = self.cluster.submit(STATE, answers[-1])  # large: it stays there
        found = self.cluster.gather([self.cluster.submit(ANSWER, each) for each in answers])
        return found + super()._each(method, *args, more=rest[len(there) :], only=here)


def _check(summaries: list[dask_blocks.Summary], spans: list[tuple[int, int]]) -> None:
    for summary, (start, stop) in zip(summaries, spans, strict=True):
        if summary.n_rows != stop - start:
            raise InvalidInputError(
                f"X: the chunk from row {start} was declared with {stop - start} rows but has "
                f"{summary.n_rows}. Call X.compute_chunk_sizes() first."
            )
        if summary.bad is not None:
            value, row, column = summary.bad
            reject_value(value, start + row, column)
    low = np.min([summary.low for summary in summaries], axis=0)
    high = np.max([summary.high for summary in summaries], axis=0)
    reject_extreme(low, high)
