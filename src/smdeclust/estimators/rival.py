"""What the rivals share: one ``fit``, for pairs that hold and for pairs that may break."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from smdeclust.constraints.given import hard_pairs
from smdeclust.estimators.base import ConstrainedClusterer, all_or_nothing, deadline_after
from smdeclust.problem import Problem
from smdeclust.structure.pairs import count_broken


class Rival(ConstrainedClusterer, ABC):
    """A method that labels a problem: see `_solve` of the two classes below."""

    max_time: float | None

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        constraints: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Cluster the rows of `X`.

        Parameters
        ----------
        X
            (N, d) points.
        y
            Not used. For partial labels see ``Constraints.from_labels``.
        must_link, cannot_link
            Pairs of row positions that belong together, or apart: (m, 2) integers.
        constraints
            The same as a :class:`~smdeclust.Constraints`, instead of bare pairs.
        sample_weight
            (N,) non-negative weights.
        """
        deadline = deadline_after(self.max_time)
        self._check_parameters()
        must_link, cannot_link = hard_pairs(self, X, y, constraints, must_link, cannot_link)
        return self._fit(X, must_link, cannot_link, sample_weight, deadline)

    @abstractmethod
    def _fit(self, X: Any, must_link: Any, cannot_link: Any, weight: Any, deadline: Any) -> Self:
        """Build the problem from validated pairs and label it."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise an error that names a parameter which is wrong."""


class StrictRival(Rival):
    """Pairs always hold: `_solve` gets a problem with its pairs and returns (G,) labels."""

    def _fit(self, X: Any, must_link: Any, cannot_link: Any, weight: Any, deadline: Any) -> Self:
        problem = self._build_problem(X, must_link, cannot_link, weight)
        return self._set_solution(problem, self._solve(problem, deadline))

    @abstractmethod
    def _solve(self, problem: Problem, deadline: float | None) -> np.ndarray:
        """Return the (G,) labels of the groups."""


class SoftRival(Rival):
    """Pairs may break: `_solve` gets the points and the pairs and returns (N,) labels."""

    def _fit(self, X: Any, must_link: Any, cannot_link: Any, weight: Any, deadline: Any) -> Self:
        problem, together, apart = self._build_soft(X, must_link, cannot_link, weight)
        labels = self._solve(problem, together, apart, deadline)
        self._set_solution(problem, labels)
        self.n_violations_ = sum(count_broken(together, apart, self.labels_))
        return self

    @abstractmethod
    def _solve(
        self, problem: Problem, together: np.ndarray, apart: np.ndarray, deadline: float | None
    ) -> np.ndarray:
        """Return the (N,) labels of the points."""


class UnweightedRival(SoftRival):
    """The same for methods without weights of points."""

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        constraints: Any = None,
    ) -> Self:
        """Cluster the rows of `X`.

        Parameters
        ----------
        X
            (N, d) points.
        y
            Not used. For partial labels see ``Constraints.from_labels``.
        must_link, cannot_link
            Pairs of row positions that should, or should not, share a cluster: (m, 2) integers.
        constraints
            The same as a :class:`~smdeclust.Constraints`, instead of bare pairs.
        """
        pairs = {"must_link": must_link, "cannot_link": cannot_link}
        return super().fit(X, y, constraints=constraints, **pairs)
