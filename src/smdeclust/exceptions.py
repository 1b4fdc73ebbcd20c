"""The few exception types of the library: each says what was wrong, where, and what to do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class SMDEClustError(Exception):
    """The base class of all errors of this package."""


class InvalidInputError(SMDEClustError, ValueError):
    """The data, a pair or a parameter is not valid."""


@dataclass(frozen=True)
class Names:
    """What rows are called in a sentence: by their numbers, or by their ids."""

    ids: Any = None

    def __call__(self, *rows: int | str, noun: str = "", joint: str = ", ", most: int = 8) -> str:
        """These rows (or dots), the first ones of many; numbers follow the `noun`."""
        known, shown = self.ids is not None, [*rows[:most], *["..."] * (len(rows) > most)]
        words = [row if isinstance(row, str) else repr(str(self.ids[row])) if known else str(row)
                 for row in shown]  # fmt: skip
        return joint.join(words) if known or not noun else f"{noun} {joint.join(words)}"


class InfeasibleConstraintsError(SMDEClustError, ValueError):
    """No clustering satisfies the constraints. The message explains why.

    Attributes
    ----------
    reason
        One of ``"self_cannot_link"``, ``"must_link_path"``, ``"clique"``, ``"too_few_groups"``,
        ``"too_few_clusters"``, ``"no_coloring"``; for sizes ``"size_min_sum"``, ``"size_max_sum"``,
        ``"size_max_group"``, ``"size_max_empty"``, ``"size_packing"``; for quotas ``"quota"``,
        ``"quotas"``; in ``predict`` ``"new_rows"``, ``"sizes"``, ``"bounds"``.
    details
        The explanation as a dict. ``must_link_path``: ``path`` (rows that must-links join one to
        the next) and ``pair`` (its two ends, which have a cannot-link). ``clique``: ``rows`` (one
        point from each of more than K groups that all have cannot-links with each other).
        ``too_few_groups``: ``n_groups`` and ``n_clusters``. ``no_coloring``: ``rows`` (points whose
        groups do not fit into K clusters). Sizes: the numbers involved, ``rows`` or ``groups``, and
        ``nearest_size_min`` or ``nearest_size_max``, which would work (bounds on weight may need
        more room). ``new_rows``: ``must_link``
        and ``cannot_link``, the pairs of each contradiction.
    """

    def __init__(
        self,
        message: str | Callable[[Names], str],
        reason: str,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message(Names()) if callable(message) else message)
        self._sentence = message
        self.reason = reason
        self.details = details or {}

    def by_id(self, ids: Any) -> "InfeasibleConstraintsError":
        """Return the same error with ids instead of row positions."""
        if ids is None or not callable(self._sentence):
            return self
        named = (self.details[name] for name in ("path", "pair", "rows") if name in self.details)
        details = {**self.details, "ids": [str(ids[int(row)]) for row in next(named, ())]}
        return InfeasibleConstraintsError(self._sentence(Names(ids)), self.reason, details)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.reason, self.details)


class NoFeasibleSolutionError(SMDEClustError, RuntimeError):
    """A heuristic found no feasible solution. This does not prove that there is none."""

    def __init__(
        self,
        message: str = "No feasible assignment was found: there are very many cannot-links, and it "
        "is not known whether the clusters can satisfy them. Use more clusters or fewer pairs.",
    ) -> None:
        super().__init__(message)


class DataNotFoundError(SMDEClustError, FileNotFoundError):
    """A data set is not in the local folder and could not be downloaded."""
