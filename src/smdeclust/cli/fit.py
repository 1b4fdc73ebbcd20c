"""``smdeclust fit``: cluster a file under the pairs of other files."""

import platform
import shlex
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import typer

from smdeclust.cli import methods, opening, options, output
from smdeclust.cli.certify import as_bytes
from smdeclust.cli.check import conflicts_explained
from smdeclust.cli.errors import STOPPED, CommandError, Outcome
from smdeclust.cli.fit_report import (
    broken_lines,
    broken_soft_document,
    facts,
    file_document,
    make_report,
)
from smdeclust.cli.fitted import COLUMNS, labels_document, model_document, preparation_document
from smdeclust.constraints import KINDS
from smdeclust.exact.certificate import above_best
from smdeclust.extras import versions
from smdeclust.io import frame_bytes
from smdeclust.io.files import as_csv
from smdeclust.io.write import as_json as written
from smdeclust.io.write import labels_csv
from smdeclust.points.centers import cluster_means

LABELS, CENTERS, RESULT, REPORT = "labels.csv", "centers.csv", "result.json", "report.html"
TABLE = "table"  # with the ending of the data file
PROOF = "proof.npz"
# Seconds for the proof where --max-time sets no limit.
_PROOF_SECONDS = 60.0
_BROKEN, _SPECIAL = ("must_links", "cannot_links", "soft_pairs"), ("id", "label", "group")


