"""Soft pairs as people give them: pairs with a confidence, or with a price."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.constraints.rows import as_list
from smdeclust.exceptions import InvalidInputError
from smdeclust.structure.pairs import one_each

# A soft pair without a number is right 19 times of 20.
DEFAULT_CONFIDENCE = 0.95


def split_soft(
    pairs: Any, confidence: Any, price: Any, name: str
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return pairs, their confidences and their prices (NaN where it is the other that counts).

    Pairs are ``(i, j)`` or ``(i, j, confidence)``, also mixed, or an array of two or three columns.
    Confidences (None where the pairs say them) or prices are one number per pair, or one for all.
    """
    if pairs is None and confidence is None and price is None:
        return None, np.empty(0), np.empty(0)
    entries = [] if pairs is None else as_list(pairs)
    plain, said = [], np.full(len(entries), np.nan)
    for where, entry in enumerate(entries):
        values = as_list(entry) if not isinstance(entry, str) else [entry]
        if len(values) not in (2, 3):
            raise InvalidInputError(
                f"{name}: entry {where} is {entry!r}, expected (i, j) or (i, j, confidence)."
            )
        plain.append(values[:2])
        if len(values) == 3:
            said[where] = _confidence_of(values[2], f"{name}: entry {where}")
    if confidence is not None and price is not None:
        raise InvalidInputError(f"{name}: give confidences or prices, not both.")
    if (confidence is not None or price is not None) and not np.isnan(said).all():
        raise InvalidInputError(
            f"{name}: the pairs already have confidences; leave out {name}_confidence and "
            f"{name}_price."
        )
    sure, paid, what = said, np.full(len(entries), np.nan), f"{len(entries)} soft pairs"
    if price is not None:
        paid = one_each(price, len(entries), f"{name}_price", what)
    elif confidence is not None:
        sure = one_each(confidence, len(entries), f"{name}_confidence", what)
    else:
        sure = np.where(np.isnan(said), DEFAULT_CONFIDENCE, said)
    priced = ~np.isnan(paid)
    wrong = np.flatnonzero(~priced & ~((sure >= 0.5) & (sure <= 1)))
    if len(wrong):
        raise InvalidInputError(not_a_confidence(sure[wrong[0]], f"{name}: pair {wrong[0]}"))
    if not (paid[priced] >= 0).all():
        raise InvalidInputError(f"{name}_price holds a number below 0.")
    return plain, sure, paid


def _confidence_of(value: Any, where: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if 0.5 <= number <= 1:
        return number
    raise InvalidInputError(not_a_confidence(value if np.isnan(number) else number, where))


def not_a_confidence(value: Any, where: str) -> str:
    """What to say of a confidence that is not from 0.5 to 1."""
    if isinstance(value, float) and 0 <= value < 0.5:
        return (
            f"{where} has the confidence {value:g}. Below 0.5 the opposite is more likely: list "
            f"the pair as the other kind, with the confidence {1 - value:g}."
        )
    return f"{where} has the confidence {value!r}, expected 0.5 to 1."
