"""One solution on blocks of rows, in memory or elsewhere: the one batch of all such storages."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Self

import numpy as np

from smdeclust.points.protocol import ClusterSums, Fillers, Moves
from smdeclust.points.rows import Centers, State, least_regrets, moved_by
from smdeclust.points.stored import Points
from smdeclust.points.threads import thread_pools

# Blocks are cut by the data alone, never by the number of threads: sums are added in their order.
MOST_BLOCKS = 64
LEAST_ROWS = 4096
# Margins that are looked at to choose how many rows take part.
LOOKED_AT = 2**15
# After this many iterations of adding differences the sums are added up again from the labels.
RENEW_EVERY = 32


def cut(n_rows: int) -> list[tuple[int, int]]:
    """First and last row of each block."""
    step = max(LEAST_ROWS, -(-n_rows // MOST_BLOCKS))
    return [(start, min(start + step, n_rows)) for start in range(0, max(1, n_rows), step)]


class RowBatch:
    """A batch of one solution. Free groups are named by their place among all rows of the blocks.

    `blocks` hold the rows as given, then, maybe, the means of free groups of several points;
    `starts` the name of the first row of each block, and the number of all rows. `free` says which
    of the `n_data` rows as given are; from there on names are groups of several points. `scale` is
    the root of the mean squared distance of the points to their mean.
    """

    rounding = 1e-13

    states: list[Any]

    def __init__(
        self,
        points: Points,
        blocks: Sequence[Any],
        starts: Sequence[int],
        free: np.ndarray,
        n_data: int,
        scale: float = 1.0,
    ) -> None:
        self.blocks, self.starts, self.free = blocks, np.asarray(starts), free
        self.n_data, self._scale = n_data, scale
        self.linked, self.scatter, self._idle = points.linked, points.scatter, points._idle
        self._pool = ThreadPoolExecutor(points.n_threads) if points.n_threads > 1 else None
        self.forget()

    @cached_property
    def all_rows(self) -> State:
        """The state of all rows: those of the blocks are parts of it."""
        return State.fresh(int(self.starts[-1]))

    def forget(self) -> None:
        """No labels, no bounds."""
        self.all_rows.labels[:] = -1
        ends = self.starts[1:]
        self.states = [self.all_rows.part(a, b) for a, b in zip(self.starts, ends, strict=False)]
        self._restart()

    def _restart(self) -> None:
        self._previous: np.ndarray | None = None
        self._prices: np.ndarray | None = None
        self._age = 0

    def __enter__(self) -> Self:
        # Blocks run on several threads: the matrix products inside them use one each.
        self._limit = thread_pools().limit(limits=1, user_api="blas")
        self._limit.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._limit.__exit__(*error)
        if self._idle is not None:
            self._idle.append(self)

    def count(self, counts: np.ndarray) -> None:
        if counts.shape[1] > 1:
            wide = np.zeros((len(counts), self.n_data))
            wide[:, self.free] = counts
            counts = wide
        self._count(np.ascontiguousarray(counts, dtype=np.float64))

    def _count(self, counts: np.ndarray) -> None:
        """The same of all rows, (B, N) or (B, 1)."""
        self._counts = counts
        spans = zip(self.starts, self.starts[1:], strict=False)
        self._counted: list[Any] = [
            (np.ascontiguousarray(counts[:, a:b]) if counts.shape[1] > 1 else counts,)
            for a, b in spans
        ]

    def label(self, centers: np.ndarray, prices: np.ndarray | None = None) -> np.ndarray:
        (self._centers,) = centers
        if self._prices is not None and prices is None:
            self.forget()  # bounds know nothing of prices
        self._prices, self._at = prices, self._ready(self._centers)
        if prices is None:
            self._sums, self._n_changed = self._assign()
            self._held = self._sums.counts[None]
        else:
            self._sums, self._n_changed = None, 0
            held = self._each("price", self._at, prices, more=self._counted, changes=True)
            self._held = np.sum(held, axis=0)
        self._previous = self._centers.copy()
        return self.linked.costs(self._centers)[None]

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        return self._held[None], np.array([self._n_changed])

    # Sums of the free groups by their labels; made when they are needed.
    _sums: ClusterSums | None = None

    def _ready(self, centers: np.ndarray) -> Any:
        """Centers as the blocks take them."""
        shift = moved_by(centers, self._previous)
        return Centers(np.ascontiguousarray(centers), shift, self._scale)

    def _assign(self) -> tuple[ClusterSums, int]:
        """Label every free group by its nearest center; returns sums and how many changed."""
        if self._age == 0:
            self._gained = ClusterSums.zeros(*self._centers.shape)
        n_changed = 0
        for gained, changed in self._each("assign", self._at, changes=True):
            self._gained.add(gained)
            n_changed += changed
        self._age += 1
        if self._age % RENEW_EVERY == 0:  # differences must not drift
            self._gained = self._sum_up()
        return self._gained, n_changed

    def _sum_up(self) -> ClusterSums:
        """Sums of the free groups by their labels."""
        sums = ClusterSums.zeros(*self._centers.shape)
        for part in self._each("sums", len(self._centers)):
            sums.add(part)
        return sums

    def fillers(self, s: int) -> Fillers:
        found = self._each("cheapest", self._at)
        names = np.concatenate(
            [rows + start for (rows, _), start in zip(found, self.starts, strict=False)]
        )
        if len(names) > len(self._centers):
            names = names[least_regrets(np.concatenate([costs for _, costs in found]))]
        return self.as_fillers(names)

    def undecided(self, n_wanted: int, reach: float, most: int) -> tuple[Fillers, float, float]:
        step = max(1, int(self.starts[-1]) // LOOKED_AT)
        limit = max(reach, margin_of(self._each("some_margins", step), n_wanted // step))
        found = self._each("within", limit)
        names = np.concatenate([rows + a for rows, a in zip(found, self.starts, strict=False)])
        few = names[:: step_to(len(names), most)]
        share = len(few) / len(names) if len(names) else 1.0
        return self.as_fillers(few), limit, share

    def as_fillers(self, names: np.ndarray) -> Fillers:
        """What some free groups are, and their costs."""
        _, weights, labels, costs = self._look_up(names)
        counts = np.empty((0 if self._prices is None else len(self._counts), len(names)))
        if self._prices is not None and len(names):
            counts = np.broadcast_to(self._counts, (len(self._counts), self.n_data))[:, names]
        return Fillers(names, weights, labels, costs, counts)

    def _look_up(self, names: np.ndarray) -> list[np.ndarray]:
        """Points, weights, labels and costs of free groups, by their names in ascending order."""
        k, d = self._centers.shape
        none = [np.empty((0, d)), np.empty(0), np.empty(0, np.int64), np.empty((0, k))]
        only, rows = self._homes(names)
        found = self._each("look_up", self._at, more=[(r,) for r in rows], only=only)
        return [np.concatenate(columns) for columns in zip(none, *found, strict=True)]

    def _homes(self, names: np.ndarray) -> tuple[list[int], list[np.ndarray]]:
        """The blocks of names in ascending order, and the rows in each of them."""
        home = np.searchsorted(self.starts, names, side="right") - 1
        blocks, first = np.unique(home, return_index=True)
        parts = np.split(names, first[1:])
        return blocks.tolist(), [p - self.starts[b] for b, p in zip(blocks, parts, strict=False)]

    def move(self, linked: np.ndarray, moves: list[Moves]) -> tuple[np.ndarray, np.ndarray]:
        if self._sums is None:
            self._sums = self._sum_up()
        sums = self._sums.copy()
        if moves[0]:
            names, targets = _sorted(moves[0])
            points, weights, labels, _ = self._look_up(names)
            sums.move(points, weights, labels, targets)
        self.linked.add_to(sums, linked[0])
        centers, gain = sums.means()
        return centers[None], np.array([gain])

    def squares(self, s: int, centers: np.ndarray, linked: np.ndarray, moves: Moves) -> float:
        own = self.linked.squares(centers, linked)
        return self._free_squares(centers, moves) + own + self.scatter

    def _free_squares(self, centers: np.ndarray, moves: Moves) -> float:
        """Squared distances of the free groups to the centers of their labels, after `moves`."""
        names, targets = _sorted(moves)
        none = np.empty(0, np.int64)
        more = [(none, none)] * len(self.blocks)
        done = 0
        for block, rows in zip(*self._homes(names), strict=True):
            more[block] = rows, targets[done : done + len(rows)]
            done += len(rows)
        return float(sum(self._each("squares", centers, more=more)))

    def finish(
        self, which: list[int], centers: np.ndarray, linked: np.ndarray, moves: list[Moves]
    ) -> Callable[[], list[tuple[Any, np.ndarray, float]]]:
        value = self.squares(0, centers[0], linked[0], moves[0])
        found = [(self._labels(linked[0], moves[0]), centers[0], value)]
        return lambda: found

    def keep(self, which: list[int]) -> None:
        return None

    def _labels(self, linked: np.ndarray, moves: Moves) -> Any:
        """(G,) labels of the groups, in the order of their numbers."""
        labels = self._moved(moves)
        several, lone = labels[self.n_data :], labels[: self.n_data][self.free]
        return np.concatenate([linked, several, lone]).astype(np.int32)

    def _moved(self, moves: Moves) -> np.ndarray:
        """Labels with these groups elsewhere: the bounds know nothing of them."""
        labels = self.all_rows.labels.copy() if moves else self.all_rows.labels
        labels[list(moves)] = list(moves.values())
        return labels

    def compound_labels(self) -> np.ndarray:
        held = zip(self.states, self.starts, strict=False)
        several = [state.labels for state, start in held if start >= self.n_data]
        return np.concatenate([np.empty(0, np.int32), *several])

    def far_totals(self) -> np.ndarray:
        only = [b for b, start in enumerate(self.starts[:-1]) if start < self.n_data]
        return np.array(self._each("far_total", more=[()] * len(only), only=only))

    def pick_far(self, block: int, target: float) -> np.ndarray:
        return np.asarray(self._each("pick_far", target, more=[()], only=[block])[0])

    def _each(
        self,
        method: str,
        *args: Any,
        more: Sequence[tuple[Any, ...]] | None = None,
        only: list[int] | None = None,
        changes: bool = False,
    ) -> list[Any]:
        """What a method of every block (or of those in `only`) says of its state, in their order.

        `more` are further arguments, one tuple a block. `changes`: it may change the state.
        """
        which = range(len(self.blocks)) if only is None else only
        more = [()] * len(which) if more is None else more

        def work(b: int, rest: tuple[Any, ...]) -> Any:
            return getattr(self.blocks[b], method)(self.states[b], *args, *rest)

        if self._pool is None or len(which) <= 1:
            return [work(*job) for job in zip(which, more, strict=True)]
        return list(self._pool.map(work, which, more))


def _sorted(moves: Moves) -> tuple[np.ndarray, np.ndarray]:
    """Names in ascending order, and where each goes."""
    both = np.array(sorted(moves.items()), dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def margin_of(some: list[np.ndarray], place: int) -> float:
    """The margin that about this many of them do not exceed: infinite where that is all of them."""
    margins = np.concatenate(some)
    margins = np.sort(margins[margins < np.inf])
    return float(margins[place]) if place < len(margins) else np.inf


def step_to(n_rows: int, most: int) -> int:
    """Which rows to take: all, or every n-th if there are far more than `most`."""
    return 1 if n_rows <= 4 * most else n_rows // most
