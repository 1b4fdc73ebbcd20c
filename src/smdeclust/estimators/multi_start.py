"""What the estimators with several starts share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from smdeclust.baselines.multi_start import Attempt, multi_start
from smdeclust.estimators.base import ConstrainedClusterer, check_number
from smdeclust.problem import Solution


class MultiStartClusterer(ConstrainedClusterer):
    """Base of the estimators that keep the best of ``n_init`` starts."""

    n_init: int
    max_iter: int
    max_time: float | None
    verbose: int

    def _best_start(
        self, attempt: Callable[[np.random.Generator], Attempt], deadline: float | None
    ) -> Solution | None:
        """Run the starts, set their counters, and return the best solution, if any."""
        starts = multi_start(
            attempt,
            self.n_init,
            self._generator(),
            deadline=deadline,
            verbose=bool(self.verbose),
        )
        self.n_local_searches_ = starts.n_starts
        self.n_local_iterations_ = starts.n_iterations
        self.n_failed_starts_ = starts.n_failed
        self.n_iter_ = starts.n_iterations if starts.best is None else starts.best.n_iterations
        return starts.best

    def _check_starts(self) -> None:
        check_number("n_init", self.n_init, low=1, whole=True)
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("max_time", self.max_time, low=0, optional=True)
