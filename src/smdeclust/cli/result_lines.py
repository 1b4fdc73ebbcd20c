"""A result in words: the same lines on the screen and in the report."""

import math
from typing import Any

from smdeclust.cli import methods, output
from smdeclust.cli.opening import Inputs
from smdeclust.io.files import printable
from smdeclust.structure.pairs import broken_pairs

# Broken soft pairs, and clusters, that are named; the rest are counted.
_SHOWN, _NAMED = 5, 8

_REASONS = {
    "agreement": "several populations agree on the best solution",
    "max_populations": "the limit on populations",
    "max_local_searches": "the limit on local searches",
    "collapse": "all solutions of the population agree",
    "no_improvement": "no better solution for a long time",
    "max_generations": "the limit on generations",
    "max_time": "the time limit",
    "callback": "stopped by Ctrl-C",
}


def facts(result: dict[str, Any]) -> list[tuple[str, str]]:
    """What came out, one line each."""
    n_pairs = result["n_must_links"] + result["n_cannot_links"]
    n_broken = result["broken_must_links"] + result["broken_cannot_links"]
    lines = [("objective (sum of squares)", output.number(result["objective"], 12))]
    if "proof" in result:
        lines.append(("quality", result["proof"]["sentence"]))
    if "objective_with_penalties" in result:
        total = output.number(result["objective_with_penalties"], 12)
        lines.append(("with the prices of broken pairs", total))
    if "ari" in result:
        lines.append(("agreement with the classes (ARI)", f"{result['ari']:.3f}"))
    lines.append(("broken pairs", f"{n_broken:,} of {n_pairs:,}" if n_pairs else "none were given"))
    if result["n_soft_pairs"]:
        left_out = "" if result["soft_pairs_used"] else " (not used by this method)"
        count = f"{result['broken_soft_pairs']:,} of {result['n_soft_pairs']:,}"
        lines.append(("broken soft pairs", count + left_out))
    sizes = result["cluster_sizes"]
    more = ", ..." if len(sizes) > 20 else ""
    lines.append(("cluster sizes", ", ".join(map(str, sizes[:20])) + more))
    if "size_bounds" in result:
        lines.append(("bounds on sizes", _tight(result)))
    lines += _quotas(result.get("quotas", []))
    if "distance" in result:
        lines.append(("distance", _distance(result)))
    if "view_weights" in result:
        weights = sorted(result["view_weights"].items(), key=lambda item: -item[1])
        lines.append(("views", ", ".join(f"{name} {weight:.0%}" for name, weight in weights)))
    return [*lines, ("time", output.seconds(result["seconds"]))]


def run_facts(result: dict[str, Any]) -> list[tuple[str, str]]:
    """How the run went, one line each."""
    lines = [("how it was decided", note) for note in result.get("notes", ())]
    if "size_bounds" in result:
        bounds = ", ".join(f"{low:g} to {high:g}" for low, high in result["size_bounds"])
        lines.append(("size bounds", bounds))
    for key, name in (
        ("populations", "populations"),
        ("iterations", "generations" if "populations" in result else "iterations"),
        ("local_searches", "local searches"),
        ("local_iterations", "iterations of local searches"),
    ):
        if key in result:
            lines.append((name, f"{result[key]:,}"))
    if "stop_reason" in result:
        reason = str(result["stop_reason"])
        lines.append(("why it ended", _REASONS.get(reason, reason)))
    return lines


def _tight(result: dict[str, Any]) -> str:
    """The clusters at their least or largest size."""
    at: dict[str, list[int]] = {"smallest": [], "largest": []}
    both = zip(result["sizes_held"], result["size_bounds"], strict=True)
    for cluster, (size, (low, high)) in enumerate(both):
        if size in (low, high):
            at["smallest" if size == low else "largest"].append(cluster)
    parts = []
    for end, clusters in at.items():
        if clusters:
            named = ", ".join(map(str, clusters[:_NAMED]))
            more = f" and {len(clusters) - _NAMED} more" if len(clusters) > _NAMED else ""
            parts.append(f"at the {end} size: clusters {named}{more}")
    return "; ".join(parts) or "no size is at a bound"


BOUNDS = ("bound", "cluster", "at least", "at most", "contains", "one more would save")


