"""What a convergence plot needs: one record per generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from smdeclust.memetic.population import State


class History:
    """Grows by one record per generation; `arrays` gives it as equal-length arrays.

    Where several populations run in turn, generations are numbered on from one to the next, and
    ``best`` is the best of all so far.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[float, ...]] = []
        self._earlier = 0  # generations of earlier populations, their first ones included

    FIELDS = ("generation", "evaluations", "time", "best", "mean", "worst", "diversity")

    def record(self, state: State) -> None:
        """Add the present state."""
        values = state.objectives()
        assert state.best is not None
        self._rows.append(
            (
                self._earlier + state.generation,
                state.n_local_searches,
                state.elapsed,
                state.best.objective,
                float(values.mean()),
                float(values.max()),
                state.diversity(),
            )
        )

    def begin_population(self) -> None:
        """The next records are those of a new population."""
        if self._rows:
            self._earlier = int(self._rows[-1][0]) + 1

    def arrays(self) -> dict[str, np.ndarray]:
        """The records, one array a field."""
        columns = np.array(self._rows, dtype=np.float64).reshape(-1, len(self.FIELDS)).T
        history = dict(zip(self.FIELDS, columns, strict=True))
        for name in ("generation", "evaluations"):
            history[name] = history[name].astype(np.int64)
        history["best"] = np.minimum.accumulate(history["best"])
        return history
