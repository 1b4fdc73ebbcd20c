"""Solutions on a device, all labeled by one matrix product.

Where the device is fast at that, the product is rough (TF32: factors of eleven bits). Rows whose
two best centers are closer than its error are looked at again in single precision, so that labels
are those of single precision. Sums change by the rows that moved. Both pick up to a fixed number of
rows, as many as the last iteration had use for: so the steps of an iteration have fixed shapes, and
a GPU is handed each of them as a whole. Their results count once they are known to be complete;
where there was no room for all rows, they are made again.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from smdeclust.points.protocol import Fillers, Moves
from smdeclust.points.row_batch import LOOKED_AT, RENEW_EVERY, margin_of, step_to

if TYPE_CHECKING:
    from smdeclust.points.torch_points import TorchPoints

# Numbers of the products held at once (1 GiB).
MOST_PRODUCTS = 2**28
# Multiplications from which on a rough product and a second look at some rows is faster.
LEAST_ROUGH = 2**30
# One in so many rows is picked at most, to look again or because it moved; else all are taken.
ONE_IN = 32, 16, 8, 4


class TorchBatch:
    """S solutions: (S, n) labels of the free groups, and (S, K, d + 1) their sums and weights.

    Solutions that ended keep their places; `places` are those of the others.
    """

    def __init__(self, points: TorchPoints, n_starts: int) -> None:
        self.points, self.torch, self.n_starts = points, points.torch, n_starts
        self.new = partial(self.torch.zeros, device=points.device)
        self._labels = self.new((n_starts, points.n_free), dtype=self.torch.int32)
        self._found = self.new((n_starts, points.n_free), dtype=self.torch.int64)
        self._moved_rows = self.new(points.n_free, dtype=self.torch.bool)
        self._rows: Any = None  # those that the steps work on
        self._arrived: Callable[[], None]
        self._reported: Callable[[], None]
        self._steps: dict[Any, Callable[[], None]] = {}

    _free_counts: Any = None  # (B, n) what the free groups count, under bounds
    _at_prices: np.ndarray | None = None

    def forget(self) -> None:
        """No labels."""
        self.places, self._age = list(range(self.n_starts)), 0
        self._begun = False
        self._given: Any = None  # the centers of the next labels, where these are begun
        self._open = False  # whether the last labels are still to be taken over
        self._ended: list[Any] = []  # solutions to be evaluated together

    def __enter__(self) -> Self:
        self._precision = precision(self.points, "ieee")
        self._precision.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._precision.__exit__(None, None, None)
        if error[0] is None:
            self.points.idle(self)

    @property
    def rounding(self) -> float:
        """Sums are products in the precision of the rows; they differ by the rows that moved."""
        return 1e-13 if self.points.is_double else 1e-9

    def label(self, centers: Any, prices: np.ndarray | None = None) -> np.ndarray:
        begin = self._begin if prices is None else partial(self._price_free, prices)
        return np.asarray(self.points.guarded(partial(begin, centers)))

    def _begin(self, centers: Any) -> np.ndarray:
        """The costs of the linked groups, while the device continues with the free ones."""
        if not self._begun or centers is not self._given or self._rows is not self.points.rows:
            self._take(centers)
            if self._age % RENEW_EVERY == 0:
                # No drift. All labels count as changed: at its end a search evaluates once more.
                self._labels.fill_(-1)
                self._sums.zero_()
                self._counts.zero_()
                self._rooms = self._room(self._unsure) if self._rough else 0, 0
            self._start()
        self._begun = False
        self._arrived()
        costs = np.asarray(self._costs_here.numpy())
        return costs if len(self.places) == self.n_starts else costs[self.places]

    def _start(self) -> None:
        """Have the device price the linked groups and label the free ones."""
        self._run(self._price_linked)
        self._arrived = self._fetch(self._costs, self._costs_here)
        self._label_free()
        self._age += 1

    def _label_free(self) -> None:
        """Label the free groups and sum them, as far as there is room for the rows to pick."""
        look, add = self._rooms
        for part in self._parts:
            self._run(self._look, part, look)
            self._run(self._sum, part, add)
        self._reported, self._open = self._fetch(self._report, self._report_here), True

    def _take(self, centers: Any) -> None:
        """Put the centers where the steps find them."""
        if self._rows is not self.points.rows or self._centers.shape[1:] != centers.shape[1:]:
            self._prepare(*centers.shape[1:])
        if centers is not self._centers:
            self._centers[self.places] = self.points.there(centers)
        self._begun = False
        self._at_prices = None

    def _prepare(self, k: int, d: int) -> None:
        """Make what the steps read and write, of K clusters."""
        points, double, s = self.points, self.torch.float64, self.n_starts
        self._rows, self._steps, self._age, self._unsure = None, {}, 0, 0.0
        self._centers = self.new((s, k, d), dtype=double)
        self._norms = self.new((s, k), dtype=double)
        self._sums = self.new((s, k, d + 1), dtype=double)
        self._counts = self.new((s, k), dtype=double)  # of free groups in clusters
        # What comes next, if there was room for all rows; labels that changed; and most rows of a
        # part that are unsure, and that moved.
        self._next_sums = self.new((s, k, d + 1), dtype=double)
        self._report = self.new(s * k + s + 2, dtype=double)
        self._next_counts = self._report[: s * k].view(s, k)
        self._changed, self._news = self._report[s * k : -2], self._report[-2:]
        self._costs = self.new((s, points.coupling.n_linked, k), dtype=double)
        self._placed = self.new((s, points.coupling.n_linked), dtype=self.torch.int64)
        self._gains = self.new((s, 2), dtype=double)  # and the largest norms of centers
        pinned = partial(self.torch.zeros, dtype=double, pin_memory=self._on_gpu)
        self._costs_here, self._report_here = pinned(self._costs.shape), pinned(self._report.shape)
        self._gains_here = pinned(self._gains.shape)
        self._placed_here = pinned(self._placed.shape, dtype=self.torch.int64)
        self._rough = points.rough and points.n_free * s * k * d >= LEAST_ROUGH
        self._parts = self._cut(2 * s * k)
        self._rows = points.rows

    @property
    def _on_gpu(self) -> bool:
        return bool(self.points.device.type == "cuda")

    # Whether the device begins with the next labels before they are requested.
    ahead = _on_gpu

    def _run(self, step: Callable[..., None], *given: Any) -> None:
        """Do a step; a GPU records it the second time, to be handed the whole from then on."""
        work: Callable[[], None] = partial(step, *given)
        if self._on_gpu and len(self._parts) <= 1:
            name = step.__name__, *map(str, given)
            recorded = self._steps.get(name)
            self._steps[name] = recorded or partial(self._record, name, work)
            work = recorded or work
        self.points.guarded(work)

    def _record(self, name: Any, step: Callable[[], None]) -> None:
        """Record a step, in the memory and on the stream of the last one: nothing stays there.

        Python must not collect garbage then: what it frees on the GPU would spoil the record.
        """
        cuda, points, collects = self.torch.cuda, self.points, gc.isenabled()
        last, stream = points.recorded or (None, cuda.Stream(points.device))
        graph = cuda.CUDAGraph()
        stream.wait_stream(cuda.current_stream(points.device))
        gc.disable()
        with cuda.stream(stream):
            graph.capture_begin(pool=last and last.pool(), capture_error_mode="thread_local")
            try:
                step()
            finally:
                graph.capture_end()
                if collects:
                    gc.enable()
        points.recorded, self._steps[name] = (graph, stream), graph.replay
        graph.replay()

    def _price_linked(self) -> None:
        """Costs of the linked groups, in double precision; norms of the centers."""
        s, k, d = self._centers.shape
        self._norms.copy_(self._centers.square().sum(dim=2))
        norms = self._norms.view(-1, 1)
        full = [self._centers.view(s * k, d), norms, self.torch.ones_like(norms)]
        costs = self.points.linked_factors @ self.torch.cat(full, dim=1).T
        self._costs.copy_(costs.view(-1, s, k).transpose(0, 1))

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        if self._at_prices is not None:
            return self._at_prices[None], np.zeros(1, np.int64)
        self._settle()
        (s, k), report = self._counts.shape, self._report_here.numpy()
        tally = np.rint(report[: s * k].reshape(s, k)[self.places]).astype(np.int64)
        return tally[:, None], np.rint(report[s * k : -2][self.places]).astype(np.int64)

    def _settle(self) -> None:
        """Take over the labels of the free groups and their sums, once they are complete."""
        while self._open:
            self._reported()
            (n_unsure, n_moved), (look, add) = self._report_here[-2:].tolist(), self._rooms
            self._open = 0 < look < n_unsure or 0 < add < n_moved
            # Where more are unsure than are ever picked, no product is rough until all is renewed.
            self._unsure = n_unsure if self._open else 1.25 * n_unsure
            self._rooms = self._room(self._unsure) if look else 0, self._room(n_moved)
            if self._open:
                self._label_free()
            else:
                self._run(self._take_over)

    def _take_over(self) -> None:
        self._labels.copy_(self._found)
        self._sums.copy_(self._next_sums)
        self._counts.copy_(self._next_counts)

    def _room(self, n_rows: float) -> int:
        """For how many rows of a part there is to be room, for as many as these; 0: take all."""
        n = self._parts[0].stop if self._parts else 0
        # (Numbers that begin at even addresses make products fast.)
        rooms = [max(8, n // one_in // 8 * 8) for one_in in ONE_IN]
        return next((room for room in rooms if n_rows <= room), 0)

    def _cut(self, width: int) -> list[slice]:
        """Rows of which this many numbers each are held at once."""
        step, n = max(1, MOST_PRODUCTS // width), self.points.n_free
        return [slice(start, min(start + step, n)) for start in range(0, n, step)]

    def _look(self, part: slice, room: int) -> None:
        """Find the nearest centers of some rows, and which rows moved."""
        torch, rows, (s, k, d) = self.torch, self._rows[part], self._centers.shape
        norms = self._norms.to(rows.dtype).view(-1)
        flat = self._centers.reshape(s * k, d).to(rows.dtype)
        n_unsure: Any = 0
        if room:
            with precision(self.points, "tf32"):
                scores = self._scores(norms, short(torch, flat), rows)
            least, nearest = scores.min(dim=1)
            scores.scatter_(1, nearest[:, None], torch.inf)
            longest = self._norms.amax(dim=1, keepdim=True).sqrt().to(rows.dtype)
            limit = (self.points.errors[part] + 2.0**-22 * longest) * longest
            unsure = (scores.amin(dim=1) - least <= limit).any(dim=0)
            few, n_unsure = self._pick(unsure, room)
            again = self._scores(norms, flat, rows[few]).argmin(dim=1)
            nearest.index_copy_(1, few, again)
        else:
            nearest = self._scores(norms, flat, rows).argmin(dim=1)
        differs = nearest != self._labels[:, part]
        if part.start == 0:
            self._report.zero_()
            self._next_counts.copy_(self._counts)
            self._next_sums.copy_(self._sums)
        self._changed += differs.sum(dim=1)
        self._news[0] = self._news[0].clamp(min=n_unsure)
        self._found[:, part], self._moved_rows[part] = nearest, differs.any(dim=0)

    def _scores(self, norms: Any, centers: Any, rows: Any) -> Any:
        """(S, K, n) squared distances of rows to centers, without what is the same for a row."""
        # Rows come first: a product whose lines begin at odd addresses is slow.
        scores = self.torch.addmm(norms, rows, -2.0 * centers.T)
        return scores.T.contiguous().view(self.n_starts, -1, len(rows))

    def _pick(self, chosen: Any, room: int) -> tuple[Any, Any]:
        """The first of the chosen rows, filled up with the very first; how many are chosen."""
        torch, place = self.torch, chosen.cumsum(dim=0)
        n_chosen = place[-1]
        place = torch.where(chosen & (place <= room), place - 1, room)
        rows = torch.arange(len(chosen), device=chosen.device)
        return self.new(room + 1, dtype=torch.int64).scatter_(0, place, rows)[:room], n_chosen

    def _sum(self, part: slice, room: int) -> None:
        """Take rows that moved, or all, to their new clusters."""
        rows, weights = self._rows[part], self.points.weights[part]
        new, old, moved = self._found[:, part], self._labels[:, part], self._moved_rows[part]
        if room:
            few, n_moved = self._pick(moved, room)
            rows, weights, new, old = rows[few], weights[few], new[:, few], old[:, few]
            weights = weights * (self.torch.arange(room, device=weights.device) < n_moved)
        else:
            n_moved = moved.sum()
        self._add(self._next_sums, self._next_counts, rows, weights, new, old.long())
        self._news[1] = self._news[1].clamp(min=n_moved)

    def _add(self, to: Any, counts: Any, rows: Any, weights: Any, new: Any, old: Any) -> None:
        """Add rows to their new clusters, and take them from their old ones (-1: none)."""
        torch, shape = self.torch, to.shape[:2]
        share = rows.new_zeros((*shape, len(rows)))
        heavy = weights.to(rows.dtype).expand(len(share), 1, -1)
        share.scatter_(1, new[:, None], heavy)
        share.scatter_add_(1, old.clamp(min=0)[:, None], torch.where(old[:, None] < 0, 0.0, -heavy))
        sums = (share.flatten(0, 1) @ rows).view(*shape, -1)
        totals = share.sum(dim=2, dtype=torch.float64)  # single precision counts to 2^24 only
        to[..., :-1] += sums
        to[..., -1] += totals
        counts += share.sign_().sum(dim=2, dtype=torch.float64)

    def fillers(self, s: int) -> Fillers:
        torch, points, s = self.torch, self.points, self.places[s]
        centers, labels, weights = self._centers[s], self._labels[s].long(), points.weights
        single = centers.to(points.rows.dtype)
        scores = single.square().sum(dim=1) - 2.0 * (points.rows @ single.T)
        regrets = (scores - scores.gather(1, labels[:, None])) * weights[:, None]
        regrets[weights <= 0] = torch.inf
        most = min(len(centers), points.n_free)
        names = torch.unique(torch.topk(regrets, most, dim=0, largest=False).indices)
        return self._look_up(s, names[weights[names] > 0])

    def _look_up(self, s: int, names: Any) -> Fillers:
        """What some free groups are, and their costs."""
        torch, points, centers = self.torch, self.points, self._centers[s]
        few, weights = points.rows[names].to(torch.float64), points.weights[names]
        costs = torch.cdist(few, centers, compute_mode="donot_use_mm_for_euclid_dist") ** 2
        counts = np.empty((0, 0))
        if self._free_counts is not None:
            counts = self._free_counts[:, names].cpu().numpy()
        return Fillers(
            where=names.cpu().numpy(),
            weights=weights.cpu().numpy(),
            labels=self._labels[s, names].long().cpu().numpy(),
            costs=(costs * weights[:, None]).cpu().numpy(),
            counts=counts,
        )

    def count(self, counts: np.ndarray) -> None:
        wide = np.broadcast_to(counts, (len(counts), self.points.n_free))
        self._free_counts = self.points.there(np.array(wide, dtype=np.float64))

    def _price_free(self, prices: np.ndarray, centers: Any) -> np.ndarray:
        """Labels at prices of one solution, in double precision: margins are small differences."""
        torch, points, at = self.torch, self.points, self.points.there(prices)
        self._take(centers)
        self._margins = torch.full((points.n_free,), torch.inf, dtype=torch.float64)
        self._sums.zero_()
        k, held = len(self._sums[0]), torch.zeros_like(at)
        norms = self._centers.square().sum(dim=2)
        for part in self._cut(8 * max(self._sums.shape[1:])):
            rows, weights = points.rows[part].to(torch.float64), points.weights[part]
            counts = self._free_counts[:, part]
            values = torch.addmm(norms, rows, self._centers[0].T, alpha=-2.0) * weights[:, None]
            values += counts.T @ at
            least = torch.topk(values, min(2, k), dim=1, largest=False)
            labels = least.indices[:, 0]
            if k > 1:
                self._margins[part] = (least.values[:, 1] - least.values[:, 0]).cpu()
            self._labels[0, part] = labels
            none = torch.full_like(labels[None], -1)
            self._add(self._sums, self._counts, rows, weights, labels[None], none)
            held += counts @ torch.nn.functional.one_hot(labels, k).to(torch.float64)
        self._at_prices = held.cpu().numpy()
        return points.linked.costs(np.asarray(centers[0]))[None]

    def undecided(self, n_wanted: int, reach: float, most: int) -> tuple[Fillers, float, float]:
        margins = self._margins.numpy()
        step = max(1, len(margins) // LOOKED_AT)
        limit = max(reach, margin_of([margins[::step]], n_wanted // step))
        where = np.flatnonzero(margins <= limit)
        few = where[:: step_to(len(where), most)]
        share = len(few) / len(where) if len(where) else 1.0
        return self._look_up(0, self.points.there(few)), limit, share

    def move(self, linked: np.ndarray, moves: list[Moves]) -> tuple[Any, np.ndarray]:
        torch, points, some_ended = self.torch, self.points, len(self.places) < self.n_starts
        self._placed_here.numpy()[self.places] = linked
        self._placed.copy_(self._placed_here, non_blocking=self._on_gpu)
        if any(moves):
            before = self._sums.clone()
            for place, few in zip(self.places, moves, strict=True):
                for name, k in few.items():
                    row = torch.cat([points.rows[name].to(before), before.new_ones(1)])
                    self._sums[place, int(self._labels[place, name])] -= points.weights[name] * row
                    self._sums[place, k] += points.weights[name] * row
            points.guarded(self._average)
            self._sums.copy_(before)
        else:
            self._run(self._average)
        arrived = self._fetch(self._gains, self._gains_here)
        self._given = self._centers[self._at(self.places)] if some_ended else self._centers
        self._begun = self.ahead and self._at_prices is None and self._age % RENEW_EVERY > 0
        self._begun &= len(self._parts) <= 1
        if self._begun:  # while the processor looks at the gains
            self._start()
        arrived()
        gains = self._gains_here.numpy()[self.places]
        points.guarded(partial(points.check_precision, *gains.max(axis=0)))
        return self._given, gains[:, 0]

    def _average(self) -> None:
        """The means of the clusters, linked groups included, and what they gain."""
        torch, points, sums = self.torch, self.points, self._sums
        share = sums.new_zeros((*sums.shape[:2], self._placed.shape[1]))
        share.scatter_(1, self._placed[:, None], points.linked_weights.expand(len(sums), 1, -1))
        flat = torch.addmm(sums.flatten(0, 1), share.flatten(0, 1), points.linked_rows)
        sums = flat.view_as(sums)
        held = sums[..., -1:]  # 0 where a cluster of an ended solution is empty: its center stays
        self._centers.copy_(torch.where(held > 0, sums[..., :-1] / held, self._centers))
        norms = self._centers.square().sum(dim=2)
        self._gains[:, 0], self._gains[:, 1] = (sums[..., -1] * norms).sum(dim=1), norms.amax(dim=1)

    def squares(self, s: int, centers: Any, linked: np.ndarray, moves: Moves) -> float:
        return float(self._squares(self._moved([s], [moves]), centers[None], linked[None])[0])

    def _squares(self, labels: Any, centers: Any, linked: np.ndarray) -> np.ndarray:
        """Sums of squared distances of some solutions: (F, n) labels, (F, K, d) centers."""
        torch, points, (f, k, d) = self.torch, self.points, centers.shape
        # |x - y|^2 = |x|^2 - 2 x y + |y|^2: the products as precise as the rows are (the points
        # turn to double precision where that is too coarse), all sums and linked gaps in double.
        near = centers.to(points.rows.dtype)
        norms = near.to(torch.float64).square().sum(dim=2)
        x, w, at = points.linked_rows[:, :-1], points.linked_weights, points.there(linked)
        total = torch.stack([(x - centers[s][at[s]]).square().sum(dim=1) @ w for s in range(f)])
        for part in self._cut(2 * f * k):
            own = labels[:, part].long()
            products = (near.reshape(f * k, d) @ points.rows[part].T).view(f, k, -1)
            products = products.gather(1, own[:, None])[:, 0].to(torch.float64)
            squares = points.norms[part] - 2 * products + norms.gather(1, own)
            total += squares @ points.weights[part]
        return np.asarray(total.cpu().numpy() + points.scatter)

    def finish(
        self, which: list[int], centers: Any, linked: np.ndarray, moves: list[Moves]
    ) -> Callable[[], list[tuple[np.ndarray, np.ndarray, float]]]:
        """Labels are (G,), of the groups in the order of their numbers."""
        place, all_ended = len(self._ended), self._ended
        labels = self.points.guarded(partial(self._moved, which, moves))
        all_ended.append((labels, centers[self._at(which)], linked))

        def results() -> list[tuple[np.ndarray, np.ndarray, float]]:
            if all_ended is self._ended:
                all_ended[:], self._ended = self._evaluate(all_ended), []
            return all_ended[place]  # type: ignore[no-any-return]

        return results

    def _evaluate(self, ended: list[Any]) -> list[list[tuple[np.ndarray, np.ndarray, float]]]:
        """The same for each of some calls."""
        torch, n_lone = self.torch, len(self.points.lone)
        labels, centers = (torch.cat([each[i] for each in ended]) for i in range(2))
        linked = np.concatenate([each[2] for each in ended])
        values = self.points.guarded(partial(self._squares, labels, centers, linked))
        ordered = torch.cat([labels[:, n_lone:], labels[:, :n_lone]], dim=1)
        free = torch.empty(ordered.shape, dtype=ordered.dtype, pin_memory=self._on_gpu)
        self._fetch(ordered, free)()
        both = np.concatenate([linked, free.numpy()], axis=1, dtype=np.int32)
        found = list(zip(both, centers.cpu().numpy(), values.tolist(), strict=True))
        ends = np.cumsum([len(each[2]) for each in ended]).tolist()
        return [found[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def compound_labels(self) -> np.ndarray:
        return np.asarray(self._labels[0, len(self.points.lone) :].cpu().numpy())

    def far_totals(self) -> np.ndarray:
        return np.array([float(self._far().sum())])

    def pick_far(self, block: int, target: float) -> np.ndarray:
        ends = self._far().cumsum(dim=0)
        row = int(self.torch.searchsorted(ends, target, right=True))
        place = self.points.rows[min(row, len(ends) - 1)]
        return np.asarray(place.to(self.torch.float64).cpu().numpy())

    def _far(self) -> Any:
        """Weighted distances of the lone rows to their centers, in the first solution."""
        self.held()  # labels are complete
        points, n_lone = self.points, len(self.points.lone)
        own = self._centers[0].to(points.rows.dtype)[self._labels[0, :n_lone].long()]
        far = (points.rows[:n_lone] - own).norm(dim=1)
        return far.to(self.torch.float64) * points.weights[:n_lone]

    def keep(self, which: list[int]) -> Any:
        self.places = [self.places[s] for s in which]
        self._given = self._given[self._at(which)]
        return self._given

    def _at(self, places: list[int]) -> Any:
        """Places as an index on the device; it is not waited for."""
        index = self.torch.tensor(places, pin_memory=self._on_gpu)
        return index.to(self.points.device, non_blocking=self._on_gpu)

    def _moved(self, which: list[int], moves: list[Moves]) -> Any:
        """Labels of some solutions, with these groups elsewhere."""
        labels = self._labels[self._at([self.places[s] for s in which])]
        for f, few in enumerate(moves):
            for name, k in few.items():
                labels[f, name] = k
        return labels

    def _fetch(self, tensor: Any, here: Any) -> Callable[[], None]:
        """Start a copy to the processor; returns a call that waits for it."""
        here.copy_(tensor, non_blocking=self._on_gpu)
        if not self._on_gpu:
            return lambda: None
        event = self.torch.cuda.Event()
        event.record()
        return event.synchronize  # type: ignore[no-any-return]


def short(torch: Any, values: Any) -> Any:
    """Numbers of single precision rounded to eleven bits: products in TF32 lose nothing of them."""
    return ((values.view(torch.int32) + 2**12) & -(2**13)).view(torch.float32)


@contextmanager
def precision(points: TorchPoints, name: str) -> Iterator[None]:
    """Products of single precision as they are ("ieee"), or of factors cut to 11 bits ("tf32")."""
    if points.device.type != "cuda":
        yield
        return
    products = points.torch.backends.cuda.matmul
    option, value = ("fp32_precision", name)
    if not hasattr(products, option):  # before PyTorch 2.9
        option, value = "allow_tf32", name == "tf32"  # type: ignore[assignment]
    before = getattr(products, option)
    setattr(products, option, value)
    try:
        yield
    finally:
        setattr(products, option, before)
