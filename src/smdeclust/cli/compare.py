"""``smdeclust compare``: several methods on the same data and pairs."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from smdeclust.cli import methods, opening, options, output
from smdeclust.cli.check import conflicts_explained, require_possible
from smdeclust.cli.errors import STOPPED, CommandError, Outcome
from smdeclust.exceptions import InfeasibleConstraintsError, SMDEClustError
from smdeclust.io import Constraints
from smdeclust.io.files import as_csv
from smdeclust.io.write import as_json as written
from smdeclust.points.centers import cost_of
from smdeclust.structure.bounds import SizeBounds

TABLE, PICTURE, RESULT = "comparison.csv", "comparison.png", "comparison.json"
SIZES = ("size_min", "size_max")
Chosen = Annotated[
    str | None,
    options.option(
        "--methods --method -m A,B,...",
        f"Methods to run: {', '.join(methods.METHODS)} (default: the quick ones).",
    ),
]


def compare(
    data: options.DataFile,
    settings: Annotated[methods.Settings, "size_min size_max"],
    reading: opening.Reading,
    clusters: options.NClusters = None,
    constraints: options.ConstraintFiles = None,
    chosen: Chosen = None,
    runs: Annotated[int, {"min": 1, "max": 1000}] = 1,
    out: Path | None = None,
    max_time: options.MaxTime = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Run several methods on your data and pairs, and compare them in a table and a plot.

    Example:
      smdeclust compare people.csv -k 4 --constraints pairs.csv --runs 5 --out comparison

    Options:
      --runs N: Runs of each method, with different seeds.
      --out -o DIR: Folder for comparison.csv, comparison.png and comparison.json.
    """
    names = _names(chosen)
    output.check_folder(out, [TABLE, PICTURE, RESULT], force=force)
    patience = methods.Patience()
    with output.progress("Comparing", total=len(names) * runs) as update, patience.listen():
        update("reading", 0)
        inputs = opening.read_inputs(data, constraints, reading)
        opening.mention_columns(inputs)
        k = opening.resolve_k(clusters, inputs)
        sizes = settings.arguments(methods.DEFAULT, inputs)
        with conflicts_explained(inputs, k, update, as_json=as_json):
            strict = any(methods.METHODS[name].strict for name in names)
            kept = inputs.constraints if strict else Constraints()  # all methods may break them
            require_possible(inputs.X, k, kept, sizes)
        update(output.starting(), 0)
        _warm_up(names, k, bounded=bool(sizes))
        results: list[dict[str, Any]] = []
        for name in names:
            try:
                given = sizes if methods.has_option(name, SIZES[0]) else {}
                setup = methods.Setup(name, k, seed, max_time, given)
                with conflicts_explained(inputs, k, update, as_json=as_json):
                    result = _run_all(inputs, setup, runs, sizes, update, len(results) * runs)
                results.append(result)
            except KeyboardInterrupt:
                if patience.n_presses > 1 or not results:
                    raise
                break  # the first Ctrl-C: show the methods that are done
        document = {
            "data": str(inputs.path),
            "n_points": len(inputs.X),
            "n_clusters": k,
            "n_must_links": len(inputs.constraints.must_link),
            "n_cannot_links": len(inputs.constraints.cannot_link),
            "n_soft_pairs": inputs.constraints.n_soft,
            "standardized": inputs.standardized,
            "scaling": opening.scaling(inputs),
            **{name: getattr(settings, name) for name in SIZES},
            "runs": runs,
            "seed": seed,
            "methods": results,
        }
        if out is not None:
            update("drawing", len(names) * runs)
            files = {TABLE: as_csv(_rows_for_machines(results)), RESULT: written(document).encode()}
            files[PICTURE] = _picture(results)
            output.write_folder(out, files)
            document["files"] = {name.split(".")[1]: str(out / name) for name in sorted(files)}
    if as_json:
        output.print_json(document)
    else:
        _show(document, results)
    if patience.stopped:
        output.note("ended by Ctrl-C: these are the methods that finished (exit code 3).")
        raise Outcome(STOPPED)


def _names(chosen: str | None) -> list[str]:
    if chosen is None:
        return list(methods.COMPARED)
    names = [methods.check_method(name) for name in chosen.split(",") if name.strip()]
    if not names:
        raise CommandError("--methods names no methods. Name some, separated by commas.")
    return list(dict.fromkeys(names))


