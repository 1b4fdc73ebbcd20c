"""``smdeclust check``: can these pairs hold together, and what do they require?"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from smdeclust.cli import methods, opening, options, output
from smdeclust.cli.errors import INFEASIBLE, CommandError, Outcome
from smdeclust.constraints.check import REASONS
from smdeclust.exceptions import InfeasibleConstraintsError
from smdeclust.io import write_bytes
from smdeclust.io.files import as_utf8, decode, read_bytes
from smdeclust.io.pair_forms import header_of
from smdeclust.io.table_file import records
from smdeclust.structure import Structure
from smdeclust.structure.groups import contract
from smdeclust.structure.pairs import count_broken

# For the search for all contradictions and the least repair.
_SECONDS = 30.0
_SHOWN = 10
_ENDINGS = (".csv", ".json", ".txt", ".links")


def check(
    data: options.DataFile,
    settings: Annotated[methods.Settings, "size_min size_max"],
    reading: opening.Reading,
    clusters: options.NClusters = None,
    constraints: options.ConstraintFiles = None,
    repair: Path | None = None,
    soft: bool = False,
    quota: options.Quotas = None,
    max_time: options.MaxTime = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Check whether K clusters can satisfy all pairs and, if not, explain why.

    If pairs contradict each other, shows the contradictions with line numbers, and the smallest set
    of pairs to drop; the exit code is then 2. --repair FILE writes the other pairs. Also explains
    sizes and quotas that no clustering can satisfy.

    Example:
      smdeclust check people.csv -k 4 --constraints pairs.csv --repair repaired.csv

    Options:
      --repair FILE: Write the pairs that remain (.csv, .json or .txt). If all pairs come from one
        CSV file, the remaining lines do not change.
      --soft: Check soft pairs too; those with the lowest confidence are dropped first.
    """
    if repair is not None:
        output.check_file(repair, force=force)
        if repair.suffix.lower() not in _ENDINGS:
            raise CommandError(f"{repair}: the name must end with {', '.join(_ENDINGS)}.")
    with output.progress("Checking") as update:
        update("reading")
        inputs = opening.read_inputs(data, constraints, reading, quota)
        k = opening.resolve_k(clusters, inputs)
        opening.check_save(repair, inputs)
        if not soft:
            opening.mention_soft(
                inputs, "they may be broken, so they are not checked (to check them, pass --soft)"
            )
        update("looking for contradictions")
        found = inputs.constraints.check(
            k, soft=soft, max_time=_SECONDS if max_time is None else max_time
        )
        sizes = settings.arguments(methods.DEFAULT, inputs)
        if found.quotas or (sizes and found.feasible is not False):
            update("looking at sizes and quotas")
            require_possible(inputs.X, k, found.judged, sizes)
        result = examine(inputs, k, found, seed, update) | ({"sizes": sizes} if sizes else {})
        if repair is not None:
            _write_repaired(repair, found, inputs, reading.encoding)
            result["repaired"] = str(repair)
    if as_json:
        output.print_json(result)
    else:
        _show(result)
    if result["verdict"] == "infeasible":
        raise Outcome(INFEASIBLE)


def _write_repaired(path: Path, found: Any, inputs: Any, encoding: str | None) -> None:
    """Write the pairs that can hold: of one CSV, its lines without the others."""
    source, *others = inputs.pair_paths or (None,)
    if source and not others and not any(inputs.pair_columns.values()) and path.suffix == ".csv":
        content = read_bytes(source)
        text = "" if b"\0" in content else decode(as_utf8(content, source, encoding), source)
        if header := header_of(text):
            dropped = {
                int(found.judged._origin(kind)[position, 1])
                for kind in ("must_link", "cannot_link")
                for position in (getattr(found.repair, kind) if found.repair else ())
            }
            lines = content.splitlines(keepends=True)
            begins = [begin for begin, _ in records(text, header[1], source)] + [len(lines) + 1]
            kept = [lines[a - 1 : b - 1] for a, b in pairwise(begins) if a not in dropped]
            write_bytes(path, b"".join(line for record in kept for line in record))
            return
    found.repaired.write(path)


def require_possible(X: Any, k: int, pairs: Any, sizes: dict[str, Any]) -> None:
    """Raise where no clustering keeps these pairs, quotas and sizes, and say why."""
    try:
        Structure.build(len(X), k, pairs.must_link, pairs.cannot_link, quotas=pairs.quotas, **sizes)
    except InfeasibleConstraintsError as error:
        raise error.by_id(pairs.ids) from error


