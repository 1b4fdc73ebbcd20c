"""What ``fit`` puts into its HTML report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from smdeclust.cli import methods, options, provenance, screen
from smdeclust.cli.fit import distance_line, views_line
from smdeclust.cli.options import Inputs, Reading
from smdeclust.cli.patience import Patience
from smdeclust.cli.quotas import quota_lines
from smdeclust.cli.settings import has_option
from smdeclust.cli.size_words import tight_words
from smdeclust.io import Constraints

# After so long no further pair is left out; the report says so.
_COST_SECONDS = 20.0


def make_report(
    inputs: Inputs,
    reading: Reading,
    run: methods.Run,
    k: int,
    result: dict[str, Any],
    *,
    seed: int,
    n_costs: int,
    max_time: float | None,
    settings: dict[str, Any],
    patience: Patience,
    update: Any,
) -> tuple[bytes, list[dict[str, Any]] | None]:
    """Solve again without pairs and without single ones, and write it all down as HTML.

    Returns the page, and what single pairs cost, for ``result.json``.
    """
    from smdeclust.report import Content, render_report
    from smdeclust.report.moved import compare

    pairs = inputs.constraints
    free, moved, costs = None, None, None
    note = free_note = ""
    if pairs.n_pairs and patience.over:
        free_note = f"Not computed: {_why(patience)} ended before."
    elif pairs.n_pairs:
        update("without pairs, for comparison")
        # In a learned distance, all clusterings are compared in the distance of the first.
        kept = {key: v for key, v in settings.items() if key not in ("metric", "init")}
        again = _Again(replace(inputs, X=run.X), k, run.method, seed, kept, patience)
        try:
            free = again(Constraints(n_points=len(inputs.X), quotas=pairs.quotas))
        except KeyboardInterrupt:
            if patience.n_presses > 1:
                raise
            free_note = f"Not computed: {_why(patience)} ended before."
    if free is not None:
        moved = compare(run.labels, free.labels, k)
        if patience.over:
            free_note = f"This clustering was cut short: {_why(patience)} ended."
        if n_costs == 0:
            note = "Not computed (--pair-costs 0)."
        elif run.n_broken:
            note = "Not computed: the clustering breaks pairs, so a single pair has no clear cost."
        elif pairs.n_soft or pairs.quotas:
            what = "soft pairs" if pairs.n_soft else "quotas"
            note = f"Not computed: with {what} a single pair has no clear cost."
        elif patience.over:
            note = f"Not computed: {_why(patience)} ended before."
        else:
            try:
                costs = _costs(again, run, free, n_costs, update)
            except KeyboardInterrupt:
                if patience.n_presses > 1:
                    raise
                note = f"Not computed: {_why(patience)} ended before."
    update("drawing the report")
    agreement = None
    if "ari" in result:
        from sklearn.metrics import adjusted_rand_score

        classes = inputs.table.labels
        other = None if free is None else float(adjusted_rand_score(classes, free.labels))
        agreement = (result["ari"], other)
    names = inputs.table.feature_names or tuple(f"x{i}" for i in range(inputs.X.shape[1]))
    content = Content(
        title=f"Clusters of {inputs.path.name}",
        X=run.X,
        raw=inputs.table.X,
        feature_names=names,
        labels=run.labels,
        n_clusters=k,
        must_link=pairs.must_link,
        cannot_link=pairs.cannot_link,
        objective=run.objective,
        broken=(run.broken_must_links, run.broken_cannot_links),
        seconds=run.seconds,
        asked=_asked(inputs, run, k, seed, max_time),
        facts=_facts(result),
        standardized=inputs.standardized,
        method_title=methods.METHODS[run.method].title,
        name=inputs.name,
        where=pairs.where,
        ids_named="row" if inputs.table.ids is None else "id",
        free_objective=None if free is None else free.objective,
        moved=moved,
        costs=costs,
        costs_note=note,
        free_note=free_note,
        n_soft_pairs=pairs.n_soft if result["soft_pairs_used"] else 0,
        broken_soft_pairs=run.broken_soft_pairs,
        proof=result["proof"]["sentence"] if "proof" in result else "",
        feature_weights=result.get("feature_weights"),
        history=run.history,
        ended_early=result.get("stop_reason") in ("max_time", "callback"),
        agreement=agreement,
        command=result["command"],
        snippet=provenance.snippet(inputs, reading, run, k, settings),
        provenance=[
            *((f"{name}", version) for name, version in result["versions"].items()),
            (f"SHA-256 of {inputs.path}", result["data"]["sha256"]),
            *((f"SHA-256 of {entry['file']}", entry["sha256"]) for entry in result["constraints"]),
        ],
    )
    return render_report(content).encode(), _costs_document(costs, inputs)


def _why(patience: Patience) -> str:
    return "the run was stopped by Ctrl-C and" if patience.stopped else "the time of --max-time"


@dataclass(frozen=True)
class _Again:
    """The same method and seed with other pairs, in what is left of the time."""

    inputs: Inputs
    k: int
    method: str
    seed: int
    settings: dict[str, Any]
    patience: Patience

    def __call__(self, pairs: Constraints, **more: Any) -> methods.Run:
        return methods.run_method(
            self.method,
            self.inputs.X,
            self.k,
            pairs,
            seed=self.seed,
            settings=self.settings | more,
            patience=self.patience,
        )


def _costs(again: _Again, run: methods.Run, free: methods.Run, n_costs: int, update: Any) -> Any:
    from smdeclust.problem import Problem
    from smdeclust.report.costly_pairs import costly_pairs

    pairs = again.inputs.constraints
    warm = has_option(run.method, "init")
    start = {"init": run.labels} if warm else {}
    sizes = {name: value for name, value in again.settings.items() if name.startswith("size_")}
    problem = Problem.build(again.inputs.X, again.k, pairs.must_link, pairs.cannot_link, **sizes)

    def solve(must: Any, cannot: Any) -> tuple[Any, float]:
        found = again(Constraints(must_link=must, cannot_link=cannot), **start)
        return found.labels, found.objective

    return costly_pairs(
        problem,
        run.labels,
        run.objective,
        free.labels,
        solve,
        limit=n_costs,
        max_time=again.patience.left(_COST_SECONDS),
        stop=lambda: again.patience.over,
        warm=warm,
        progress=lambda done, total: update(f"without pair {done + 1} of {total}"),
    )


def _costs_document(costs: Any, inputs: Inputs) -> list[dict[str, Any]] | None:
    if costs is None:
        return None
    found = []
    for pair in costs.solved:
        rows = getattr(inputs.constraints, pair.kind)[pair.position].tolist()
        found.append(
            {
                "type": pair.kind,
                "rows": rows,
                "ids": [inputs.name(row) for row in rows],
                "where": inputs.constraints.where(pair.kind, pair.position),
                "cost": pair.cost,
                "n_moved": pair.n_moved,
            }
        )
    return found


def _asked(
    inputs: Inputs, run: methods.Run, k: int, seed: int, max_time: float | None
) -> list[tuple[str, object]]:
    pairs, table = inputs.constraints, inputs.table
    n_soft = pairs.n_soft
    lines: list[tuple[str, object]] = [
        ("data", f"{inputs.path}: {len(inputs.X):,} points, {inputs.X.shape[1]} features"),
        ("clusters", k),
        (
            "columns",
            options.columns_line(inputs)
            + (
                ""
                if "as given" in options.columns_line(inputs)
                else "; the objective is in these units"
            ),
        ),
        ("pairs", ", ".join(map(str, inputs.pair_paths)) or "none"),
        ("must-links", f"{len(pairs.must_link):,}"),
        ("cannot-links", f"{len(pairs.cannot_link):,}"),
    ]
    if inputs.pair_paths:
        lines.append(("pairs name", "ids" if inputs.pairs_by == "id" else "rows, from 0"))
    if n_soft:
        taken = methods.takes_soft_pairs(run.method)
        must, cannot = len(pairs.soft_must_link), len(pairs.soft_cannot_link)
        used = "may be broken at a cost" if taken else "left out: this method takes hard pairs only"
        lines.append(("soft pairs", f"{must:,} must-links, {cannot:,} cannot-links; {used}"))
    if table.id_name:
        lines.append(("ids", f"column {table.id_name}"))
    if table.label_name:
        lines.append(("classes", f"column {table.label_name}, only for comparison"))
    settings = {k: v for k, v in run.settings.items() if v is not None and k not in _ELSEWHERE}
    lines += [
        ("method", methods.METHODS[run.method].title),
        ("seed", seed),
        ("time limit", "none" if max_time is None else f"{max_time:g} s"),
        ("settings", ", ".join(f"{key}={value}" for key, value in settings.items())),
    ]
    return lines


_ELSEWHERE = ("n_clusters", "random_state", "max_time", "verbose")
_REASONS = {
    "agreement": "several populations agree on the best solution",
    "max_populations": "the limit on populations",
    "max_local_searches": "the limit on local searches",
    "collapse": "all solutions of the population agree",
    "no_improvement": "no better solution for long",
    "max_generations": "the limit on generations",
    "max_time": "the time limit",
    "callback": "stopped by Ctrl-C",
}


def _facts(result: dict[str, Any]) -> list[tuple[str, object]]:
    lines: list[tuple[str, object]] = [
        ("objective", f"{screen.number(result['objective'], 12)} (sum of squared distances)"),
        ("broken must-links", f"{result['broken_must_links']:,} of {result['n_must_links']:,}"),
        (
            "broken cannot-links",
            f"{result['broken_cannot_links']:,} of {result['n_cannot_links']:,}",
        ),
        ("time", screen.seconds(result["seconds"])),
    ]
    lines += quota_lines(result.get("quotas", []))
    if "size_bounds" in result:
        lines.append(("cluster sizes", ", ".join(map(str, result["cluster_sizes"]))))
        lines.append(("tight bounds on sizes", tight_words(result)))
    if result["n_soft_pairs"]:
        count = f"{result['broken_soft_pairs']:,} of {result['n_soft_pairs']:,}"
        lines.insert(3, ("broken soft pairs", count))
    if "objective_with_penalties" in result:
        total = screen.number(result["objective_with_penalties"], 12)
        lines.insert(1, ("with the cost of broken pairs", total))
    if "distance" in result:
        lines.insert(1, ("distance", distance_line(result)))
    if "view_weights" in result:
        lines.insert(1, ("views", views_line(result)))
        lines += [("how it was decided", note) for note in result["notes"]]
    if "size_bounds" in result:
        bounds = ", ".join(f"{low:g} to {high:g}" for low, high in result["size_bounds"])
        lines.append(("bounds on sizes", bounds))
    if "ari" in result:
        lines.append(("agreement with the classes", f"adjusted Rand index {result['ari']:.3f}"))
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
