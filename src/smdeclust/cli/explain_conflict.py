"""Say in ids and file lines which pairs cannot hold together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smdeclust.cli import screen
from smdeclust.cli.options import Inputs

_REASONS = {
    "self_cannot_link": "a row is to be kept apart from itself",
    "must_link_path": "must-links join two rows that a cannot-link keeps apart",
    "too_few_groups": "the must-links leave fewer groups than clusters",
    "clique": "more groups are all to be kept apart from each other than there are clusters",
    "no_coloring": "the cannot-links need more clusters (every way to place the rows was tried)",
}
_SHOWN = 40


def pairs_document(found: Any, judged: Any, name: Callable[[int], str]) -> list[dict[str, Any]]:
    """The pairs of a conflict or of a repair, by row, id and place in the files.

    Parameters
    ----------
    found
        Positions of pairs, as ``must_link`` and ``cannot_link``.
    judged
        The pairs that these are positions of.
    name
        From a row to its id.
    """
    pairs = []
    for kind in ("must_link", "cannot_link"):
        for position in getattr(found, kind).tolist():
            rows = getattr(judged, kind)[position].tolist()
            pairs.append(
                {
                    "type": kind,
                    "rows": rows,
                    "ids": [name(row) for row in rows],
                    "where": judged.where(kind, position),
                }
            )
    return pairs


def judgement(check: Any, inputs: Inputs) -> dict[str, Any]:
    """Every contradiction and the least repair as data; `check` is what the pairs' check found."""
    conflicts = []
    for conflict in check.conflicts:
        pairs = pairs_document(conflict, check.judged, inputs.name)
        conflicts.append(
            {
                "reason": conflict.reason,
                "explanation": _REASONS[conflict.reason],
                "minimal": conflict.minimal,
                "n_pairs": len(pairs),
                "pairs": pairs,
            }
        )
    repair = check.repair
    return {
        "conflict": conflicts[0],
        "conflicts": conflicts,
        "complete": check.complete,
        "repair": {
            "pairs": pairs_document(repair, check.judged, inputs.name),
            "cost": repair.cost,
            "bound": repair.bound,
            "proven": repair.proven,
        },
    }


def repair_rows(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The pairs to drop as the rows of a table."""
    return conflict_rows(document["repair"])


def repair_words(document: dict[str, Any]) -> str:
    """What to drop, in a sentence."""
    repair = document["repair"]
    n = len(repair["pairs"])
    these = "this pair" if n == 1 else f"these {n} pairs"
    if repair["proven"]:
        return f"Least repair: drop {these} and the rest hold. Nothing less is enough (proven)."
    return (
        f"Repair: drop {these} and the rest hold. Less may be enough: this costs "
        f"{repair['cost']:g}, and nothing below {repair['bound']:g} is."
    )


def conflict_rows(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    """A conflict as the rows of a table."""
    rows = [
        (
            "must-link" if pair["type"] == "must_link" else "cannot-link",
            " - ".join(pair["ids"]),
            pair["where"],
        )
        for pair in document["pairs"]
    ]
    if len(rows) > _SHOWN:
        left = len(rows) - _SHOWN
        rows = [
            *rows[: _SHOWN // 2],
            ("...", f"and {left} more", "(all with --json)"),
            *rows[-_SHOWN // 2 :],
        ]
    return rows


def summary(document: dict[str, Any], n_clusters: int) -> str:
    """A conflict in a sentence."""
    n = document["n_pairs"]
    these = "This pair" if n == 1 else f"These {n} pairs"
    advice = "Remove it." if n == 1 else "Drop any one of them and the others can."
    if document["reason"] in ("too_few_groups", "clique", "no_coloring"):
        advice += " Or change the number of clusters."
    if not document["minimal"]:
        advice = "Perhaps fewer of them are enough: the search for fewer ran out of time."
    within = screen.plural(n_clusters, "cluster")
    return (
        f"{these} cannot hold {'' if n == 1 else 'together '}with {within}: "
        f"{document['explanation']}. {advice}"
    )
