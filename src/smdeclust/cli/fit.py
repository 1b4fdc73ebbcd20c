"""``smdeclust fit``: cluster a file under the pairs of other files."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from smdeclust.cli import methods, options, provenance, screen
from smdeclust.cli.broken_soft import broken_lines, broken_soft_document
from smdeclust.cli.errors import STOPPED, CommandError, Outcome
from smdeclust.cli.explain_conflict import conflicts_explained
from smdeclust.cli.fit_proof import prove_fit
from smdeclust.cli.fitted import model_document
from smdeclust.cli.folder import check_folder, write_folder
from smdeclust.cli.options import Inputs, Reading
from smdeclust.cli.patience import Patience
from smdeclust.cli.preparation import COLUMNS, preparation_document
from smdeclust.cli.quotas import Quotas, quota_lines, with_quotas
from smdeclust.cli.settings import Settings
from smdeclust.cli.size_words import tight_words
from smdeclust.cli.spread import spread
from smdeclust.io.cells import as_csv

LABELS, CENTERS, RESULT, REPORT = "labels.csv", "centers.csv", "result.json", "report.html"
TABLE = "table"  # with the ending of the data file
PROOF = "proof.npz"


@options.reads_files()
@spread(Settings, "settings")
def fit(
    context: typer.Context,
    data: options.DataFile,
    clusters: options.NClusters = None,
    constraints: options.ConstraintFiles = None,
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="NAME", help="Method; 'compare' lists them.")
    ] = methods.DEFAULT,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder for the table with its clusters, labels, centers, result and report.",
        ),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write an HTML report into --out.")
    ] = True,
    pair_costs: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="For the report: how many pairs to leave out one by one, to see what they cost.",
        ),
    ] = 10,
    certify: Annotated[
        bool,
        typer.Option(
            "--certify",
            help="Prove how far from the best possible it is at most (half of --max-time, or a "
            "minute), and write proof.npz.",
        ),
    ] = False,
    quota: Quotas = None,
    max_time: options.MaxTime = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    force: options.Force = False,
    *,
    settings: Settings,
    reading: Reading,
) -> None:
    """Cluster a data file so that all must-links and cannot-links hold.

    Every column gets a role (number, category, date, id, ...), which is shown with its reason and
    can be changed with --role; columns are then prepared so that all count alike, unless you say
    --raw. With --out, writes your table with a column cluster, labels.csv, centers.csv,
    columns.json (how columns were prepared), result.json and report.html. Without, prints what the
    clusters are like.

    Example:
      smdeclust fit people.xlsx -k 4 --constraints pairs.csv --role customer=id --out result
    """
    name = methods.check_method(method)
    patience = Patience(max_time)
    files = [
        LABELS, CENTERS, RESULT, COLUMNS, _table_name(data),
        *([REPORT] if report else []), *([PROOF] if certify else []),
    ]  # fmt: skip
    if out is not None:
        check_folder(out, files, force=force)
        if report:
            _check_report_can_be_made()
    with screen.progress("Clustering") as update, patience.listen():
        update("reading")
        if quota and certify:
            raise CommandError("--certify does not know quotas: leave one of them out.")
        inputs = with_quotas(options.read_inputs(data, constraints, reading), quota, reading)
        options.mention_columns(inputs)
        k = options.resolve_k(clusters, inputs)
        if not methods.takes_soft_pairs(name):
            options.mention_soft(inputs, f"{methods.METHODS[name].title} takes hard pairs only")
        chosen = settings.arguments(name, inputs)
        update(screen.starting())
        patience.begin()
        half = max_time / 2 if certify and max_time is not None else max_time
        run = solve(inputs, k, name, seed, half, patience, update, chosen, as_json=as_json)
        result = result_document(inputs, run, k, seed, context.obj or [])
        proof = None
        if certify:
            proof = prove_fit(replace(inputs, X=run.X), run, chosen, patience, update)
        if proof is not None:
            result["proof"] = proof.document
        if out is not None:
            page: dict[str, bytes] = {}
            if report:
                from smdeclust.cli.fit_report import make_report

                page[REPORT], result["pair_costs"] = make_report(
                    inputs, reading, run, k, result,
                    seed=seed, n_costs=pair_costs, max_time=max_time, settings=chosen,
                    patience=patience, update=update,
                )  # fmt: skip
            document = {
                **result,
                **labels_document(inputs, run),
                "model": model_document(inputs, run, k),
                "history": run.history,
            }
            contents = {
                **own_table(inputs, run.labels),
                LABELS: labels_csv(inputs, run.labels),
                CENTERS: centers_csv(inputs, run.labels, k),
                COLUMNS: _json(preparation_document(inputs)),
                **({} if proof is None or proof.content is None else {PROOF: proof.content}),
                RESULT: _json(document),
                **page,
            }
            write_folder(out, contents)
            result["files"] = {name.split(".")[0]: str(out / name) for name in contents}
    if as_json:
        if out is None:
            result |= labels_document(inputs, run)
        screen.print_json(result)
    else:
        show(result, inputs)
        if out is None:
            screen.say(
                "Nothing was written. Add --out DIR for your table with a column cluster, labels, "
                "centers and a report, or --json for the labels."
            )
    if result.get("stop_reason") == "max_time":
        screen.note("the time of --max-time was over: this is the best answer found so far.")
    if run.stopped:
        screen.note("ended by Ctrl-C: this is the best answer found so far (exit code 3).")
        raise Outcome(STOPPED)


def _check_report_can_be_made() -> None:
    """Before any time is spent."""
    missing = [library for library in ("jinja2", "matplotlib") if find_spec(library) is None]
    if missing:
        raise CommandError(
            f"The report needs {' and '.join(missing)}, which {'are' if missing[1:] else 'is'} not "
            f'installed: pip install "smdeclust[report]". Or leave the report out: --no-report.'
        )


def solve(
    inputs: Inputs,
    k: int,
    name: str,
    seed: int,
    max_time: float | None,
    patience: Patience,
    update: Any,
    settings: dict[str, Any],
    as_json: bool,
) -> methods.Run:
    """Run the method; where the pairs contradict each other, say which and leave with code 2."""
    with conflicts_explained(inputs, k, update, as_json=as_json):
        run = methods.run_method(
            name,
            inputs.X,
            k,
            inputs.constraints,
            seed=seed,
            max_time=max_time,
            patience=patience,
            settings=settings,
            update=update,
        )
    return run  # noqa: RET504  (a return in the block: mypy cannot see that it always comes)


def result_document(
    inputs: Inputs, run: methods.Run, k: int, seed: int, arguments: list[str]
) -> dict[str, Any]:
    """The machine-readable result."""
    import numpy as np

    from smdeclust.tables.profile import set_apart

    pairs = inputs.constraints
    document: dict[str, Any] = {
        "objective": run.objective,
        "method": run.method,
        "n_points": len(inputs.X),
        "n_features": int(inputs.X.shape[1]),
        "n_clusters": k,
        "cluster_sizes": np.bincount(run.labels, minlength=k).tolist(),
        "n_must_links": len(pairs.must_link),
        "n_cannot_links": len(pairs.cannot_link),
        "n_soft_must_links": len(pairs.soft_must_link),
        "n_soft_cannot_links": len(pairs.soft_cannot_link),
        "n_soft_pairs": pairs.n_soft,
        "soft_pairs_used": methods.takes_soft_pairs(run.method) and pairs.n_soft > 0,
        "broken_must_links": run.broken_must_links,
        "broken_cannot_links": run.broken_cannot_links,
        "broken_soft_pairs": run.broken_soft_pairs,
        "broken_soft": broken_soft_document(inputs, run),
        "stopped_early": run.stopped,
        "seconds": run.seconds,
        **run.facts,
        "columns": used_columns(inputs),
        "coordinates": list(inputs.table.feature_names),
        "roles": None if inputs.features is None else inputs.features.roles_,
        "set_apart": set_apart(inputs.table.X, inputs.table.feature_names, run.labels, k),
        "id_column": inputs.table.id_name,
        "label_column": inputs.table.label_name,
        "group_column": inputs.table.group_name,
        "standardized": inputs.standardized,
        "pairs_by": inputs.pairs_by,
        "seed": seed,
        "settings": run.settings,
        "data": {"file": str(inputs.path), "sha256": provenance.digest(inputs.path)},
        "constraints": [
            {"file": str(path), "sha256": provenance.digest(path)} for path in inputs.pair_paths
        ],
        "versions": provenance.versions(),
        "command": provenance.command_line(arguments),
    }
    if inputs.table.labels is not None:
        from sklearn.metrics import adjusted_rand_score

        document["ari"] = float(adjusted_rand_score(inputs.table.labels, run.labels))
    return document


def labels_document(inputs: Inputs, run: methods.Run) -> dict[str, Any]:
    """The labels for machines, with the id of each point where the data have ids."""
    ids = {} if inputs.table.ids is None else {"ids": list(inputs.table.ids)}
    return {**ids, "labels": run.labels}


def used_columns(inputs: Inputs) -> list[str]:
    """The columns of the table that were used; of points, their coordinates."""
    if inputs.features is None or inputs.file.points is not None:
        return list(inputs.table.feature_names)
    return inputs.features.used_columns


def labels_csv(inputs: Inputs, labels: Any) -> bytes:
    """One line a point: its id, or else its row, and its cluster."""
    ids = inputs.table.ids
    header = ["row" if ids is None else inputs.table.id_name or "id", "label"]
    keys = range(len(labels)) if ids is None else ids
    return as_csv([header, *zip(keys, labels.tolist(), strict=True)])


def centers_csv(inputs: Inputs, labels: Any, k: int) -> bytes:
    """One line a cluster in the units of the data: what is typical of it, or its mean of points."""
    features = inputs.features
    if features is not None and inputs.file.points is None and features.scaling == "robust":
        from smdeclust.tables.profile import typical_rows

        names, typical = typical_rows(inputs.file.frame, features, labels, k)
        return as_csv([["cluster", *names], *([c, *row] for c, row in enumerate(typical))])
    X = inputs.table.X
    names = list(inputs.table.feature_names) or [f"x{i}" for i in range(X.shape[1])]
    rows = [[c, *map(repr, X[labels == c].mean(axis=0).tolist())] for c in range(k)]
    return as_csv([["cluster", *names], *rows])


def _table_name(data: Path) -> str:
    return f"{TABLE}{data.suffix.lower() or '.csv'}"


def own_table(inputs: Inputs, labels: Any) -> dict[str, bytes]:
    """The person's own table with a column more, in its own format; none for mere points."""
    if inputs.file is None:
        return {}
    from smdeclust.io import frame_bytes

    name = "cluster"
    while name in inputs.file.frame:
        name += " (new)"
    return {_table_name(inputs.path): frame_bytes(inputs.file, {name: labels})}


