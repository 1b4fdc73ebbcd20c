"""``choose-k``, ``plot``, ``studio``, ``paper``, ``warm-up``: other packages do the work."""

import time
import webbrowser
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from smdeclust.cli import opening, options, output
from smdeclust.cli.errors import CommandError
from smdeclust.cli.fitted import beside, in_folder, read_json, with_pairs_of
from smdeclust.io import read_constraints, write_bytes
from smdeclust.io.per_point import labels_beside

FORMATS = ("png", "svg", "pdf")
KINDS = ("clusters", "margins", "graph", "convergence", "diversity")


def choose_k(
    data: options.DataFile,
    reading: opening.Reading,
    clusters: str = "2..10",
    constraints: options.ConstraintFiles = None,
    folds: Annotated[int, {"min": 2}] = 5,
    plot: Path | None = None,
    seed: options.Seed = 0,
    max_time: options.Seconds = 10.0,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Try several numbers of clusters and recommend one, with the reason.

    For each number, shows the objective, the share of held-out pairs that the clusters satisfy, and
    how well the clusterings of random samples of the points agree.

    Example:
      smdeclust choose-k people.csv -k 2..12 --constraints pairs.csv --standardize

    Options:
      --clusters -k A..B: Numbers to try, such as 2..12.
      --folds N: Number of folds of the pairs; each is held out once.
      --plot FILE: File for a plot of the table.
      --max-time SECONDS: Time limit of each fit.
    """
    from smdeclust import SMDEClust, choose_n_clusters

    numbers = _numbers(clusters)
    output.check_file(plot, force=force)
    inputs = opening.read_inputs(data, constraints, reading)
    opening.mention_columns(inputs)
    opening.mention_weights(inputs, "all rows count equally here")
    with output.progress("Choosing", total=len(numbers)) as update:
        choice = choose_n_clusters(
            inputs.X,
            numbers,
            constraints=inputs.constraints,
            estimator=SMDEClust(random_state=seed, max_time=max_time),
            n_folds=folds,
            random_state=seed,
            progress=lambda k: update(f"{k} clusters", completed=numbers.index(k)),
        )
    if plot is not None:
        from smdeclust.plotting import plot_choice

        figure: Any = plot_choice(choice).figure
        figure.savefig(plot, dpi=120, bbox_inches="tight")
    if as_json:
        found = {name: getattr(choice, name) for name in ("n_clusters", "reason", "least")}
        output.print_json(found | {"table": [vars(row) for row in choice.table]})
        return
    rows = [
        [
            f"{row.n_clusters}{' *' if row.n_clusters == choice.n_clusters else ''}",
            output.number(row.objective),
            "-" if row.kept != row.kept else f"{row.kept:.1%}",
            "-" if row.stability != row.stability else f"{row.stability:.2f}",
            row.note.partition(". ")[0],
        ]
        for row in choice.table
    ]
    head = ["K", "objective", "held-out pairs satisfied", "stability", ""]
    output.print_table(rows, header=head, right=(0, 1, 2, 3), caption=choice.reason)


def _numbers(text: str) -> list[int]:
    """``2..12`` or ``3,5,8`` as numbers."""
    try:
        if ".." in text:
            low, high = (int(part) for part in text.split("..", 1))
            found = list(range(low, high + 1))
        else:
            found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < 1:
        raise CommandError(f"-k {text}: expected numbers to try, such as -k 2..12 or -k 3,5,8.")
    return found


def plot(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Data file, or result.json to plot a run.")
    ],
    out: Path,
    reading: opening.Reading,
    picture: str = "clusters",
    labels: Path | None = None,
    constraints: options.ConstraintFiles = None,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Plot clusters with their pairs, margins, the graph of the pairs, or the progress of a run.

    Example:
      smdeclust plot people.csv --labels result/labels.csv -c pairs.csv --out clusters.png

    Example:
      smdeclust plot result/result.json --picture convergence --out run.svg

    Options:
      --labels -l FILE: labels.csv of a fit (default: that of --result). Pairs are those of the fit
        unless --constraints names others.
      --out -o FILE: File to write (.png, .svg or .pdf).
      --picture -p NAME: What to plot: clusters, margins, graph, convergence or diversity.
    """
    if picture not in KINDS:
        raise CommandError(f"--picture is {picture!r}, expected one of {', '.join(KINDS)}.")
    suffix = out.suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        raise CommandError(f"{out}: the name must end with .png, .svg or .pdf.")
    output.check_file(out, force=force)
    from smdeclust.plotting.style import render

    if picture in ("convergence", "diversity"):
        draw = _of_run(data, picture)
    else:
        draw = _of_data(data, labels, constraints, reading, picture)
    write_bytes(out, render(draw, format=suffix))
    if as_json:
        output.print_json({"file": str(out), "picture": picture})
    else:
        output.print_result(str(out))


def _of_data(
    data: Path, labels: Path | None, pairs_in: list[Path] | None, reading: Any, picture: str
) -> Callable[[], Any]:
    """What draws a picture of points or pairs."""
    from smdeclust import plotting

    reading = replace(reading, result=reading.result or beside(labels))
    inputs = opening.read_inputs(data, pairs_in, reading)
    if reading.result is not None:
        labels = labels or in_folder(reading.result, "labels.csv")
        file = in_folder(reading.result, "result.json")
        fit = read_json(file, "the result.json of a fit") if file.exists() else {}
        if not pairs_in and "must_link" in fit:
            inputs = with_pairs_of(fit, inputs, file)
    found = None if labels is None else labels_beside(labels, inputs.table)
    known = inputs.constraints
    pairs = {"must_link": known.must_link, "cannot_link": known.cannot_link}
    if picture == "graph":
        if not len(known):
            raise CommandError("A graph needs pairs: name their file with --constraints.")
        return partial(plotting.plot_constraint_graph, len(inputs.X), labels=found, **pairs)
    if found is None:
        raise CommandError(f"--picture {picture} needs labels: name labels.csv with --labels.")
    if picture == "margins":
        if len(set(found.tolist())) < 2:
            raise CommandError("Margins need at least two clusters.")
        return partial(plotting.plot_margins, inputs.X, found)
    names = inputs.table.feature_names or None
    return partial(plotting.plot_clusters, inputs.X, found, feature_names=names, **pairs)


def _of_run(path: Path, picture: str) -> Callable[[], Any]:
    """What draws the progress of a run."""
    from smdeclust import plotting

    history = read_json(path, "the result.json of a fit").get("history")
    if not isinstance(history, dict) or not all(
        isinstance(column, list) and all(isinstance(v, int | float) for v in column)
        for column in history.values()
    ):
        raise CommandError(
            f"{path}: there is no history of a run. Name the result.json that fit wrote (only "
            "SMDEClust and its variants have a history)."
        )
    draw = plotting.plot_convergence if picture == "convergence" else plotting.plot_diversity
    return partial(draw, history)


def studio(
    reading: Annotated[opening.Reading, "role id_column label sheet points"],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="A table or a folder of images; without it, the page lets you open one.",
        ),
    ] = None,
    clusters: options.NClusters = None,
    constraints: options.ConstraintFiles = None,
    folder: Path | None = None,
    port: Annotated[int, {"min": 0, "max": 65535}] = 0,
    browser: bool = True,
) -> None:
    """Open a page in your browser to see the clusters, and to mark what belongs together.

    Your data stay on this computer. Every change is saved immediately in the work folder, in files
    that smdeclust fit reads. To continue later, run the same command again.

    Example:
      smdeclust studio people.csv -k 4 --constraints pairs.csv

    Options:
      --folder DIR: Work folder (default: the name of DATA with -studio added).
      --port N: Port to serve on (0: any free one).
      --browser/--no-browser: Open the browser, or only serve the page.
    """
    from smdeclust.extras import optional

    with optional("The studio"):
        from smdeclust.studio.desk import Desk
        from smdeclust.studio.opening import from_path
        from smdeclust.studio.server import Serving
        from smdeclust.studio.wishes import pairs_of

    desk = Desk(folder or Path("studio"))
    if data is not None:
        source = from_path(
            data, folder, sheet_name=reading.sheet, vectors=reading.points, roles=reading.roles()
        )
        desk.start_folder = source.folder
        known: Any = {"n_points": len(source.sheet), "ids": source.sheet.ids}
        pairs = pairs_of(read_constraints(list(constraints), **known)) if constraints else []
        desk.open_source(source, clusters, pairs)
    serving = Serving(desk, port)
    output.print_result(f"The studio is at {serving.url}")
    output.note(f"Your work is saved in {desk.folder_path}. Press Ctrl-C to end the studio.")
    if browser:
        webbrowser.open(serving.url)
    try:
        serving.run()
    except KeyboardInterrupt:
        output.note("The studio has ended. Your work is saved.")


