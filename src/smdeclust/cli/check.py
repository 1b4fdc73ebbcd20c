"""``smdeclust check``: can these pairs hold together, and what do they ask for?"""

from __future__ import annotations

from typing import Any

from smdeclust.cli import options, screen
from smdeclust.cli.errors import INFEASIBLE, Outcome
from smdeclust.cli.explain_conflict import conflict_document, conflict_rows, summary
from smdeclust.cli.options import Inputs, Reading


@options.reads_files()
def check(
    data: options.DataFile,
    clusters: options.NClusters = None,
    constraints: options.ConstraintFiles = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Check pairs: are they consistent, can K clusters keep them, what do they ask for?

    Where they contradict each other, shows a smallest set of pairs that cannot hold together,
    with the lines where they stand, and ends with code 2.

    Example:
      smdeclust check people.csv -k 4 --constraints pairs.csv
    """
    with screen.progress("Checking") as update:
        update("reading")
        inputs = options.read_inputs(data, constraints, reading)
        k = options.resolve_k(clusters, inputs)
        n_soft = options.mention_soft(inputs, "only hard pairs can contradict each other")
        result = examine(inputs, k, seed, update)
    result["n_soft_pairs"] = n_soft
    if as_json:
        screen.print_json(result)
    else:
        _show(result, inputs)
    if result["verdict"] == "infeasible":
        raise Outcome(INFEASIBLE)


def examine(inputs: Inputs, k: int, seed: int, update: Any) -> dict[str, Any]:
    """Everything that `check` finds out, as data."""
    from smdeclust.constraints.conflict import find_conflict

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
    }
    update("looking for contradictions")
    conflict = find_conflict(len(inputs.X), k, pairs.must_link, pairs.cannot_link)
    result["groups"] = _groups(inputs)
    if conflict is not None:
        result |= {"verdict": "infeasible", "conflict": conflict_document(conflict, inputs)}
        return result
    result["verdict"] = _verdict(inputs, k)
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

    from smdeclust.constraints.groups import contract

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


def _verdict(inputs: Inputs, k: int) -> str:
    """``feasible`` where a colouring is found, ``unknown`` where the search gave up."""
    from smdeclust.constraints.graph import cannot_link_graph
    from smdeclust.constraints.groups import contract
    from smdeclust.problem import find_coloring

    pairs = inputs.constraints
    grouping = contract(len(inputs.X), pairs.must_link, pairs.cannot_link)
    edges = grouping.of_point[pairs.cannot_link]
    return find_coloring(*cannot_link_graph(edges, grouping.n_linked), k).verdict.value


def _plain_kmeans(inputs: Inputs, k: int, seed: int) -> dict[str, Any]:
    from sklearn.cluster import KMeans

    from smdeclust.constraints.pairs import count_broken

    pairs = inputs.constraints
    labels = KMeans(k, n_init=3, random_state=seed).fit_predict(inputs.X)
    must, cannot = count_broken(pairs.must_link, pairs.cannot_link, labels)
    return {"broken_must_links": must, "broken_cannot_links": cannot}


def _show(result: dict[str, Any], inputs: Inputs) -> None:
    k, groups = result["n_clusters"], result["groups"]
    sizes = ", ".join(map(str, groups["largest_sizes"]))
    if groups["n_of_several_points"] > len(groups["largest_sizes"]):
        sizes += ", ..."
    rows = [
        (
            "data",
            f"{result['data']}: {result['n_points']:,} points, {result['n_features']} features",
        ),
        ("clusters", str(k)),
        ("must-links", _pairs_line(result["must_links"])),
        ("cannot-links", _pairs_line(result["cannot_links"])),
        ("pairs name", "ids" if result["pairs_by"] == "id" else "rows, from 0"),
        ("points in pairs", f"{groups['n_points_in_pairs']:,}"),
        (
            "groups",
            f"{groups['n_groups']:,}, of which {groups['n_of_several_points']:,} of several points"
            + (f" (sizes {sizes})" if sizes else ""),
        ),
        ("groups with cannot-links", f"{groups['n_with_cannot_links']:,}"),
    ]
    if "kmeans" in result:
        broken = result["kmeans"]
        rows.append(
            (
                "broken by plain k-means",
                f"{broken['broken_must_links']:,} must-links, "
                f"{broken['broken_cannot_links']:,} cannot-links",
            )
        )
    words = {
        "feasible": "yes, these pairs can all hold",
        "infeasible": "NO, these pairs contradict each other",
        "unknown": "not known: no contradiction found, but no placement either",
    }
    rows.append(("feasible", words[result["verdict"]]))
    screen.print_table(rows)
    if "conflict" in result:
        document = result["conflict"]
        screen.print_table(
            conflict_rows(document),
            header=["pair", "ids" if inputs.table.ids is not None else "rows", "where"],
        )
        screen.print_result(summary(document, k))


def _pairs_line(counts: dict[str, int]) -> str:
    extra = [
        f"{counts[key]:,} {word}"
        for key, word in (("n_repeated", "repeated"), ("n_self", "of a row with itself"))
        if counts[key]
    ]
    return f"{counts['n_pairs']:,}" + (f" ({', '.join(extra)})" if extra else "")