def examine(inputs: opening.Inputs, k: int, found: Any, seed: int, update: Any) -> dict[str, Any]:
    """Everything that `check` finds out, as data."""
    pairs = inputs.constraints
    grouping = contract(len(inputs.X), pairs.must_link, pairs.cannot_link)
    several = grouping.size[grouping.size > 1]
    result: dict[str, Any] = {
        "data": str(inputs.path),
        "constraints": [str(path) for path in inputs.pair_paths],
        "n_points": len(inputs.X),
        "n_features": int(inputs.X.shape[1]),
        "n_clusters": k,
        "pairs_by": inputs.pairs_by,
        "standardized": inputs.standardized,
        "must_links": pair_counts(pairs.must_link),
        "cannot_links": pair_counts(pairs.cannot_link),
        "groups": {
            "n_groups": grouping.n_groups,
            "n_with_cannot_links": grouping.n_linked,
            "n_of_several_points": len(several),
            "largest_sizes": np.sort(several)[::-1][:10].tolist(),
            "n_points_in_pairs": len(np.unique([*pairs.must_link.flat, *pairs.cannot_link.flat])),
        },
        "n_quotas": len(pairs.quotas),
        "n_soft_pairs": pairs.n_soft,
    }
    if found.feasible is False:
        return result | {"verdict": "infeasible"} | judgement(found, inputs)
    result["verdict"] = "unknown" if found.feasible is None else "feasible"
    from sklearn.cluster import KMeans

    update("plain k-means, for comparison")
    labels = KMeans(k, n_init=3, random_state=seed).fit_predict(inputs.X)
    must, cannot = count_broken(pairs.must_link, pairs.cannot_link, labels)
    return result | {"kmeans": {"broken_must_links": must, "broken_cannot_links": cannot}}


def pair_counts(pairs: Any) -> dict[str, int]:
    """How many pairs, and how many of them say something new."""
    real = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    different = len(np.unique(real, axis=0)) if len(real) else 0
    return {
        "n_pairs": len(pairs),
        "n_self": len(pairs) - len(real),
        "n_repeated": len(real) - different,
    }


def _show(result: dict[str, Any]) -> None:
    k, groups = result["n_clusters"], result["groups"]
    n_several, sizes = groups["n_of_several_points"], groups["largest_sizes"]
    several = f"{groups['n_groups']:,}, {n_several:,} with several points"
    if sizes:
        several += f" (sizes {', '.join(map(str, sizes))}{', ...' * (n_several > len(sizes))})"
    data = f"{result['data']}: {result['n_points']:,} points, {result['n_features']} features"
    rows = [
        ("data", data),
        ("clusters", str(k)),
        ("must-links", _pairs_line(result["must_links"])),
        ("cannot-links", _pairs_line(result["cannot_links"])),
        ("pairs refer to", "ids" if result["pairs_by"] == "id" else "rows, from 0"),
        ("points in pairs", f"{groups['n_points_in_pairs']:,}"),
        ("groups", several),
        ("groups with cannot-links", f"{groups['n_with_cannot_links']:,}"),
    ]
    if "kmeans" in result:
        must, cannot = result["kmeans"].values()
        rows.append(("broken by plain k-means", output.links(must, cannot)))
    if result["n_quotas"]:
        rows.append(("quotas", str(result["n_quotas"])))
    told = "pairs, sizes and quotas" if "sizes" in result or result["n_quotas"] else "pairs"
    words = {
        "feasible": f"yes, all {told} can be satisfied",
        "infeasible": "NO, these pairs contradict each other",
        "unknown": "not known: no contradiction was found, but no feasible clustering either",
    }
    rows.append(("feasible", words[result["verdict"]]))
    output.print_table(rows)
    if "conflicts" in result:
        output.print_words(_contradictions(result, k, _SHOWN) + "\n")
    if "repaired" in result:
        output.print_result(f"Repaired pairs: {result['repaired']}")


def _pairs_line(counts: dict[str, int]) -> str:
    extra = [
        f"{counts[key]:,} {word}"
        for key, word in (("n_repeated", "repeated"), ("n_self", "of a row with itself"))
        if counts[key]
    ]
    return f"{counts['n_pairs']:,}" + (f" ({', '.join(extra)})" if extra else "")


# ---- which pairs contradict each other, in ids and file lines

_MOST_PAIRS = 40
# For a command that stops at contradictions: time to look for all of them, and how many it lists.
_CHECK_SECONDS = 10.0
_LISTED = 5