def paper(
    experiment: list[str] | None = None,
    scale: str = "smoke",
    out: Path = Path("results"),
    jobs: Annotated[int | None, {"min": 1}] = None,
    budget: Annotated[float | None, {"min": 0}] = None,
    retry: bool = False,
    as_json: options.AsJson = False,
) -> None:
    """Run the experiments of Mansueto and Schoen (2024), and write tables and figures.

    To continue after an interruption, run the same command again. Data come from the folder
    that SMDECLUST_DATA names or are downloaded; the scale smoke downloads nothing.

    Example:
      smdeclust paper --experiment variants --scale smoke --out results

    Options:
      --experiment -e NAME: One of violations, variants, synthetic, large, exact, soft; repeat for
        several (default: all).
      --scale smoke|small|paper: How much to run: smoke takes a minute, small takes a quarter of an
        hour, and paper takes hours (it runs everything).
      --out -o DIR: Folder for results; a run with the same folder resumes.
      --jobs -j N: Number of processes (default: one per core).
      --budget SECONDS: Time limit; the next call continues.
      --retry: Repeat runs that failed before.
    """
    from smdeclust.paper import run_paper

    chosen = None if not experiment or "all" in experiment else experiment
    result = run_paper(chosen, scale, out, jobs, budget=budget, retry=retry)
    done = result.progress
    document: dict[str, Any] = {
        "scale": scale,
        "runs": {"before": done.before, "now": done.now, "left": done.left},
        "store": str(result.store),
        "report": str(result.report),
        "skipped": {
            name: [{"what": entry.what, "why": entry.reason} for entry in entries]
            for name, entries in result.skipped.items()
        },
    }
    if as_json:
        output.print_json(document)
        return
    counts = {"runs done before": done.before, "runs done now": done.now, "runs left": done.left}
    rows = [(name, f"{count:,}") for name, count in counts.items()]
    output.print_table([*rows, ("results", document["store"]), ("report", document["report"])])
    for name, entries in result.skipped.items():
        if entries:
            left_out = ", ".join(entry.what for entry in entries)
            output.note(f"{name}: left out: {left_out}. The report says why.")


