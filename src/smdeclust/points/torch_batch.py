"""Solutions on a device, all labeled by one matrix product.

Where the device is fast at that, the product is rough (TF32: factors of eleven bits). Rows whose
two best centers are closer than its error are looked at again in single precision, so that labels
are those of single precision. Sums change by the rows that moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
# Share of the rows from which on picking those that moved takes longer than taking all.
MOST_MOVED = 0.25


class TorchBatch:
    """S solutions: (S, n) labels of the free groups, and (S, K, d + 1) their sums and weights."""

    def __init__(self, points: TorchPoints, n_starts: int) -> None:
        self.points, self.torch = points, points.torch
        shape = n_starts, points.n_free
        self._labels = self.torch.full(shape, -1, dtype=self.torch.int32, device=points.device)
        self._age = 0  # labelings so far
        self._summed: Any = None  # the rows of which the sums are

    _free_counts: Any = None  # (B, n) what the free groups count, under bounds

    def __enter__(self) -> Self:
        self._precision = precision(self.points, "ieee")
        self._precision.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._precision.__exit__(None, None, None)

    @property
    def rounding(self) -> float:
        """Products are summed in the precision of the rows."""
        return 1e-13 if self.points.is_double else 1e-8

    def label(self, centers: Any, prices: np.ndarray | None = None) -> np.ndarray:
        self._centers = self.points.there(centers)
        if prices is None:
            return np.asarray(self.points.guarded(self._begin))
        at = self.points.there(prices)
        self._few = self.points.guarded(lambda: self._price_free(at))
        return self.points.linked.costs(np.asarray(centers[0]))[None]

    def _begin(self) -> np.ndarray:
        """The costs of the linked groups, while the device goes on with the free ones."""
        norms = self._centers.square().sum(dim=2)
        here, arrived = self._fetch(self._linked_costs(self._centers, norms))
        self._rest = self._label_free(norms)
        next(self._rest, None)
        arrived()
        return np.asarray(here.numpy())

    def _linked_costs(self, centers: Any, norms: Any) -> Any:
        """(S, L, K) costs of the linked groups, in double precision."""
        s, k, d = centers.shape
        full = [
            centers.reshape(s * k, d),
            norms.view(-1, 1),
            self.torch.ones_like(norms.view(-1, 1)),
        ]
        costs = self.points.linked_factors @ self.torch.cat(full, dim=1).T
        return costs.view(-1, s, k).transpose(0, 1).contiguous()

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(self._few, np.ndarray):  # at prices
            return self._few[None], np.zeros(1, np.int64)
        self.points.guarded(lambda: list(self._rest))
        here, arrived = self._few
        arrived()
        few = np.rint(here.numpy()).astype(np.int64)
        return few[:, None, :-1], few[:, -1]

    _few: Any = None

    def _label_free(self, norms: Any) -> Iterator[None]:
        """Label the free groups and sum them, part by part; pauses once the device is at work."""
        torch, points, (s, k, d) = self.torch, self.points, self._centers.shape
        kind = points.rows.dtype
        at = norms.to(kind).view(-1, 1), self._centers.reshape(s * k, d).to(kind)
        longest = None
        if points.rough and points.n_free * s * k * d >= LEAST_ROUGH:
            longest = norms.amax(dim=1, keepdim=True).sqrt().to(kind)
        self._few, n_changed = None, torch.zeros(s, dtype=torch.int64, device=points.device)
        anew = self._summed is not points.rows or self._age % RENEW_EVERY == 0
        if anew:
            self._sums, self._summed = norms.new_zeros((s, k, d + 1)), points.rows
            self._counts = norms.new_zeros((s, k))
        self._age += 1
        for part in self._parts(2 * s * k):
            rows, weights, old = points.rows[part], points.weights[part], self._labels[:, part]
            if longest is None:
                nearest = self._scores(at, rows, s).argmin(dim=1)
                yield
            else:
                nearest, unsure = self._look(at, rows, longest, points.lengths[part])
                yield
                again = unsure.nonzero()[:, 0]
                if len(again):
                    nearest[:, again] = self._scores(at, rows[again], s).argmin(dim=1)
            moved = nearest != old
            n_changed += moved.sum(dim=1)
            if anew:
                self._add(rows, weights, nearest)
            else:
                few = moved.any(dim=0).nonzero()[:, 0]
                taken = few if len(few) <= MOST_MOVED * len(rows) else slice(None)
                self._add(rows[taken], weights[taken], nearest[:, taken], old[:, taken].long())
            old.copy_(nearest)
        self._few = self._fetch(torch.cat([self._counts, n_changed[:, None]], dim=1))

    def _parts(self, width: int) -> Iterator[slice]:
        """Rows of which so many numbers each are held at once."""
        step, n = max(1, MOST_PRODUCTS // width), self.points.n_free
        return (slice(start, min(start + step, n)) for start in range(0, n, step))

    def _scores(self, at: tuple[Any, Any], rows: Any, n_starts: int) -> Any:
        """(S, K, n) squared distances of rows to centers, without what is the same for a row."""
        scores = self.torch.addmm(*at, rows.T, alpha=-2.0)
        return scores.view(n_starts, len(scores) // n_starts, -1)

    def _look(self, at: tuple[Any, Any], rows: Any, longest: Any, lengths: Any) -> tuple[Any, Any]:
        """(S, n) nearest centers by a rough product, and (n,) rows where that may be wrong.

        `longest` are (S, 1) lengths of the longest centers, `lengths` those of the rows.
        """
        with precision(self.points, "tf32"):
            scores = self._scores(at, rows, len(longest))
        least, nearest = scores.min(dim=1)
        scores.scatter_(1, nearest[:, None], self.torch.inf)
        # Both factors lose 2^-10 of each number at most, and eight products are summed at a time;
        # 2 x y counts twice, and both scores may be off. Norms have 24 bits.
        off = 4 * (2.0**-9 + (rows.shape[1] / 8 + 16) * 2.0**-23)
        limit = self.torch.addcmul(longest.square() * 2.0**-22, lengths, longest, value=off)
        return nearest, (scores.amin(dim=1) - least <= limit).any(dim=0)

    def _add(self, rows: Any, weights: Any, new: Any, old: Any = None) -> None:
        """Add rows to their clusters, and take them from their `old` ones."""
        share = rows.new_zeros((*self._counts.shape, len(rows)))
        heavy = weights.to(rows.dtype).expand(len(share), 1, -1)
        share.scatter_(1, new[:, None], heavy)
        if old is not None:
            share.scatter_add_(1, old[:, None], -heavy)
        self._sums[..., :-1] += (share.flatten(0, 1) @ rows).view(*self._counts.shape, -1)
        self._sums[..., -1] += share.sum(dim=2)
        self._counts += share.sign().sum(dim=2)

    def fillers(self, s: int) -> Fillers:
        torch, points, centers = self.torch, self.points, self._centers[s]
        labels, weights = self._labels[s].long(), points.weights
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
        self._free_counts = self.points.there(np.ascontiguousarray(wide, dtype=np.float64))

    def _price_free(self, prices: Any) -> np.ndarray:
        """Labels at prices of one solution, in double precision: margins are small differences."""
        torch, points, (_, k, d) = self.torch, self.points, self._centers.shape
        norms = self._centers.square().sum(dim=2)
        self._margins = torch.full((points.n_free,), torch.inf, dtype=torch.float64)
        self._sums, self._counts = norms.new_zeros((1, k, d + 1)), norms.new_zeros((1, k))
        held = torch.zeros_like(prices)
        for part in self._parts(8 * max(k, d)):
            rows, weights = points.rows[part].to(torch.float64), points.weights[part]
            counts = self._free_counts[:, part]
            values = torch.addmm(norms, rows, self._centers[0].T, alpha=-2.0) * weights[:, None]
            values += counts.T @ prices
            least = torch.topk(values, min(2, k), dim=1, largest=False)
            labels = least.indices[:, 0]
            if k > 1:
                self._margins[part] = (least.values[:, 1] - least.values[:, 0]).cpu()
            self._labels[0, part] = labels
            self._add(rows, weights, labels[None])
            held += counts @ torch.nn.functional.one_hot(labels, k).to(torch.float64)
        return np.asarray(held.cpu().numpy())

    def undecided(self, n_wanted: int, reach: float, most: int) -> tuple[Fillers, float, float]:
        margins = self._margins.numpy()
        step = max(1, len(margins) // LOOKED_AT)
        limit = max(reach, margin_of([margins[::step]], n_wanted // step))
        where = np.flatnonzero(margins <= limit)
        few = where[:: step_to(len(where), most)]
        share = len(few) / len(where) if len(where) else 1.0
        return self._look_up(0, self.points.there(few)), limit, share

    def move(self, linked: np.ndarray, moves: list[Moves]) -> tuple[Any, np.ndarray]:
        torch, points, sums = self.torch, self.points, self._sums
        if any(moves):
            sums = sums.clone()
        for s, few in enumerate(moves):
            for name, k in few.items():
                place = torch.nn.functional.pad(
                    points.rows[name].to(torch.float64), (0, 1), value=1
                )
                sums[s, int(self._labels[s, name])] -= points.weights[name] * place
                sums[s, k] += points.weights[name] * place
        if points.coupling.n_linked:
            share = sums.new_zeros((*sums.shape[:2], linked.shape[1]))
            heavy = points.linked_weights.expand(len(linked), 1, -1)
            share.scatter_(1, points.there(linked)[:, None], heavy)
            flat = torch.addmm(sums.flatten(0, 1), share.flatten(0, 1), points.linked_rows)
            sums = flat.view_as(sums)
        centers, totals = sums[..., :-1] / sums[..., -1:], sums[..., -1]
        norms = centers.square().sum(dim=2)
        few = torch.cat([(totals * norms).sum(dim=1), norms.max()[None]]).cpu().numpy()
        points.guarded(lambda: points.check_precision(float(few[:-1].max()), float(few[-1])))
        return centers, few[:-1]

    def squares(self, s: int, centers: Any, linked: np.ndarray, moves: Moves) -> float:
        return float(self._squares(self._moved([s], [moves]), centers[None], linked[None])[0])

    def _squares(self, labels: Any, centers: Any, linked: np.ndarray) -> np.ndarray:
        """Sums of squared distances of some solutions: (F, n) labels, (F, K, d) centers."""
        torch, points, (f, k, d) = self.torch, self.points, centers.shape
        # |x - y|^2 = |x|^2 - 2 x y + |y|^2: the products as precise as the rows are (the points
        # turn to double precision where that is too coarse), all sums in double precision.
        near = centers.to(points.rows.dtype)
        norms = near.to(torch.float64).square().sum(dim=2)
        costs = self._linked_costs(centers, centers.square().sum(dim=2))
        total = costs.gather(2, points.there(linked)[..., None]).sum(dim=(1, 2))
        for part in self._parts(2 * f * k):
            own = labels[:, part].long()
            products = (near.reshape(f * k, d) @ points.rows[part].T).view(f, k, -1)
            products = products.gather(1, own[:, None])[:, 0].to(torch.float64)
            squares = points.norms[part] - 2 * products + norms.gather(1, own)
            total += squares @ points.weights[part]
        return np.asarray(total.cpu().numpy() + points.scatter)

    def finish(
        self, which: list[int], centers: Any, linked: np.ndarray, moves: list[Moves]
    ) -> list[tuple[np.ndarray, np.ndarray, float]]:
        """Labels are (G,), of the groups in the order of their numbers."""
        labels, n_lone = self._moved(which, moves), len(self.points.lone)
        values = self._squares(labels, centers, linked)
        free, here = labels.cpu().numpy(), centers.cpu().numpy()
        ordered = np.concatenate(
            [linked, free[:, n_lone:], free[:, :n_lone]], axis=1, dtype=np.int32
        )
        return [(ordered[f], here[f], float(values[f])) for f in range(len(which))]

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
        list(self._rest)  # labels are complete
        points, n_lone = self.points, len(self.points.lone)
        own = self._centers[0].to(points.rows.dtype)[self._labels[0, :n_lone].long()]
        far = (points.rows[:n_lone] - own).norm(dim=1)
        return far.to(self.torch.float64) * points.weights[:n_lone]

    def keep(self, which: list[int]) -> None:
        self._labels, self._sums = self._labels[which], self._sums[which]
        self._counts = self._counts[which]

    def _moved(self, which: list[int], moves: list[Moves]) -> Any:
        """Labels of some solutions, with these groups elsewhere."""
        labels = self._labels[which]
        for f, few in enumerate(moves):
            for name, k in few.items():
                labels[f, name] = k
        return labels

    def _fetch(self, tensor: Any) -> tuple[Any, Any]:
        """Start a copy to the processor; returns it, and a call that waits for it."""
        if self.points.device.type != "cuda":
            return tensor, lambda: None
        here = self.torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        here.copy_(tensor, non_blocking=True)
        event = self.torch.cuda.Event()
        event.record()
        return here, event.synchronize


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
