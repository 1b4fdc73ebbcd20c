"""Questions, and why they are worth asking."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Suggestion:
    """A pair to ask about.

    Attributes
    ----------
    pair
        Two rows.
    reason
        What is uncertain and how many points hang on it, in words.
    score
        What the suggestions were ranked by; comparable within one call only.
    expected
        What the present clustering says: ``"same"`` or ``"different"``.
    """

    pair: tuple[int, int]
    reason: str
    score: float
    expected: str


class Check(Suggestion):
    """A pair whose answer follows from others: it is asked to learn how often somebody errs."""


@dataclass(frozen=True)
class LabelQuestion:
    """A row whose cluster to ask for.

    Attributes
    ----------
    row
        The row.
    representatives
        One row of each cluster that it may be in, the likeliest first.
    reason
        Why this row, in words.
    score
        What the questions were ranked by; comparable within one call only.
    """

    row: int
    representatives: tuple[int, ...]
    reason: str
    score: float