def _json(document: dict[str, Any]) -> bytes:
    from smdeclust.io.write import as_json

    return as_json(document).encode()


def show(result: dict[str, Any], inputs: Inputs) -> None:
    """The result for people."""
    n_pairs = result["n_must_links"] + result["n_cannot_links"]
    n_broken = result["broken_must_links"] + result["broken_cannot_links"]
    rows = [
        ("objective (sum of squares)", screen.number(result["objective"], 10)),
        ("broken pairs", f"{n_broken:,} of {n_pairs:,}" if n_pairs else "none were given"),
        ("cluster sizes", _sizes(result["cluster_sizes"])),
        *([("bounds on sizes", tight_words(result))] if "size_bounds" in result else []),
        *quota_lines(result.get("quotas", [])),
        ("columns", options.columns_line(inputs)),
        *([("distance", distance_line(result))] if "distance" in result else []),
        *([("views", views_line(result))] if "view_weights" in result else []),
        ("time", screen.seconds(result["seconds"])),
    ]
    if "proof" in result:
        rows.insert(1, ("so it is", result["proof"]["sentence"]))
    if result["n_soft_pairs"]:
        broken = f"{result['broken_soft_pairs']:,} of {result['n_soft_pairs']:,}"
        left_out = "" if result["soft_pairs_used"] else " (not used by this method)"
        rows.insert(2, ("broken soft pairs", broken + left_out))
    if "ari" in result:
        rows.insert(2, ("agreement with the classes (ARI)", f"{result['ari']:.3f}"))
    title = f"{inputs.path.name}: {result['n_points']:,} points, {result['n_clusters']} clusters"
    screen.print_table(rows, title=title)
    lines = broken_lines(result["broken_soft"]) + result.get("notes", [])
    if lines:
        screen.print_result("\n".join([*lines, ""]))
    screen.print_table(
        [
            (str(cluster), f"{size:,}", words)
            for cluster, (size, words) in enumerate(
                zip(result["cluster_sizes"], result["set_apart"], strict=True)
            )
        ],
        header=["cluster", "points", "what sets it apart"],
        right=(0, 1),
    )
    if "files" in result:
        screen.print_result("\n".join(f"{n + ':':9}{path}" for n, path in result["files"].items()))


def views_line(result: dict[str, Any]) -> str:
    """Which views decided, the heaviest first."""
    weights = result["view_weights"]
    order = sorted(weights, key=lambda name: -weights[name])
    return ", ".join(f"{name} {weights[name]:.0%}" for name in order)


def distance_line(result: dict[str, Any]) -> str:
    """A learned distance in words: what counts most, as a share of what all columns count."""
    weights = result["feature_weights"]
    order = sorted(range(len(weights)), key=lambda column: -weights[column])
    shown = ", ".join(f"{result['coordinates'][c]} {weights[c]:.2g}" for c in order[:6])
    more = ", ..." if len(weights) > 6 else ""
    return f"{result['distance']}; columns count (1 on average): {shown}{more}"


def _sizes(sizes: list[int]) -> str:
    shown = ", ".join(map(str, sizes[:20]))
    return shown if len(sizes) <= 20 else f"{shown}, ..."
