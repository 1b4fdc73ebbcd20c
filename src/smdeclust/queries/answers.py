"""Answers: same, different or don't know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError

SAME, DIFFERENT, UNKNOWN = "same", "different", "unknown"
WORDS = {
    True: SAME, "same": SAME, "s": SAME, "y": SAME, "yes": SAME,
    False: DIFFERENT, "different": DIFFERENT, "d": DIFFERENT, "n": DIFFERENT, "no": DIFFERENT,
    None: UNKNOWN, "unknown": UNKNOWN, "?": UNKNOWN, "don't know": UNKNOWN,
}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """An answer about a pair."""

    pair: tuple[int, int]  # two rows
    verdict: str  # ``"same"``, ``"different"`` or ``"unknown"``
    confidence: float = 1.0  # how sure, from 0.5 to 1; 1 is a hard pair, less a soft one


def as_answer(pair: tuple[int, int], given: Any) -> Answer:
    """Read what an oracle returned: a verdict, or (verdict, confidence)."""
    word, confidence = given if isinstance(given, tuple) else (given, 1.0)
    key = word.strip().lower() if isinstance(word, str) else word
    key = bool(key) if key is not None and not isinstance(key, str) else key
    if key not in WORDS:
        raise InvalidInputError(
            f"The oracle answered {given!r} about rows {pair}; expected same (True), different "
            f"(False) or unknown (None), alone or as (answer, confidence)."
        )
    sure = float(confidence)
    if not 0.5 <= sure <= 1:
        raise InvalidInputError(f"The oracle's confidence must be from 0.5 to 1, got {sure}.")
    return Answer(pair, WORDS[key], sure)


def as_label_answers(row: int, representatives: Sequence[int], given: Any) -> list[Answer]:
    """Read the answer to "to which of these does this one belong?" as answers about pairs.

    It is a position among the representatives, ``"none"`` of them, or ``None``; alone or with a
    confidence.
    """
    choice, confidence = given if isinstance(given, tuple) else (given, 1.0)
    if choice is None:
        return [Answer((row, other), UNKNOWN) for other in representatives]
    if isinstance(choice, str) and choice.strip().lower() == "none":
        return [as_answer((row, other), (False, confidence)) for other in representatives]
    whole = isinstance(choice, int | np.integer) and not isinstance(choice, bool)
    if not whole or not 0 <= choice < len(representatives):
        raise InvalidInputError(
            f"The oracle answered {given!r} about row {row}; expected a position from 0 to "
            f"{len(representatives) - 1}, 'none', or None."
        )
    return [as_answer((row, representatives[int(choice)]), (True, confidence))]


@dataclass
class Checks:
    """Answers to questions whose answer followed from others: how often is the oracle wrong?

    Two answers that imply a third agree with it unless one or all three are wrong: with an error
    rate e they disagree with probability (1 - (1 - 2 e)^3) / 2. Before there are checks, e is taken
    for 5%, which counts as much as ten checks.
    """

    n_checks: int = 0
    n_disagree: int = 0

    def add(self, *, agreed: bool) -> None:
        """Count one more check."""
        self.n_checks += 1
        self.n_disagree += not agreed

    @property
    def error_rate(self) -> float:
        """The estimate, at most 0.4."""
        share = (self.n_disagree + 10 * (1 - 0.9**3) / 2) / (self.n_checks + 10)
        return min(0.4, (1 - max(0.0, 1 - 2 * share) ** (1 / 3)) / 2)
