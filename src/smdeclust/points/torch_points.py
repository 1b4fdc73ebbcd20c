"""Points on a device through PyTorch: many solutions at once, one matrix product for all.

The points go to the device once, minus their mean, in single precision. If clusters turn out to be
too small, compared with their distance from the mean, for single precision to tell them apart, the
points are sent again in double precision, for the rest of the fit.
"""

from functools import partial
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError, SMDEClustError
from smdeclust.extras import optional
from smdeclust.points.arrays import ArrayPoints
from smdeclust.points.protocol import Abilities, Batch
from smdeclust.points.torch_batch import TorchBatch
from smdeclust.structure.groups import Coupling

# Rows that go to the device at once.
UPLOAD_ROWS = 8192
# Error of a squared distance in single precision, as a share of the mean squared distance of points
# to their centers, from which on double precision is used.
LARGEST_ERROR = 1e-4


class DeviceMemoryError(SMDEClustError, MemoryError):
    """The data do not fit on the device."""


def usable_device(torch: Any, device: str) -> Any:
    """The device of that name, tried out."""
    try:
        found = torch.device(device)
        torch.zeros(1, device=found)
    except (RuntimeError, AssertionError, TypeError) as error:
        first = str(error).split("\n")[0]
        raise InvalidInputError(f"device={device!r} cannot be used: {first}.") from None
    return found


class TorchPoints(ArrayPoints):
    """An array on a ``torch.device``: free groups, first lone points, then groups of several."""

    abilities = Abilities(exact=False, at_once=1_000_000)
    recorded: Any = None  # the last step that a GPU recorded, and its stream

    def __init__(
        self,
        X: np.ndarray,
        coupling: Coupling,
        sample_weight: np.ndarray | None,
        device: str,
    ) -> None:
        super().__init__(X, coupling, sample_weight)
        with optional("device"):
            import torch
        self.torch = torch
        self._idle: Any = {}
        self.device = usable_device(torch, device)
        self.lone = np.flatnonzero(coupling.is_free())
        self.n_free = len(self.lone) + coupling.n_compound - coupling.n_linked
        self.guarded(self._upload)

    def guarded(self, work: Any) -> Any:
        """Run `work`, on a full device again with nothing kept; then an error says what to do."""
        try:
            return work()
        except self.torch.OutOfMemoryError:
            self._idle, self.recorded = {}, None
        self.torch.cuda.empty_cache()  # only now, since an error holds what was in use
        try:
            return work()
        except self.torch.OutOfMemoryError as error:
            size = self.n_points * self.n_features * 4 / 2**30
            raise DeviceMemoryError(
                f"The points take {size:.2f} GiB in single precision and do not fit on "
                f"{self.device} along with what is already there ({error}). Use a larger device, "
                f"or device=None."
            ) from None

    def _upload(self) -> None:
        torch, n_linked = self.torch, self.coupling.n_linked
        self.there = partial(torch.as_tensor, device=self.device)
        self.rows = self._rows(torch.float32)
        heavy = self.coupled.group_weights[n_linked:]
        lone = np.broadcast_to(self.row_weights, self.n_points)[self.lone]
        self.weights = self.there(np.concatenate([lone, heavy]))
        means, heavy = self.linked.means, self.linked.weights
        ones, squares = np.ones((len(means), 1)), self.linked.sizes
        self.linked_weights = self.there(heavy.copy())
        # (L, d + 1), so that a product sums weights as well; and (L, d + 2): times y, |y|^2 and 1
        # they are the costs of the linked groups.
        self.linked_rows = self.there(np.hstack([means, ones]))
        self.linked_factors = self.there(
            np.hstack([-2.0 * means, ones, squares[:, None]]) * heavy[:, None]
        )
        self._measure()
        self.largest = float(self.norms.max()) if self.n_free else 0.0

    def _measure(self) -> None:
        """(n,) squared lengths of the rows on the device, and what rough products get wrong.

        Of products with centers up to length 1, rounded to eleven bits: at most 2 x y is wrong by
        what x loses where it is cut to eleven bits, by 2^-11 that y loses, and by sums of eights.
        """
        torch, norms, errors = self.torch, [], []
        share = 2.0**-11 + (self.rows.shape[1] / 8 + 16) * 2.0**-23
        for start in range(0, self.n_free, UPLOAD_ROWS):
            rows = self.rows[start : start + UPLOAD_ROWS]
            norms.append(rows.to(torch.float64).square().sum(dim=1))
            lost = rows.norm(dim=1)
            if not self.is_double:
                cut = (rows.view(torch.int32) & -(2**13)).view(torch.float32)
                lost = (rows - cut).norm(dim=1) + share * lost
            errors.append(4 * 1.001 * lost)  # of two scores, each with 2 x y
        none = [self.there(np.zeros(0))]
        self.norms, self.errors = torch.cat(norms or none), torch.cat(errors or none)

    @property
    def rough(self) -> bool:
        """Whether the device is faster at products of factors cut to eleven bits (TF32)."""
        if self.device.type != "cuda" or self.is_double:
            return False
        return bool(self.torch.cuda.get_device_capability(self.device) >= (8, 0))

    def _rows(self, kind: Any) -> Any:
        """The free groups on the device, as numbers of this kind."""
        n_linked, n_compound = self.coupling.n_linked, self.coupling.n_compound
        if self.rotated:
            table = self.contracted[0]
            ordered = np.concatenate([table[n_compound:], table[n_linked:n_compound]])
            return self.there(ordered).to(kind)
        rows = self.torch.empty((self.n_free, self.n_features), dtype=kind, device=self.device)
        for start in range(0, len(self.lone), UPLOAD_ROWS):
            part = self.lone[start : start + UPLOAD_ROWS]
            rows[start : start + len(part)] = self.there(self.X[part] - self.offset)
        rows[len(self.lone) :] = self.there(self.coupled.means[n_linked:].copy())
        return rows

    @property
    def is_double(self) -> bool:
        """Whether the device works in double precision."""
        return bool(self.rows.dtype == self.torch.float64)

    def check_precision(self, gain: float, largest: float) -> None:
        """Go over to double precision if single precision is too coarse.

        `gain` is how much centers lower the sum of squares about the mean, `largest` the square of
        the largest center.
        """
        if self.is_double:
            return
        mean_square = max(self.total_squares - gain, 0.0) / self.total_weight
        error = 8 * 2.0**-24 * np.sqrt(self.largest * largest)
        if error > LARGEST_ERROR * mean_square:
            self.rows = self._rows(self.torch.float64)
            self.guarded(self._measure)

    def begin(self, n_starts: int) -> Batch:
        """Solutions without labels."""
        batch = self._idle.pop(n_starts, None) or self.guarded(partial(TorchBatch, self, n_starts))
        batch.forget()
        return batch  # type: ignore[no-any-return]

    def idle(self, batch: TorchBatch) -> None:
        """Keep a batch for the next search of as many starts: at most two, as labels take room."""
        self._idle = {**dict([*self._idle.items()][-1:]), batch.n_starts: batch}
