"""Say in ids and file lines which pairs cannot hold together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from smdeclust.cli import screen
from smdeclust.cli.errors import INFEASIBLE, Outcome
from smdeclust.cli.opening import Inputs

_REASONS = {
    "self_cannot_link": "a row must be apart from itself",
    "must_link_path": "must-links join two rows that a cannot-link keeps apart",
    "too_few_groups": "the must-links leave fewer groups than clusters",
    "clique": "more groups than clusters must all be apart from each other",
    "no_coloring": "the cannot-links need more clusters (every way to place the rows was tried)",
}
_SHOWN = 40
# For a command that stops at contradictions: time to look for all of them, and how many it lists.
_CHECK_SECONDS = 10.0
_LISTED = 5
_SIGNS = {"must_link": "ml", "cannot_link": "cl"}


@contextmanager
def conflicts_explained(inputs: Inputs, k: int, update: Any, *, as_json: bool) -> Iterator[None]:
    """Where the block finds that pairs contradict each other, say which and leave with code 2."""
    from smdeclust.exceptions import InfeasibleConstraintsError

    try:
        yield
    except InfeasibleConstraintsError as error:
        update("looking for the pairs that contradict each other")
        found = inputs.constraints.check(k, max_time=_CHECK_SECONDS)
        if found.feasible is not False or not found.conflicts:  # a bound or a quota, already said
            raise
        document = judgement(found, inputs)
        message = _contradictions(document, k)
        if as_json:
            about = {"type": type(error).__name__, "reason": document["conflict"]["reason"]}
            screen.print_json(
                {"error": {**about, "message": message, "exit_code": INFEASIBLE}}
                | {"verdict": "infeasible", **document}
            )
        screen.say(f"Error: {message}", style="red")
        raise Outcome(INFEASIBLE) from error


def _contradictions(document: dict[str, Any], k: int) -> str:
    """All contradictions, and what to do, for people."""
    conflicts = document["conflicts"]
    parts = []
    for conflict in conflicts[:_LISTED]:
        parts += [summary(conflict, k), *_lines(conflict)]
    if len(conflicts) > _LISTED:
        parts.append(f"... and {len(conflicts) - _LISTED} more contradictions.")
    if len(conflicts) > 1 or conflicts[0]["n_pairs"] > 1:
        parts += [repair_words(document), *_lines(document["repair"])]
    if not any(pair["where"].startswith("--add") for pair in document["repair"]["pairs"]):
        parts.append("'smdeclust check' with --repair FILE writes the pairs that can hold.")
    return "\n".join(parts)


def _lines(document: dict[str, Any]) -> list[str]:
    return [f"  {kind} {names}  ({where})" for kind, names, where in conflict_rows(document)]


def pairs_document(found: Any, judged: Any, name: Callable[[int], str]) -> list[dict[str, Any]]:
    """The pairs of a conflict or of a repair, by row, id and place in the files.

    `found` has positions among the pairs `judged`; `name` makes an id of a row.
    """
    pairs = []
    for kind in ("must_link", "cannot_link"):
        for position in getattr(found, kind).tolist():
            rows = getattr(judged, kind)[position].tolist()
            ids = [name(row) for row in rows]
            where = judged.where(kind, position)
            if where == f"{kind} pair {position}":  # in no file: given by an option
                where = f"--add {_SIGNS[kind]}:{','.join(ids)}"
            pairs.append({"type": kind, "rows": rows, "ids": ids, "where": where})
    return pairs


def judgement(check: Any, inputs: Inputs) -> dict[str, Any]:
    """Every contradiction and the least repair as data; `check` is what the pairs' check found."""
    conflicts = []
    for conflict in check.conflicts:
        pairs = pairs_document(conflict, check.judged, inputs.name)
        about = {"reason": conflict.reason, "explanation": _REASONS[conflict.reason]}
        about |= {"minimal": conflict.minimal, "n_pairs": len(pairs), "pairs": pairs}
        conflicts.append(about)
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
        (pair["type"].replace("_", "-"), " - ".join(pair["ids"]), pair["where"])
        for pair in document["pairs"]
    ]
    if len(rows) > _SHOWN:
        left_out = ("...", f"and {len(rows) - _SHOWN} more", "(all with --json)")
        rows = [*rows[: _SHOWN // 2], left_out, *rows[-_SHOWN // 2 :]]
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
