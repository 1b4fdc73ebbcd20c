"""What ``fit`` puts into its HTML report, and what a result came from."""

import hashlib
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from smdeclust.cli import methods, opening, output
from smdeclust.cli.opening import Reading
from smdeclust.cli.result_lines import BOUNDS, bound_rows, facts, run_facts
from smdeclust.io import Constraints

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
