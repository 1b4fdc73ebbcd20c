"""Say in ids and file lines which pairs cannot hold together."""

from __future__ import annotations

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


def conflict_document(conflict: Any, inputs: Inputs) -> dict[str, Any]:
    """A conflict as data: the pairs by row, id and place in the files."""
    pairs = []
    for kind, positions in (
        ("must_link", conflict.must_link),
        ("cannot_link", conflict.cannot_link),
    ):
        for position in positions.tolist():
            rows = getattr(inputs.constraints, kind)[position].tolist()
            pairs.append(
                {
                    "type": kind,
                    "rows": rows,
                    "ids": [inputs.name(row) for row in rows],
                    "where": inputs.constraints.where(kind, position),
                }
            )
    return {
        "reason": conflict.reason,
        "explanation": _REASONS[conflict.reason],
        "minimal": conflict.minimal,
        "n_pairs": len(pairs),
        "pairs": pairs,
    }


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
    advice = "Remove it." if n == 1 else "Without any one of them the others can."
    if document["reason"] in ("too_few_groups", "clique", "no_coloring"):
        advice += " Or change the number of clusters."
    if not document["minimal"]:
        advice = "Perhaps fewer of them are enough: the search for fewer ran out of time."
    within = screen.plural(n_clusters, "cluster")
    return (
        f"{these} cannot hold {'' if n == 1 else 'together '}with {within}: "
        f"{document['explanation']}. {advice}"
    )
