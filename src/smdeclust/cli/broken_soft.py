"""Which soft pairs a clustering breaks, for machines and for people."""

from __future__ import annotations

import math
from typing import Any

from smdeclust.cli import methods, screen
from smdeclust.cli.options import Inputs

# Pairs that are shown; the rest are counted.
_SHOWN = 5


def broken_soft_document(inputs: Inputs, run: methods.Run) -> list[dict[str, Any]]:
    """The soft pairs that the labels break, the dearest first.

    ``price`` is what breaking a pair costs, ``keeping`` what keeping it would have cost with the
    centers as they are: null where the method does not say, or where hard pairs forbid it.
    """
    if methods.takes_soft_pairs(run.method) and run.broken_soft is not None:
        return [
            _entry(inputs, each.kind, each.pair, each.confidence, each.price, each.keeping)
            for each in run.broken_soft
        ]
    from smdeclust.structure.pairs import broken_pairs

    known = inputs.constraints
    broken = broken_pairs(known.soft_must_link, known.soft_cannot_link, run.labels)
    found = []
    for kind, which in zip(("must_link", "cannot_link"), broken, strict=True):
        pairs = getattr(known, f"soft_{kind}")[which].tolist()
        confidence = getattr(known, f"soft_{kind}_confidence")[which].tolist()
        found += [_entry(inputs, kind, *each) for each in zip(pairs, confidence, strict=True)]
    return found


def _entry(
    inputs: Inputs,
    kind: str,
    rows: Any,
    confidence: float,
    price: float = math.nan,
    keeping: float = math.nan,
) -> dict[str, Any]:
    numbers = {"confidence": confidence, "price": price, "keeping": keeping}
    return {
        "type": kind,
        "rows": list(rows),
        "ids": [inputs.name(row) for row in rows],
        **{key: value if math.isfinite(value) else None for key, value in numbers.items()},
    }


def broken_lines(broken: list[dict[str, Any]]) -> list[str]:
    """The first broken soft pairs, a line each; nothing where none broke."""
    if not broken:
        return []
    lines = [f"Broken soft pairs ({len(broken):,}):"]
    for pair in broken[:_SHOWN]:
        kind = pair["type"].replace("_", "-")
        lines.append(f"  {kind} {screen.printable(' - '.join(pair['ids']))}{_cost(pair)}")
    if len(broken) > _SHOWN:
        lines.append(f"  ... and {len(broken) - _SHOWN:,} more (all with --json)")
    return lines


def _cost(pair: dict[str, Any]) -> str:
    if pair["price"] is None:
        return ""
    paid = f": costs {screen.number(pair['price'], 4)}, "
    if pair["keeping"] is None:
        return paid + "hard pairs forbid to keep it"
    return paid + f"keeping it would cost {screen.number(pair['keeping'], 4)}"
