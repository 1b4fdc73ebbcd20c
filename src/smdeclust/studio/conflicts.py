"""An impossible change: which pairs forbid it, and ways to resolve it, each one action."""

from itertools import pairwise
from typing import Any

from smdeclust.constraints.check import REASONS
from smdeclust.exceptions import InfeasibleConstraintsError, InvalidInputError
from smdeclust.structure import Structure
from smdeclust.studio.wishes import Ground, Pair, Wishes, change

# Ways out that are offered at most: people read no longer list.
MOST_WAYS = 6
SOFT = 0.9


def structure_of(wishes: Wishes, ground: Ground, weight: Any = None) -> Structure:
    """What must hold, contracted; InfeasibleConstraintsError where it cannot be."""
    known = wishes.constraints(ground)
    bounds: Any = {name: getattr(wishes, name) for name in ("size_min", "size_max")}
    pairs, k = (known.must_link, known.cannot_link), wishes.n_clusters
    return Structure.build(ground.n_points, k, *pairs, weight, **bounds, quotas=known.quotas)


def find_conflict(wishes: Wishes, ground: Ground, new: list[Pair]) -> dict[str, Any] | None:
    """Return why these wishes cannot be kept, or ``None`` where they can.

    The answer has a ``sentence``, ``pairs`` (to be drawn), and ``ways``, each with a ``label`` and
    the ``actions`` to take instead; one is to make the `new` pairs soft.
    """
    error = _error(wishes, ground)
    if error is None:
        return None
    if not isinstance(error, InfeasibleConstraintsError):
        return {"sentence": str(error), "reason": "input", "pairs": [], "ways": []}
    blamed, sentence = _blamed(wishes, error), str(error)
    if error.reason in REASONS:  # the pairs are shown below it
        within = f"{wishes.n_clusters} cluster{'' if wishes.n_clusters == 1 else 's'}"
        sentence = f"These pairs cannot all be satisfied with {within}: {REASONS[error.reason]}."
    return {
        "sentence": sentence,
        "reason": error.reason,
        "pairs": [[*pair.key, pair.together] for pair in blamed],
        "ways": _that_help(_ways(wishes, error, blamed, new), wishes, ground),
    }


def _error(wishes: Wishes, ground: Ground) -> Exception | None:
    """Why these wishes cannot be kept."""
    try:
        structure_of(wishes, ground)
    except (InfeasibleConstraintsError, InvalidInputError) as error:
        return error
    return None


def _blamed(wishes: Wishes, error: InfeasibleConstraintsError) -> list[Pair]:
    """The pairs that together forbid it, as far as the error tells."""
    hard = {pair.key: pair for pair in reversed(wishes.all_pairs) if pair.is_hard}
    details = error.details
    if "path" in details:
        steps = [*pairwise(details["path"]), details["pair"]]
        keys = [(int(min(step)), int(max(step))) for step in steps]
        return [hard[key] for key in keys if key in hard]
    rows = {int(row) for row in details.get("rows", ())}
    return [pair for pair in hard.values() if set(pair.key) <= rows]


def _that_help(ways: list[dict[str, Any]], wishes: Wishes, ground: Ground) -> list[dict[str, Any]]:
    """The first ways after which nothing is left that contradicts."""
    helpful = []
    for way in ways[: 3 * MOST_WAYS]:
        after = wishes
        for action in way["actions"]:
            after = change(after, action, ground)
        if _error(after, ground) is None:
            helpful.append(way)
    return helpful[:MOST_WAYS]


def _ways(
    wishes: Wishes, error: InfeasibleConstraintsError, blamed: list[Pair], new: list[Pair]
) -> list[dict[str, Any]]:
    ways: list[dict[str, Any]] = []
    keys = {pair.key for pair in new}
    repeat = [_say(pair, pair.confidence) for pair in new]
    if new:
        label = f"Make the new pair{'s' * (len(new) > 1)} soft ({SOFT:.0%} sure)"
        ways.append({"label": label, "actions": [_say(p, SOFT) for p in new]})
    label, k = "One more cluster", wishes.n_clusters + 1
    if error.reason == "too_few_groups":
        label, k = "One fewer cluster", wishes.n_clusters - 1
    if error.reason in ("clique", "no_coloring", "too_few_groups") and k > 0:
        ways.append({"label": label, "actions": [{"do": "set", "n_clusters": k}, *repeat]})
    labelled, said = dict(wishes.labelled), {pair.key for pair in wishes.pairs}
    for pair in blamed:
        if pair.key not in said:  # it follows from two labels
            for row in pair.key:
                if row in labelled:
                    take = {"do": "label", "rows": [row], "name": ""}
                    label = f"Remove the label {labelled.pop(row)} of"
                    ways.append({"label": label, "row": row, "actions": [take, *repeat]})
        elif pair.key not in keys:
            drop = {"do": "drop", "pairs": [list(pair.key)]}
            ways.append({"label": "Drop", "pair": list(pair.key), "actions": [drop, *repeat]})
    return ways


def _say(pair: Pair, confidence: float) -> dict[str, Any]:
    said = {"do": "pairs", "pairs": [list(pair.key)], "together": pair.together}
    return said | {"confidence": confidence}