@contextmanager
def conflicts_explained(
    inputs: opening.Inputs, k: int, update: Any, *, as_json: bool
) -> Iterator[None]:
    """Where the block finds that pairs contradict each other, say which and leave with code 2."""
    try:
        yield
    except InfeasibleConstraintsError as error:
        update("looking for the pairs that contradict each other")
        found = inputs.constraints.check(k, max_time=_CHECK_SECONDS)
        if found.feasible is not False or not found.conflicts:  # a bound or a quota, already said
            raise
        document = judgement(found, inputs)
        message = _contradictions(document, k, _LISTED)
        if as_json:
            about = {"type": type(error).__name__, "reason": document["conflict"]["reason"]}
            output.print_json(
                {"error": {**about, "message": message, "exit_code": INFEASIBLE}}
                | {"verdict": "infeasible", **document}
            )
        output.say(f"Error: {message}", style="red")
        raise Outcome(INFEASIBLE) from error


def _contradictions(document: dict[str, Any], k: int, most: int) -> str:
    """The first contradictions, and what to do, for people."""
    conflicts, parts = document["conflicts"], []
    for number, conflict in enumerate(conflicts[:most], start=1):
        title = f"Contradiction {number} of {len(conflicts)}: " if len(conflicts) > 1 else ""
        parts += [title + summary(conflict, k), *_pair_lines(conflict)]
    if len(conflicts) > most:
        parts.append(f"... and {len(conflicts) - most} more contradictions (all with --json).")
    if not document["complete"]:
        parts.append("There may be more contradictions: time ran out (--max-time).")
    if len(conflicts) > 1 or conflicts[0]["n_pairs"] > 1:
        parts += [repair_words(document), *_pair_lines(document["repair"])]
    added = any(pair["where"].startswith("--add") for pair in document["repair"]["pairs"])
    if not added and "repaired" not in document:
        parts.append("To write the other pairs to a file, run 'smdeclust check --repair FILE'.")
    return "\n".join(parts)


def _pair_lines(document: dict[str, Any]) -> list[str]:
    """One line for each pair of a contradiction or a repair: kind, points, and where it stands."""
    lines = [
        f"  {pair['type'].replace('_', '-')} {' - '.join(pair['ids'])}  ({pair['where']})"
        for pair in document["pairs"]
    ]
    if len(lines) > _MOST_PAIRS:
        left_out = f"  ... and {len(lines) - _MOST_PAIRS} more (all with --json)"
        lines = [*lines[: _MOST_PAIRS // 2], left_out, *lines[-_MOST_PAIRS // 2 :]]
    return lines


def judgement(check: Any, inputs: opening.Inputs) -> dict[str, Any]:
    """Every contradiction and the least repair as data; `check` is what the pairs' check found."""

    def pairs_of(found: Any) -> list[dict[str, Any]]:
        return [
            inputs.pair_document(kind, position, check.judged)
            for kind in ("must_link", "cannot_link")
            for position in getattr(found, kind).tolist()
        ]

    conflicts = []
    for conflict in check.conflicts:
        pairs = pairs_of(conflict)
        about = {"reason": conflict.reason, "explanation": REASONS[conflict.reason]}
        about |= {"minimal": conflict.minimal, "n_pairs": len(pairs), "pairs": pairs}
        conflicts.append(about)
    repair = check.repair
    return {
        "conflict": conflicts[0],
        "conflicts": conflicts,
        "complete": check.complete,
        "repair": {
            "pairs": pairs_of(repair),
            **{name: getattr(repair, name) for name in ("cost", "bound", "proven")},
        },
    }


def repair_words(document: dict[str, Any]) -> str:
    """What to drop, in a sentence."""
    repair = document["repair"]
    n = len(repair["pairs"])
    these = "this pair" if n == 1 else f"these {n} pairs"
    if repair["proven"]:
        return f"Smallest repair: drop {these}. No smaller repair exists (proven)."
    return (
        f"Repair: drop {these}. There may be a cheaper repair: this one costs "
        f"{repair['cost']:g}, and none costs less than {repair['bound']:g}."
    )


def summary(document: dict[str, Any], n_clusters: int) -> str:
    """A conflict in a sentence."""
    n = document["n_pairs"]
    these = "This pair" if n == 1 else f"These {n} pairs"
    advice = "Drop it." if n == 1 else "To resolve this contradiction, drop any one of them."
    if document["reason"] in ("too_few_groups", "clique", "no_coloring"):
        advice += " Or change the number of clusters."
    if not document["minimal"]:
        advice = "Time ran out before it was clear whether all of them contribute."
    within = output.plural(n_clusters, "cluster")
    return (
        f"{these} cannot {'' if n == 1 else 'all '}be satisfied with {within}: "
        f"{document['explanation']}. {advice}"
    )
