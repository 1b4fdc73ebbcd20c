"""``smdeclust check``: can these pairs hold together, and what do they ask for?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from smdeclust.cli import methods, opening, options, screen
from smdeclust.cli.errors import INFEASIBLE, CommandError, Outcome
from smdeclust.cli.explain_conflict import (
    conflict_rows,
    judgement,
    repair_words,
    summary,
)
from smdeclust.cli.folder import check_file
from smdeclust.cli.opening import Inputs
from smdeclust.cli.options import Reading
from smdeclust.cli.quotas import Quotas, with_quotas
from smdeclust.cli.settings import Settings

# For the search for all contradictions and the least repair.
_SECONDS = 30.0
_SHOWN = 10
_ENDINGS = (".csv", ".json", ".txt", ".links")


def check(
    data: options.DataFile,
    settings: Annotated[Settings, "size_min size_max"],
    reading: Reading,
    clusters: options.NClusters = None,
    constraints: options.ConstraintFiles = None,
    repair: Path | None = None,
    soft: bool = False,
    quota: Quotas = None,
    max_time: options.MaxTime = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Check pairs: are they consistent, can K clusters keep them, what do they ask for?

    Where they contradict each other, shows every independent contradiction with the lines where
    its pairs stand, and the least repair: which pairs to drop so that the rest hold. Ends with
    code 2 then; with --repair FILE, the file has the pairs without these. Sizes and quotas that
    no clustering can keep are explained, too.

    Example:
      smdeclust check people.csv -k 4 --constraints pairs.csv --repair mended.csv

    Options:
      --repair FILE: Write the pairs without those of the least repair (.csv, .json or .txt).
      --soft: Soft pairs must hold too; those with low confidence are dropped first.
    """
    if repair is not None:
        check_file(repair, force=force)
        if repair.suffix.lower() not in _ENDINGS:
            raise CommandError(f"{repair}: the name must end with {', '.join(_ENDINGS)}.")
    with screen.progress("Checking") as update:
        update("reading")
        inputs = with_quotas(opening.read_inputs(data, constraints, reading), quota)
        k = opening.resolve_k(clusters, inputs)
        opening.check_save(repair, inputs)
        n_soft = inputs.constraints.n_soft
        if not soft:
            opening.mention_soft(
                inputs, "they contradict nothing, for they may be broken (--soft checks them too)"
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
            found.repaired.write(repair)
            result["repaired"] = str(repair)
    result["n_soft_pairs"] = n_soft
    if as_json:
        screen.print_json(result)
    else:
        _show(result, inputs)
    if result["verdict"] == "infeasible":
        raise Outcome(INFEASIBLE)


def require_possible(X: Any, k: int, pairs: Any, sizes: dict[str, Any]) -> None:
    """Raise where no clustering keeps these pairs, quotas and sizes, and say why."""
    from smdeclust.structure import Structure

    Structure.build(len(X), k, pairs.must_link, pairs.cannot_link, quotas=pairs.quotas, **sizes)


def examine(inputs: Inputs, k: int, found: Any, seed: int, update: Any) -> dict[str, Any]:
    """Everything that `check` finds out, as data."""
    pairs = inputs.constraints
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
        "groups": _groups(inputs),
        "n_quotas": len(pairs.quotas),
    }
    if found.feasible is False:
        return result | {"verdict": "infeasible"} | judgement(found, inputs)
    result["verdict"] = "unknown" if found.feasible is None else "feasible"
    update("plain k-means, for comparison")
    result["kmeans"] = _plain_kmeans(inputs, k, seed)
    return result


def pair_counts(pairs: Any) -> dict[str, int]:
    """How many pairs, and how many of them say something new."""
    import numpy as np

    real = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    different = len(np.unique(real, axis=0)) if len(real) else 0
    return {
        "n_pairs": len(pairs),
        "n_self": len(pairs) - len(real),
        "n_repeated": len(real) - different,
    }