def bound_rows(result: dict[str, Any]) -> list[list[object]]:
    """Bounds on each cluster: what it holds, and what one more (or one less) would save."""
    rows: list[list[object]] = []
    sizes, free = result["cluster_sizes"], [None] * len(result["cluster_sizes"])
    if "size_bounds" in result:
        prices = result["size_prices"] or free
        both = zip(result["size_bounds"], result["sizes_held"], prices, strict=True)
        for cluster, (ends, held, price) in enumerate(both):
            rows.append(["size", cluster, *_each(ends, 2), f"{held:.15g}", _saved(price)])
    for quota in result.get("quotas", []):
        both = zip(quota["held"], sizes, quota.get("price", free), strict=True)
        sides = [_each(quota[end], len(sizes)) for end in ("low", "high")]
        for cluster, (held, size, price) in enumerate(both):
            words = f"{held:.6g}"
            if quota["value"] is not None:
                count = round(held * size if quota["of"] == "share" else held)
                words = f"{count} of {size} ({count / max(size, 1):.0%})"
            ends = [side[cluster] for side in sides]
            rows.append([_what(quota), cluster, *ends, words, _saved(price)])
    return rows


def _saved(price: float | None) -> object:
    return "" if price is None or math.isnan(price) else abs(price)


def _each(bound: Any, n_clusters: int) -> list[str]:
    """The bounds of the clusters; empty where there is none."""
    bounds = bound if isinstance(bound, list) else n_clusters * [bound]
    return ["" if each is None or not math.isfinite(each) else f"{each:.15g}" for each in bounds]


def _what(quota: dict[str, Any]) -> str:
    value = "" if quota["value"] is None else f" {quota['value']}"
    return f"{quota['of']} of {quota['name']}{value}"


def _quotas(quotas: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Each quota, its bounds, what the clusters hold, and what its bounds cost."""
    lines = []
    for quota in quotas:
        low, high = (",".join(_each(quota[end], 1)) for end in ("low", "high"))
        held = ", ".join(f"{value:.4g}" for value in quota["held"])
        lines.append((f"{_what(quota)} ({low}..{high})", held))
        paid = [(k, p) for k, p in enumerate(quota.get("price", ())) if p and not math.isnan(p)]
        if paid:
            named = ", ".join(f"{abs(p):.4g} in cluster {k}" for k, p in paid[:_NAMED])
            more = ", ..." if len(paid) > _NAMED else ""
            lines.append(("  one more (or less) would save", f"up to {named}{more}"))
    return lines


def _distance(result: dict[str, Any]) -> str:
    """A learned distance: what counts most, as a share of what all columns count."""
    weights = result["feature_weights"]
    order = sorted(range(len(weights)), key=lambda column: -weights[column])
    shown = ", ".join(f"{result['coordinates'][c]} {weights[c]:.2g}" for c in order[:6])
    more = ", ..." if len(weights) > 6 else ""
    return f"{result['distance']}; weights of columns (1 on average): {shown}{more}"


def broken_soft_document(inputs: Inputs, run: methods.Run) -> list[dict[str, Any]]:
    """The soft pairs that the labels break, the most expensive first.

    ``price`` is what breaking a pair costs, ``keeping`` what keeping it would have cost with the
    centers as they are: null where the method does not say, or where hard pairs forbid it.
    """
    if methods.takes_soft_pairs(run.method) and run.broken_soft is not None:
        found = [(b.kind, b.pair, b.confidence, b.price, b.keeping) for b in run.broken_soft]
    else:
        found, known = [], inputs.constraints
        broken = broken_pairs(known.soft_must_link, known.soft_cannot_link, run.labels)
        for kind, which in zip(("must_link", "cannot_link"), broken, strict=True):
            pairs = getattr(known, f"soft_{kind}")[which].tolist()
            sure = getattr(known, f"soft_{kind}_confidence")[which].tolist()
            both = zip(pairs, sure, strict=True)
            found += [(kind, pair, p, math.nan, math.nan) for pair, p in both]
    return [
        {
            "type": kind,
            "rows": list(rows),
            "ids": [inputs.name(row) for row in rows],
            "confidence": confidence,
            "price": price if math.isfinite(price) else None,
            "keeping": keeping if math.isfinite(keeping) else None,
        }
        for kind, rows, confidence, price, keeping in found
    ]


def broken_lines(broken: list[dict[str, Any]]) -> list[str]:
    """The first broken soft pairs, one line each; nothing where none broke."""
    if not broken:
        return []
    lines = [f"Broken soft pairs ({len(broken):,}):"]
    for pair in broken[:_SHOWN]:
        line = f"  {pair['type'].replace('_', '-')} {printable(' - '.join(pair['ids']))}"
        if pair["price"] is not None:
            keeping = f"satisfying it would cost {output.number(pair['keeping'], 4)}"
            forbidden = "hard constraints do not allow satisfying it"
            line += f": costs {output.number(pair['price'], 4)}, "
            line += forbidden if pair["keeping"] is None else keeping
        lines.append(line)
    if len(broken) > _SHOWN:
        lines.append(f"  ... and {len(broken) - _SHOWN:,} more (all with --json)")
    return lines
