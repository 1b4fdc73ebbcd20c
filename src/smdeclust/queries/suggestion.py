"""A question: two rows, and why it is worth asking."""

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