def _groups(inputs: Inputs) -> dict[str, Any]:
    import numpy as np

    from smdeclust.structure.groups import contract

    pairs = inputs.constraints
    grouping = contract(len(inputs.X), pairs.must_link, pairs.cannot_link)
    sizes = np.sort(grouping.size[grouping.size > 1])[::-1]
    return {
        "n_groups": grouping.n_groups,
        "n_with_cannot_links": grouping.n_linked,
        "n_of_several_points": len(sizes),
        "largest_sizes": sizes[:10].tolist(),
        "n_points_in_pairs": len(np.unique(np.concatenate([pairs.must_link, pairs.cannot_link]))),
    }


def _plain_kmeans(inputs: Inputs, k: int, seed: int) -> dict[str, Any]:
    from sklearn.cluster import KMeans

    from smdeclust.structure.pairs import count_broken

    pairs = inputs.constraints
    labels = KMeans(k, n_init=3, random_state=seed).fit_predict(inputs.X)
    must, cannot = count_broken(pairs.must_link, pairs.cannot_link, labels)
    return {"broken_must_links": must, "broken_cannot_links": cannot}


def _show(result: dict[str, Any], inputs: Inputs) -> None:
    k, groups = result["n_clusters"], result["groups"]
    n_several, sizes = groups["n_of_several_points"], groups["largest_sizes"]
    several = f"{groups['n_groups']:,}, of which {n_several:,} of several points"
    if sizes:
        several += f" (sizes {', '.join(map(str, sizes))}{', ...' * (n_several > len(sizes))})"
    data = f"{result['data']}: {result['n_points']:,} points, {result['n_features']} features"
    rows = [
        ("data", data),
        ("clusters", str(k)),
        ("must-links", _pairs_line(result["must_links"])),
        ("cannot-links", _pairs_line(result["cannot_links"])),
        ("pairs name", "ids" if result["pairs_by"] == "id" else "rows, from 0"),
        ("points in pairs", f"{groups['n_points_in_pairs']:,}"),
        ("groups", several),
        ("groups with cannot-links", f"{groups['n_with_cannot_links']:,}"),
    ]
    if "kmeans" in result:
        must, cannot = result["kmeans"].values()
        rows.append(("broken by plain k-means", f"{must:,} must-links, {cannot:,} cannot-links"))
    if result["n_quotas"]:
        rows.append(("quotas", str(result["n_quotas"])))
    told = "pairs, sizes and quotas" if "sizes" in result or result["n_quotas"] else "pairs"
    words = {
        "feasible": f"yes, these {told} can all hold",
        "infeasible": "NO, these pairs contradict each other",
        "unknown": "not known: no contradiction found, but no placement either",
    }
    rows.append(("feasible", words[result["verdict"]]))
    screen.print_table(rows)
    if "conflicts" in result:
        _show_conflicts(result, k, inputs)
    if "repaired" in result:
        screen.print_result(f"Pairs that can hold: {result['repaired']}")


def _show_conflicts(result: dict[str, Any], k: int, inputs: Inputs) -> None:
    header = ["pair", "ids" if inputs.table.ids is not None else "rows", "where"]
    conflicts = result["conflicts"]
    for number, document in enumerate(conflicts[:_SHOWN], start=1):
        title = f"Contradiction {number} of {len(conflicts)}" if len(conflicts) > 1 else None
        screen.print_table(conflict_rows(document), header=header, title=title)
        screen.print_words(summary(document, k) + "\n\n")
    if len(conflicts) > _SHOWN:
        screen.print_result(f"... and {len(conflicts) - _SHOWN} more (all with --json).\n")
    if not result["complete"]:
        screen.note("there may be more contradictions: time ran out (--max-time).")
    if len(conflicts) > 1 or result["conflict"]["n_pairs"] > 1:
        screen.print_table(
            conflict_rows(result["repair"]), header=header, title=repair_words(result)
        )
    if "repaired" not in result:
        screen.print_result("With --repair FILE, the other pairs are written to a file.")


def _pairs_line(counts: dict[str, int]) -> str:
    extra = [
        f"{counts[key]:,} {word}"
        for key, word in (("n_repeated", "repeated"), ("n_self", "of a row with itself"))
        if counts[key]
    ]
    return f"{counts['n_pairs']:,}" + (f" ({', '.join(extra)})" if extra else "")
