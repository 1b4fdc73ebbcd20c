"""Solutions on a device, all labeled by one matrix product."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from smdeclust.points.protocol import Fillers, Moves
from smdeclust.points.row_batch import LOOKED_AT, margin_of, step_to

if TYPE_CHECKING:
    from smdeclust.points.torch_points import TorchPoints

# Numbers of the products held at once (1 GiB).
MOST_PRODUCTS = 2**28


class TorchBatch:
    """S solutions: (n, S) labels of the free groups, on the device."""

    def __init__(self, points: TorchPoints, n_starts: int) -> None:
        self.points, self.torch = points, points.torch
        self._labels = self.torch.full(
            (points.n_free, n_starts), -1, dtype=self.torch.int32, device=points.device
        )

    _free_counts: Any = None  # (B, n) what the free groups count, under bounds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    @property
    def rounding(self) -> float:
        """Products are summed in the precision of the rows."""
        return 1e-13 if self.points.is_double else 1e-8

    def label(self, centers: Any, prices: np.ndarray | None = None) -> np.ndarray:
        self._centers = self.points.there(centers)
        if prices is None:
            return np.asarray(self.points.guarded(self._assign))
        at = self.points.there(prices)
        self._few = self.points.guarded(lambda: self._price_free(at))
        return self.points.linked.costs(np.asarray(centers[0]))[None]

    def _assign(self) -> np.ndarray:
        """The costs of linked groups travel while the device labels the free ones."""
        torch, points = self.torch, self.points
        n_starts, n_clusters, n_features = self._centers.shape
        flat = self._centers.reshape(-1, n_features)
        costs = points.linked_points @ (-2.0 * flat.T) + (flat * flat).sum(dim=1)
        costs = costs.view(-1, n_starts, n_clusters).transpose(0, 1)
        costs = (costs - costs.min(dim=2, keepdim=True).values) * points.linked_weights[:, None]
        here = self._fetch(costs.contiguous())
        arrived = self._mark()
        self._assign_free(flat.to(points.rows.dtype), n_starts, n_clusters)
        self._few = self._fetch(torch.cat([self._counts, self._changed[:, None]], dim=1))
        if arrived is not None:
            arrived.synchronize()
        return here.numpy()

    def _assign_free(self, flat: Any, n_starts: int, n_clusters: int) -> None:
        """Nearest centers of the free groups and what they add up to, part by part."""
        torch, points = self.torch, self.points
        size, double = n_starts * n_clusters, torch.float64
        sums = torch.zeros((size, flat.shape[1]), dtype=double, device=points.device)
        totals = torch.zeros(size, dtype=double, device=points.device)
        counts = torch.zeros(size, dtype=double, device=points.device)
        found = torch.empty_like(self._labels)
        norms = (flat * flat).sum(dim=1)
        coupling = points.coupling
        weighted = points.sample_weight is not None or coupling.n_compound > coupling.n_linked
        shift = torch.arange(n_starts, device=points.device) * n_clusters
        step = max(1, MOST_PRODUCTS // (2 * size))
        for start in range(0, points.n_free, step):
            part = slice(start, min(start + step, points.n_free))
            rows = points.rows[part]
            weights = points.weights[part].to(rows.dtype)
            scores = torch.addmm(norms, rows, flat.T, alpha=-2.0)
            nearest = scores.view(-1, n_starts, n_clusters).argmin(dim=2)
            found[part] = nearest
            # The same storage now holds who is where: a weight in each row for each solution.
            share = scores.zero_()
            share.scatter_(1, nearest + shift, weights[:, None].expand(-1, n_starts))
            sums += share.T @ rows
            totals += weights.new_ones(len(rows)) @ share
            if weighted:
                counts += (share > 0).sum(dim=0)
        shape = n_starts, n_clusters
        self._sums, self._totals = sums.view(*shape, -1), totals.view(shape)
        self._counts = (counts if weighted else totals).view(shape)
        self._changed = (found != self._labels).sum(dim=0).to(double)
        self._labels = found

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(self._few, np.ndarray):  # at prices
            return self._few[None], np.zeros(1, np.int64)
        if self.points.device.type == "cuda":
            self.torch.cuda.synchronize(self.points.device)
        few = np.rint(self._few.numpy()).astype(np.int64)
        return few[:, None, :-1], few[:, -1]

    def fillers(self, s: int) -> Fillers:
        torch, points, centers = self.torch, self.points, self._centers[s]
        labels, weights = self._labels[:, s].long(), points.weights
        single = centers.to(points.rows.dtype)
        scores = (single * single).sum(dim=1) - 2.0 * (points.rows @ single.T)
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
            labels=self._labels[names, s].long().cpu().numpy(),
            costs=(costs * weights[:, None]).cpu().numpy(),
            counts=counts,
        )

    def count(self, counts: np.ndarray) -> None:
        wide = np.broadcast_to(counts, (len(counts), self.points.n_free))
        self._free_counts = self.points.there(np.ascontiguousarray(wide, dtype=np.float64))

    def _price_free(self, prices: Any) -> np.ndarray:
        """Labels at prices of one solution, in double precision: margins are small differences."""
        torch, points, centers = self.torch, self.points, self._centers[0]
        n_clusters, n_features = centers.shape
        norms = (centers * centers).sum(dim=1)
        self._margins = torch.full((points.n_free,), torch.inf, dtype=torch.float64)
        sums = torch.zeros((n_clusters, n_features), dtype=torch.float64, device=points.device)
        totals = torch.zeros(n_clusters, dtype=torch.float64, device=points.device)
        held = torch.zeros(prices.shape, dtype=torch.float64, device=points.device)
        step = max(1, MOST_PRODUCTS // (8 * max(n_clusters, n_features)))
        for start in range(0, points.n_free, step):
            part = slice(start, min(start + step, points.n_free))
            rows, weights = points.rows[part].to(torch.float64), points.weights[part]
            counts = self._free_counts[:, part]
            values = torch.addmm(norms, rows, centers.T, alpha=-2.0) * weights[:, None]
            values += counts.T @ prices
            least = torch.topk(values, min(2, n_clusters), dim=1, largest=False)
            labels = least.indices[:, 0]
            if n_clusters > 1:
                self._margins[part] = (least.values[:, 1] - least.values[:, 0]).cpu()
            self._labels[part, 0] = labels.to(self._labels.dtype)
            sums.index_add_(0, labels, rows * weights[:, None])
            totals.index_add_(0, labels, weights)
            held.index_add_(1, labels, counts)
        self._sums, self._totals = sums[None], totals[None]
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
        torch, points = self.torch, self.points
        sums, totals = self._sums, self._totals
        for s, few in enumerate(moves):
            for name, k in few.items():
                weight, old = points.weights[name], int(self._labels[name, s])
                place = points.rows[name].to(torch.float64)
                for cluster, share in ((old, -weight), (k, weight)):
                    sums[s, cluster] += share * place
                    totals[s, cluster] += share
        if points.coupling.n_linked:
            n_clusters = totals.shape[1]
            placed = points.there(np.ascontiguousarray(linked.T))
            chosen = torch.nn.functional.one_hot(placed, n_clusters).to(torch.float64)
            chosen *= points.linked_weights[:, None, None]
            flat = chosen.reshape(len(placed), -1)
            sums = sums + (flat.T @ points.linked_points).view_as(sums)
            totals = totals + flat.sum(dim=0).view_as(totals)
        centers = sums / totals[..., None]
        norms = (centers * centers).sum(dim=2)
        gains = (totals * norms).sum(dim=1)
        few = torch.cat([gains, norms.max()[None]]).cpu().numpy()
        points.guarded(lambda: points.check_precision(float(few[:-1].max()), float(few[-1])))
        return centers, few[:-1]

    def squares(self, s: int, centers: Any, linked: np.ndarray, moves: Moves) -> float:
        torch, points = self.torch, self.points
        labels = self._moved(s, moves).long()
        # |x - y|^2 = |x|^2 - 2 x y + |y|^2: the products as precise as the rows are (the points
        # turn to double precision where that is too coarse), all sums in double precision.
        near = centers.to(points.rows.dtype)
        products = (points.rows @ near.T).gather(1, labels[:, None])[:, 0].to(torch.float64)
        norms = near.to(torch.float64).square().sum(dim=1)
        total = points.weights @ (points.norms - 2 * products + norms[labels])
        gaps = points.linked_points - centers[points.there(linked)]
        total += (gaps * gaps).sum(dim=1) @ points.linked_weights
        return float(total) + points.scatter

    def finish(
        self, s: int, centers: Any, linked: np.ndarray, moves: Moves
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Labels are (G,), of the groups in the order of their numbers."""
        free, n_lone = self._moved(s, moves).cpu().numpy(), len(self.points.lone)
        labels = np.concatenate([linked, free[n_lone:], free[:n_lone]]).astype(np.int32)
        return labels, centers.cpu().numpy(), self.squares(s, centers, linked, moves)

    def compound_labels(self) -> np.ndarray:
        return np.asarray(self._labels[len(self.points.lone) :, 0].cpu().numpy())

    def far_totals(self) -> np.ndarray:
        return np.array([float(self._far().sum())])

    def pick_far(self, block: int, target: float) -> np.ndarray:
        ends = self._far().cumsum(dim=0)
        row = int(self.torch.searchsorted(ends, target, right=True))
        place = self.points.rows[min(row, len(ends) - 1)]
        return np.asarray(place.to(self.torch.float64).cpu().numpy())

    def _far(self) -> Any:
        """Weighted distances of the lone rows to their centers, in the first solution."""
        points, n_lone = self.points, len(self.points.lone)
        own = self._centers[0].to(points.rows.dtype)[self._labels[:n_lone, 0].long()]
        far = (points.rows[:n_lone] - own).norm(dim=1)
        return far.to(self.torch.float64) * points.weights[:n_lone]

    def keep(self, which: list[int]) -> None:
        self._labels = self._labels[:, which]

    def _moved(self, s: int, moves: Moves) -> Any:
        labels = self._labels[:, s].clone() if moves else self._labels[:, s]
        for name, k in moves.items():
            labels[name] = k
        return labels

    def _fetch(self, tensor: Any) -> Any:
        """Start a copy to the processor; wait for the device before it is read."""
        if self.points.device.type != "cuda":
            return tensor
        here = self.torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        return here.copy_(tensor, non_blocking=True)

    def _mark(self) -> Any:
        """A moment in the device's work that can be waited for."""
        if self.points.device.type != "cuda":
            return None
        event = self.torch.cuda.Event()
        event.record()
        return event