def _warm_up(names: list[str], k: int, *, bounded: bool) -> None:
    """Compile before anything is timed, on some points of no meaning."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    pairs = Constraints(must_link=np.array([[0, 1]]), cannot_link=np.array([[0, 2], [2, 3]]))
    for name in names:
        given = {"size_min": 2} if bounded and methods.has_option(name, "size_min") else {}
        with suppress(SMDEClustError):
            methods.run_method(methods.Setup(name, min(k, 4), 0, 5.0, given), X, pairs)


def _run_all(
    inputs: opening.Inputs, setup: methods.Setup, runs: int, sizes: Any, update: Any, done: int
) -> dict[str, Any]:
    from sklearn.metrics import adjusted_rand_score

    name, title = setup.method, methods.METHODS[setup.method].title
    pairs, weight, classes = inputs.constraints, inputs.weight, inputs.table.labels
    found: list[methods.Run] = []
    failures = []
    for number in range(runs):
        update(title, done + number)
        again = replace(setup, seed=setup.seed + number)
        try:
            found.append(methods.run_method(again, inputs.X, pairs, weight))
        except InfeasibleConstraintsError:
            raise
        except SMDEClustError as error:
            failures.append(str(error))
    uses_weights = weight is None or methods.takes_weights(name)
    return {
        "method": name,
        "title": title,
        # By weight for all: else those that know no weights would solve another problem.
        "objective": [
            run.objective if uses_weights else cost_of(run.X, run.labels, weight) for run in found
        ],
        "violations": [run.n_broken for run in found],
        "broken_soft_pairs": [run.broken_soft_pairs for run in found],
        "clusters_out_of_bounds": [
            _n_out_of_bounds(run.labels, setup.n_clusters, sizes) for run in found
        ],
        "seconds": [run.seconds for run in found],
        "ari": [
            float(adjusted_rand_score(classes, run.labels)) for run in found if classes is not None
        ],
        "soft_pairs_used": not pairs.n_soft or methods.takes_soft_pairs(name),
        "bounds_used": not sizes or methods.has_option(name, SIZES[0]),
        "weights_used": uses_weights,
        "n_failed": len(failures),
        "failure": failures[0] if failures else None,
    }


def _n_out_of_bounds(labels: Any, k: int, sizes: dict[str, Any]) -> int:
    """How many clusters are smaller or larger than asked."""
    bounds = SizeBounds.of(sizes.get("size_min"), sizes.get("size_max"), "points", k)
    if bounds is None:
        return 0
    counts = np.bincount(labels, minlength=k)
    low, high = bounds.taken(counts)
    return int(((counts < low) | (counts > high)).sum())


_MEANS = (
    "objective", "violations", "ari", "seconds", "clusters_out_of_bounds", "broken_soft_pairs",
)  # fmt: skip


def _means(result: dict[str, Any]) -> list[float | None]:
    return [sum(result[key]) / len(result[key]) if result[key] else None for key in _MEANS]


def _rows_for_machines(results: list[dict[str, Any]]) -> list[Any]:
    names = [f"{key}_mean" for key in _MEANS[:-1]]
    rows: list[Any] = [["method", "runs", "failed", names[0], "objective_best", *names[1:]]]
    for result in results:
        mean, *others = _means(result)[:-1]
        best = min(result["objective"], default=None)
        written = ["" if value is None else repr(float(value)) for value in (mean, best, *others)]
        rows.append([result["method"], len(result["objective"]), result["n_failed"], *written])
    return rows


def _picture(results: list[dict[str, Any]]) -> bytes:
    from smdeclust.plotting import plot_comparison
    from smdeclust.plotting.style import render

    drawn = {r["title"]: r | {"time": r["seconds"]} for r in results if r["objective"]}
    if not drawn:
        raise CommandError("Every method failed: " + str(results[0]["failure"]))
    return render(plot_comparison, drawn)


# What a method may leave out, the mark of it, and words.
_LEFT_OUT = {
    "soft_pairs_used": (" *", "; * does not use soft pairs"),
    "bounds_used": (" °", "; ° does not bound sizes"),
    "weights_used": (" †", "; † does not use weights, but its objective is computed with them"),
}


def _show(document: dict[str, Any], results: list[dict[str, Any]]) -> None:
    # The least objective of a run that keeps every pair, and the bounds on sizes if any.
    keys = ("objective", "violations", "clusters_out_of_bounds")
    every = [run for result in results for run in zip(*(result[key] for key in keys), strict=True)]
    best = min((objective for objective, *broken in every if not any(broken)), default=None)
    n_soft = document["n_soft_pairs"]
    bounded = any(document[name] is not None for name in SIZES)
    # Column -> whether it is shown.
    columns = {
        "method": True,
        "mean objective" if document["runs"] > 1 else "objective": True,
        "% above": True,
        "broken": True,
        "sizes off": bounded,
        "broken soft": n_soft > 0,
        "ARI": any(result["ari"] for result in results),
        "time": True,
        "failed": any(result["n_failed"] for result in results),
    }
    n_pairs = document["n_must_links"] + document["n_cannot_links"]
    soft_pairs = f" and {output.plural(n_soft, 'soft pair')}" if n_soft else ""
    marks = [words for key, (_, words) in _LEFT_OUT.items() if not all(r[key] for r in results)]
    output.print_table(
        [[cell for cell, there in zip(_cells(result, best), columns.values(), strict=True) if there]
         for result in results],
        header=[name for name, there in columns.items() if there],
        right=range(1, len(columns)),
        title=f"{document['data']}: {document['n_points']:,} points, {document['n_clusters']} "
        f"clusters, {n_pairs:,} pairs{soft_pairs}, columns {document['scaling']}",
        caption="% above the best objective with no pair broken"
        + (" and no size out of bounds" if bounded else "")
        + "".join(marks),
    )  # fmt: skip
    for result in results:
        if result["failure"]:
            output.note(f"{result['title']}: {result['failure']}")
    if "files" in document:
        output.print_result("\n".join(f"{path}" for path in document["files"].values()))


def _cells(result: dict[str, Any], best: float | None) -> list[str]:
    """What a method did, one cell per column."""
    mean, broken, ari, time, outside, soft = _means(result)
    above = "-"
    if best is not None and mean is not None and broken == 0 and outside == 0:
        above = f"{100 * (mean - best) / best:.3f}" if best else "0.000" if mean == 0 else "-"
    return [
        result["title"] + "".join(mark for key, (mark, _) in _LEFT_OUT.items() if not result[key]),
        "failed" if mean is None else output.number(mean, 8),
        above,
        *(output.number(value, 4) for value in (broken, outside, soft)),
        "-" if ari is None else f"{ari:.3f}",
        "-" if time is None else output.seconds(time),
        str(result["n_failed"]),
    ]