def fit(
    context: typer.Context,
    data: options.DataFile,
    settings: methods.Settings,
    reading: opening.Reading,
    clusters: options.NClusters = None,
    constraints: options.ConstraintFiles = None,
    method: options.MethodName = methods.DEFAULT,
    out: Path | None = None,
    report: bool = True,
    pair_costs: options.Natural = 10,
    certify: bool = False,
    quota: options.Quotas = None,
    max_time: options.MaxTime = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Cluster a data file so that all must-links and cannot-links are satisfied.

    Every column gets a role (number, category, date, id, ...), which is shown with its reason and
    can be changed with --role. Columns are then prepared so that they have comparable influence,
    unless you pass --raw. Prints a description of the clusters. With --out, also writes your table
    with a new column cluster, labels.csv, centers.csv, columns.json (how columns were prepared),
    result.json and report.html.

    Example:
      smdeclust fit people.xlsx -k 4 --constraints pairs.csv --role customer=id --out result

    Options:
      --out -o DIR: Folder for the table, labels, centers, result and report.
      --report/--no-report: Write an HTML report into --out.
      --pair-costs N: For the report: how many pairs to drop, one at a time, to see what they cost.
      --certify: Prove how far the result can be from the best possible one (in half of --max-time,
        or a minute), and write proof.npz.
    """
    name = methods.check_method(method)
    patience = methods.Patience(max_time)
    files = [
        LABELS, CENTERS, RESULT, COLUMNS, _table_name(data),
        *([REPORT] if report else []), *([PROOF] if certify else []),
    ]  # fmt: skip
    if out is not None:
        output.check_folder(out, files, force=force)
        if report:
            _check_report_can_be_made()
    with output.progress("Clustering") as update, patience.listen():
        update("reading")
        inputs = opening.read_inputs(data, constraints, reading, quota)
        if certify:
            opening.mention_quotas(inputs)
        opening.mention_columns(inputs)
        k = opening.resolve_k(clusters, inputs)
        if not methods.takes_soft_pairs(name):
            opening.mention_soft(inputs, f"{methods.METHODS[name].title} takes hard pairs only")
        if not methods.takes_weights(name):
            opening.mention_weights(inputs, f"{methods.METHODS[name].title} takes no weights")
        chosen = settings.arguments(name, inputs)
        update(output.starting())
        patience.begin()
        half = max_time / 2 if certify and max_time is not None else max_time
        setup = methods.Setup(name, k, seed, half, chosen, patience, update)
        run = solve(setup, inputs, as_json=as_json)
        result = result_document(inputs, run, k, seed, context.obj or [])
        proof = None
        if certify:
            result["proof"], proof = certificate_of(replace(inputs, X=run.X), run, setup)
        if out is not None:
            page: dict[str, bytes] = {}
            if report:
                setup = replace(setup, max_time=max_time)
                page[REPORT], result["pair_costs"] = make_report(
                    inputs, reading, setup, run, result, pair_costs, quota or []
                )
            document = {
                **result,
                **labels_document(inputs.table, run.labels),
                **{kind: getattr(inputs.constraints, kind) for kind in KINDS[:2]},
                "model": model_document(inputs, run, k),
                "history": run.history,
            }
            contents = {
                **own_table(inputs, run.labels),
                LABELS: labels_csv(run.labels, inputs.table.ids, inputs.table.id_name),
                CENTERS: centers_csv(inputs, run.labels, k),
                COLUMNS: written(preparation_document(inputs)).encode(),
                **({} if proof is None else {PROOF: proof}),
                RESULT: written(document).encode(),
                **page,
            }
            output.write_folder(out, contents)
            result["files"] = {name.split(".")[0]: str(out / name) for name in contents}
    if as_json:
        if out is None:
            result |= labels_document(inputs.table, run.labels)
        output.print_json(result)
    else:
        show(result, inputs)
        if out is None:
            output.say(
                "Nothing was written. Pass --out DIR to write your table with the clusters, the "
                "labels, the centers and a report, or --json to print the labels."
            )
    if result.get("stop_reason") == "max_time":
        output.note("--max-time ran out: this is the best result found so far.")
    if run.stopped:
        output.note("ended by Ctrl-C: this is the best result found so far (exit code 3).")
        raise Outcome(STOPPED)


def _check_report_can_be_made() -> None:
    """Before any time is spent."""
    missing = [library for library in ("jinja2", "matplotlib") if find_spec(library) is None]
    if missing:
        raise CommandError(
            f"The report needs {' and '.join(missing)}, which {'are' if missing[1:] else 'is'} not "
            f'installed: pip install "smdeclust[report]". Or leave the report out: --no-report.'
        )


def solve(setup: methods.Setup, inputs: opening.Inputs, *, as_json: bool) -> methods.Run:
    """Run the method; where the pairs contradict each other, say which and leave with code 2."""
    with conflicts_explained(inputs, setup.n_clusters, setup.update, as_json=as_json):
        run = methods.run_method(setup, inputs.X, inputs.constraints, inputs.weight)
    return run  # noqa: RET504  (a return in the block: mypy cannot see that it always comes)


def certificate_of(
    inputs: opening.Inputs, run: methods.Run, setup: methods.Setup
) -> tuple[dict[str, Any], bytes | None]:
    """How far from the best possible it is at most, or why not; and the certificate as a file."""
    if run.n_broken:
        return {"sentence": "not certified: the clustering breaks pairs"}, None
    if inputs.constraints.n_soft:
        return {"sentence": "not certified: certificates cover only hard pairs"}, None
    from smdeclust.exact import certify

    setup.update("computing a certificate")
    left = setup.patience.left()
    certificate = certify(
        inputs.X,
        run.labels,
        must_link=inputs.constraints.must_link,
        cannot_link=inputs.constraints.cannot_link,
        sample_weight=inputs.weight if methods.takes_weights(run.method) else None,
        max_time=_PROOF_SECONDS if left is None else left,
        progress=setup.update,
        size_min=setup.settings.get("size_min"),
        size_max=setup.settings.get("size_max"),
    )
    without = " without the quotas, which the bound ignores" if inputs.constraints.quotas else ""
    document = {
        "sentence": above_best(run.objective, certificate.lower_bound) + without,
        "status": certificate.status,
        "lower_bound": certificate.lower_bound,
        # (A better one may break quotas.)
        "better_found": certificate.improved and not without,
        "seconds": certificate.seconds,
    }
    return document, as_bytes(certificate)


def result_document(
    inputs: opening.Inputs, run: methods.Run, k: int, seed: int, arguments: list[str]
) -> dict[str, Any]:
    """The machine-readable result."""
    from smdeclust.tables.profile import set_apart

    pairs, names = inputs.constraints, list(inputs.table.feature_names)
    made = {column: what for what, column in inputs.pair_columns.items() if column is not None}
    roles = None if inputs.features is None else inputs.features.roles_ | made
    document: dict[str, Any] = {
        "objective": run.objective,
        "method": run.method,
        "n_points": len(inputs.X),
        "n_features": int(inputs.X.shape[1]),
        "n_clusters": k,
        "cluster_sizes": np.bincount(run.labels, minlength=k).tolist(),
        **{f"n_{kind}s": len(getattr(pairs, kind)) for kind in KINDS},
        "n_soft_pairs": pairs.n_soft,
        "soft_pairs_used": methods.takes_soft_pairs(run.method) and pairs.n_soft > 0,
        **{f"broken_{kind}": getattr(run, f"broken_{kind}") for kind in _BROKEN},
        "broken_soft": broken_soft_document(inputs, run),
        "stopped_early": run.stopped,
        "seconds": run.seconds,
        **run.facts,
        "columns": inputs.features.used_columns if inputs.is_table else names,
        "coordinates": names,
        "roles": roles,
        "set_apart": set_apart(inputs.units, names, run.labels, k, roles or {}),
        **{f"{what}_column": getattr(inputs.table, f"{what}_name") for what in _SPECIAL},
        "class_column": inputs.pair_columns.get("class"),
        "weight_column": inputs.weight_name,
        "standardized": inputs.standardized,
        "pairs_by": inputs.pairs_by,
        "seed": seed,
        "settings": run.settings,
        "data": file_document(inputs.path),
        "constraints": [file_document(path) for path in inputs.pair_paths],
        "versions": {"python": platform.python_version(), **versions()},
        "command": shlex.join(["smdeclust", *arguments]),
    }
    if inputs.table.labels is not None:
        from sklearn.metrics import adjusted_rand_score

        document["ari"] = float(adjusted_rand_score(inputs.table.labels, run.labels))
    return document


def centers_csv(inputs: opening.Inputs, labels: Any, k: int) -> bytes:
    """One line per cluster in the units of the data: what is typical of it, or its mean."""
    features = inputs.features
    if inputs.is_table and features.scaling == "robust":
        from smdeclust.tables.profile import typical_rows

        names, typical = typical_rows(inputs.file.frame, features, labels, k)
        return as_csv([["cluster", *names], *([c, *row] for c, row in enumerate(typical))])
    X = inputs.units
    names = list(inputs.table.feature_names) or [f"x{i}" for i in range(X.shape[1])]
    means = cluster_means(X, labels, k, inputs.weight).tolist()
    rows = [[c, *map(repr, mean)] for c, mean in enumerate(means)]
    return as_csv([["cluster", *names], *rows])


def _table_name(data: Path) -> str:
    """Like that of the data file, or .xlsx or .csv if its format cannot be written."""
    ending = data.suffix.lower() or ".csv"
    others = dict.fromkeys((".xls", ".xlsb", ".ods"), ".xlsx")
    others |= dict.fromkeys((".h5ad", ".npy", ".npz"), ".csv")
    return TABLE + others.get(ending, ending)


def own_table(inputs: opening.Inputs, labels: Any) -> dict[str, bytes]:
    """The person's own table with a column more, in its own format; none for mere points."""
    if inputs.features is None:
        return {}

    name = "cluster"
    while name in inputs.file.frame:
        name += " (new)"
    if inputs.kept is not None:  # rows that were left out have no cluster
        of_all = np.full(len(inputs.whole.frame), None, dtype=object)
        of_all[inputs.kept] = labels.tolist()
        labels = of_all
    return {_table_name(inputs.path): frame_bytes(inputs.whole or inputs.file, {name: labels})}


def show(result: dict[str, Any], inputs: opening.Inputs) -> None:
    """The result for people."""
    rows = [*facts(result), ("columns", opening.columns_line(inputs))]
    title = f"{inputs.path.name}: {result['n_points']:,} points, {result['n_clusters']} clusters"
    output.print_table(rows, title=title)
    lines = broken_lines(result["broken_soft"]) + result.get("notes", [])
    if lines:
        output.print_result("\n".join([*lines, ""]))
    both = zip(result["cluster_sizes"], result["set_apart"], strict=True)
    clusters = [(str(cluster), f"{size:,}", words) for cluster, (size, words) in enumerate(both)]
    output.print_table(clusters, header=["cluster", "points", "what sets it apart"], right=(0, 1))
    if "files" in result:
        output.print_result("\n".join(f"{n + ':':9}{path}" for n, path in result["files"].items()))
