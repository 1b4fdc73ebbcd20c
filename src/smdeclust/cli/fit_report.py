"""What ``fit`` puts into its HTML report."""

from __future__ import annotations

from typing import Any

from smdeclust.cli import methods, provenance, screen
from smdeclust.cli.options import Inputs, Reading

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
    update: Any,
) -> bytes:
    """Solve again without pairs and without single ones, and write it all down as HTML."""
    from smdeclust.report import Content, render_report
    from smdeclust.report.moved import compare

    pairs = inputs.constraints
    free = moved = costs = None
    note = ""
    if len(pairs.must_link) + len(pairs.cannot_link):
        update("without pairs, for comparison")
        free = _again(
            inputs, k, run.method, seed, max_time, pairs.must_link[:0], pairs.cannot_link[:0]
        )
        moved = compare(run.labels, free.labels, k)
        if n_costs == 0:
            note = "Not computed (--pair-costs 0)."
        elif run.n_broken:
            note = "Not computed: the clustering breaks pairs, so a single pair has no clear cost."
        else:
            costs = _costs(inputs, run, k, free, seed, n_costs, max_time, update)
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
        X=inputs.X,
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
        history=run.history,
        agreement=agreement,
        command=result["command"],
        snippet=provenance.snippet(inputs, reading, run, k),
        provenance=[
            *((f"{name}", version) for name, version in result["versions"].items()),
            (f"SHA-256 of {inputs.path}", result["data"]["sha256"]),
            *((f"SHA-256 of {entry['file']}", entry["sha256"]) for entry in result["constraints"]),
        ],
    )
    return render_report(content).encode()


def _again(
    inputs: Inputs, k: int, method: str, seed: int, max_time: float | None, must: Any, cannot: Any
) -> methods.Run:
    """The same method, settings and seed with other pairs."""
    from smdeclust.io import Constraints

    return methods.run_method(
        method,
        inputs.X,
        k,
        Constraints(must_link=must, cannot_link=cannot),
        seed=seed,
        max_time=max_time,
        update=lambda *_, **__: None,
    )


def _costs(
    inputs: Inputs,
    run: methods.Run,
    k: int,
    free: methods.Run,
    seed: int,
    n_costs: int,
    max_time: float | None,
    update: Any,
) -> Any:
    from smdeclust.problem import Problem
    from smdeclust.report.pair_costs import pair_costs

    pairs = inputs.constraints
    problem = Problem.build(inputs.X, k, pairs.must_link, pairs.cannot_link)

    def solve(must: Any, cannot: Any) -> tuple[Any, float]:
        again = _again(inputs, k, run.method, seed, max_time, must, cannot)
        return again.labels, again.objective

    return pair_costs(
        problem,
        run.labels,
        run.objective,
        free.labels,
        solve,
        limit=n_costs,
        max_time=_COST_SECONDS,
        progress=lambda done, total: update(f"without pair {done + 1} of {total}"),
    )


def _asked(
    inputs: Inputs, run: methods.Run, k: int, seed: int, max_time: float | None
) -> list[tuple[str, object]]:
    pairs, table = inputs.constraints, inputs.table
    n_soft = len(pairs.soft_must_link) + len(pairs.soft_cannot_link)
    lines: list[tuple[str, object]] = [
        ("data", f"{inputs.path}: {len(inputs.X):,} points, {inputs.X.shape[1]} features"),
        ("clusters", k),
        (
            "columns",
            "standardised: each to mean 0 and standard deviation 1, so all count alike; the "
            "objective is in these units"
            if inputs.standardized
            else "as given, not standardised: columns of large numbers count more",
        ),
        ("pairs", ", ".join(map(str, inputs.pair_paths)) or "none"),
        ("must-links", f"{len(pairs.must_link):,}"),
        ("cannot-links", f"{len(pairs.cannot_link):,}"),
    ]
    if inputs.pair_paths:
        lines.append(("pairs name", "ids" if inputs.pairs_by == "id" else "rows, from 0"))
    if n_soft:
        taken = methods.takes_soft_pairs(run.method)
        lines.append(("soft pairs", f"{n_soft:,}, {'taken as such' if taken else 'left out'}"))
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
    "collapse": "all solutions of the population agree",
    "no_improvement": "no better solution for long",
    "max_generations": "the limit on generations",
    "max_time": "the time limit",
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
