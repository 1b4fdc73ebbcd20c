"""A result in words, on the screen and in the HTML report; and what ``fit`` puts into it."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from smdeclust.cli import methods, opening, output
from smdeclust.cli.opening import Inputs, Reading
from smdeclust.io import Constraints
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


# ---- the HTML report of a fit


# After so long no further pair is left out; the report says so.
_COST_SECONDS = 20.0


def make_report(
    inputs: opening.Inputs,
    reading: Reading,
    setup: methods.Setup,
    run: methods.Run,
    result: dict[str, Any],
    n_costs: int,
    quotas: list[str],
) -> tuple[bytes, list[dict[str, Any]] | None]:
    """The page, solved again without pairs and without single ones, and what single pairs cost."""
    from smdeclust.queries.picture import match_labels
    from smdeclust.report import Content, render_report

    pairs, k, patience = inputs.constraints, setup.n_clusters, setup.patience
    free, numbered, costs = None, None, None
    note = free_note = ""
    # In a learned distance, all clusterings are compared in the distance of the first.
    kept = {name: v for name, v in setup.settings.items() if name not in ("metric", "init")}
    again = replace(setup, settings=kept, max_time=None)
    if pairs.n_pairs:
        setup.update("without pairs, for comparison")
        without = Constraints(n_points=len(run.X), quotas=pairs.quotas)
        free, free_note = _in_time(
            patience, lambda: methods.run_method(again, run.X, without, inputs.weight)
        )
    if free is not None:
        numbered = match_labels(free.labels, run.labels, k)
        if patience.over:
            free_note = f"The search ended early: {_why(patience)}."
        if n_costs == 0:
            note = "Not computed (--pair-costs 0)."
        elif run.n_broken:
            note = "Not computed: the clustering breaks pairs, so a single pair has no clear cost."
        elif "view_weights" in run.facts:
            note = "Not computed: this method has no objective that a pair could increase."
        elif pairs.n_soft:
            note = "Not computed: with soft pairs, a single pair has no clear cost."
        else:
            costs, note = _in_time(
                patience, lambda: _costs(inputs, run, setup, free.labels, n_costs)
            )
    setup.update("making the report")
    agreement = None
    if "ari" in result:
        from sklearn.metrics import adjusted_rand_score

        classes = inputs.table.labels
        other = None if free is None else float(adjusted_rand_score(classes, free.labels))
        agreement = (result["ari"], other)
    content = Content(
        title=f"Clusters of {inputs.path.name}",
        X=run.X,
        raw=inputs.units,
        feature_names=inputs.table.feature_names or [f"x{i}" for i in range(run.X.shape[1])],
        labels=run.labels,
        n_clusters=k,
        constraints=pairs if result["soft_pairs_used"] else pairs.hard_only(),
        ids=inputs.table.ids,
        objective=run.objective,
        seconds=run.seconds,
        asked=_asked(inputs, run, setup),
        facts=[*facts(result), *run_facts(result)],
        columns=opening.scaling(inputs),
        method_title=methods.METHODS[run.method].title,
        free_objective=None if free is None else free.objective,
        free_labels=numbered,
        costs=costs,
        costs_note=note,
        free_note=free_note,
        proof=result["proof"]["sentence"] if "proof" in result else "",
        feature_weights=result.get("feature_weights"),
        history=run.history,
        ended_early=result.get("stop_reason") in ("max_time", "callback"),
        agreement=agreement,
        command=result["command"],
        snippet=snippet(inputs, reading, run, setup, quotas),
        weight=inputs.weight if methods.takes_weights(run.method) else None,
        bounds=(BOUNDS, bound_rows(result)),
        roles=result["roles"] or {},
        provenance=[
            *((f"{name}", version) for name, version in result["versions"].items()),
            (f"SHA-256 of {inputs.path}", result["data"]["sha256"]),
            *((f"SHA-256 of {entry['file']}", entry["sha256"]) for entry in result["constraints"]),
        ],
    )
    solved = None if costs is None else [
        inputs.pair_document(pair.kind, pair.position)
        | {"cost": pair.saves, "n_moved": pair.n_moved}
        for pair in costs
    ]  # fmt: skip
    return render_report(content).encode(), solved


def _why(patience: methods.Patience) -> str:
    return "the run was stopped by Ctrl-C" if patience.stopped else "--max-time ran out"


def _in_time(patience: methods.Patience, work: Callable[[], Any]) -> tuple[Any, str]:
    """What the work gives, or None and why: it is too late, or the first Ctrl-C ends it."""
    try:
        if not patience.over:
            return work(), ""
    except KeyboardInterrupt:
        if patience.n_presses > 1:
            raise
    return None, f"Not computed: {_why(patience)}."


def _costs(
    inputs: opening.Inputs, run: methods.Run, setup: methods.Setup, free_labels: Any, n_costs: int
) -> Any:
    """What the pairs cost that probably cost most; from the labels, if the method has no start."""
    from smdeclust import SMDEClust, pair_costs

    model, known, patience = run.model, inputs.constraints, setup.patience
    weight = inputs.weight if methods.takes_weights(run.method) else None
    if not methods.has_option(run.method, "init"):
        sizes = {name: value for name, value in setup.settings.items() if name.startswith("size_")}
        left = patience.left(_COST_SECONDS)
        model = SMDEClust(
            setup.n_clusters, init=run.labels, random_state=setup.seed, max_time=left, **sizes
        ).fit(run.X, constraints=known, sample_weight=weight)

    def progress(done: int, total: int) -> bool:
        setup.update(f"{done} of {total} pairs left out one by one")
        return patience.over

    patience.can_stop = True
    try:
        given: Any = {"max_time": patience.left(_COST_SECONDS), "progress": progress}
        given |= {"sample_weight": weight, "free_labels": free_labels}
        return pair_costs(model, inputs.X, known, n_costs, **given)
    finally:
        patience.can_stop = False


_UNITS = "the objective is in these units"
_ELSEWHERE = ("n_clusters", "random_state", "max_time", "verbose")


def _asked(
    inputs: opening.Inputs, run: methods.Run, setup: methods.Setup
) -> list[tuple[str, object]]:
    pairs, table = inputs.constraints, inputs.table
    n_soft, columns = pairs.n_soft, opening.columns_line(inputs)
    lines: list[tuple[str, object]] = [
        ("data", f"{inputs.path}: {len(inputs.X):,} points, {inputs.X.shape[1]} features"),
        ("clusters", setup.n_clusters),
        ("columns", columns if "as given" in columns else f"{columns}; {_UNITS}"),
        ("pairs", ", ".join(map(str, inputs.pair_paths)) or "none"),
        ("must-links", f"{len(pairs.must_link):,}"),
        ("cannot-links", f"{len(pairs.cannot_link):,}"),
    ]
    if inputs.pair_paths:
        lines.append(("pairs refer to", "ids" if inputs.pairs_by == "id" else "rows, from 0"))
    if n_soft:
        taken = methods.takes_soft_pairs(run.method)
        must, cannot = len(pairs.soft_must_link), len(pairs.soft_cannot_link)
        used = "may be broken at a price" if taken else "not used: this method takes only hard ones"
        lines.append(("soft pairs", f"{output.links(must, cannot)}; {used}"))
    if table.id_name:
        lines.append(("ids", f"column {table.id_name}"))
    if table.label_name:
        lines.append(("classes", f"column {table.label_name}, only for comparison"))
    settings = {k: v for k, v in run.settings.items() if v is not None and k not in _ELSEWHERE}
    lines += [
        ("method", methods.METHODS[run.method].title),
        ("seed", setup.seed),
        ("time limit", "none" if setup.max_time is None else f"{setup.max_time:g} s"),
        ("settings", ", ".join(f"{key}={value}" for key, value in settings.items())),
    ]
    return lines


# ---- what a result came from: files by digest, versions, and how to make it again


def file_document(path: Path) -> dict[str, str]:
    """A file and its SHA-256."""
    return {"file": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def snippet(
    inputs: opening.Inputs, reading: Any, run: methods.Run, setup: methods.Setup, quotas: list[str]
) -> str:
    """Python code that gives the same clustering: it reads the files as the command did."""
    from smdeclust.report.html import render

    given = {f.name: (getattr(reading, f.name), f.default) for f in fields(reading)}
    chosen = {key: run.settings.get(key) for key in ("random_state", "max_time")}
    return render(
        "fit.py.jinja",
        inputs=inputs,
        method=methods.METHODS[run.method],
        reading={name: value for name, (value, default) in given.items() if value != default},
        quotas=quotas,
        n_clusters=setup.n_clusters,
        chosen=chosen | {key: value for key, value in setup.settings.items() if key != "init"},
        began="init" in setup.settings,
        hard=inputs.constraints.n_soft and not methods.takes_soft_pairs(run.method),
        weighed=methods.takes_weights(run.method) and inputs.weight is not None,
    )