def warm_up(as_json: options.AsJson = False) -> None:
    """Compile all inner loops ahead of time, and say how long each took.

    Compiled code is stored on disk, so this is needed only once. Otherwise, each loop is compiled
    when it is first needed.

    Example:
      smdeclust warm-up
    """
    seconds = {}
    with output.progress("Compiling") as update:
        for name, run in _parts().items():
            update(name)
            started = time.perf_counter()
            run()
            seconds[name] = time.perf_counter() - started
    total = sum(seconds.values())
    if as_json:
        output.print_json({"seconds": seconds, "total": total})
        return
    rows = [[name, output.seconds(value)] for name, value in seconds.items()]
    output.print_table([*rows, ["all", output.seconds(total)]], right=(1,))


def _parts() -> dict[str, Callable[[], Any]]:
    """Small runs that between them need all kernels."""
    from scipy.sparse import csr_array

    from smdeclust import Constraints, SMDEClust

    X = np.random.default_rng(0).normal(size=(60, 3))
    halves = Constraints(n_points=60).quota(["a", "b"] * 30, 0.4, 0.6)
    sizes: dict[str, Any] = {"size_min": 15, "size_max": 22}  # they bind, and so have prices
    ring = [(i, (i + 1) % 8) for i in range(8)]
    dense = [(i, j) for i in range(24) for j in range(i) if i % 3 != j % 3]

    def fit(points: Any = X, k: int = 3, storage: str | None = None, **known: Any) -> Any:
        given = {name: known.pop(name) for name in (*sizes, "metric") if name in known}
        model = SMDEClust(k, random_state=0, max_time=30, **given)
        model._storage = storage
        return model.fit(points, **known)

    return {
        "points without pairs": fit,
        "pairs": lambda: fit(must_link=[(0, 1)], cannot_link=[(2, 3), (3, 4)]),
        "cycles of pairs": lambda: fit(cannot_link=ring),
        "dense pairs": lambda: fit(cannot_link=dense),
        "soft pairs": lambda: fit(soft_must_link=[(0, 1)], soft_cannot_link=[(2, 3), (3, 4)]),
        "many clusters": lambda: fit(k=12),
        "sizes": lambda: fit(**sizes),
        "sizes and pairs": lambda: fit(**sizes, cannot_link=[(2, 3)]),
        "quotas": lambda: fit(constraints=halves),
        "a learned distance": lambda: fit(metric="learned", must_link=[(0, 1)]),
        "large data": lambda: fit(storage="blocks", cannot_link=[(2, 3)]),
        "sparse data": lambda: fit(csr_array(X), storage="sparse", cannot_link=[(2, 3)]),
    }
