"""``smdeclust choose-k``: how many clusters, judged by pairs that were held out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from smdeclust.cli import opening, options, screen
from smdeclust.cli.errors import CommandError
from smdeclust.cli.folder import check_file


def choose_k(
    data: options.DataFile,
    reading: options.Reading,
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

    For each number, shows the objective, the share of held-out pairs that a clustering keeps
    without having seen them, and how well random samples of the points agree.

    Example:
      smdeclust choose-k people.csv -k 2..12 --constraints pairs.csv --standardize

    Options:
      --clusters -k A..B: Numbers to try, such as 2..12.
      --folds N: Number of folds of the pairs; each is held out once.
      --plot FILE: Draw the table as a picture.
      --max-time SECONDS: Time limit of each fit.
    """
    from smdeclust import SMDEClust, choose_n_clusters
    from smdeclust.queries.choose_k import Choice

    numbers = _numbers(clusters)
    check_file(plot, force=force)
    inputs = opening.read_inputs(data, constraints, reading)
    opening.mention_columns(inputs)
    opening.mention_weights(inputs, "all rows count alike here")
    with screen.progress("Choosing", total=len(numbers)) as update:
        choice: Choice = choose_n_clusters(
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
        screen.print_json(found | {"table": [vars(row) for row in choice.table]})
        return
    rows = [
        [
            f"{row.n_clusters}{' *' if row.n_clusters == choice.n_clusters else ''}",
            screen.number(row.objective),
            "-" if row.kept != row.kept else f"{row.kept:.1%}",
            "-" if row.stability != row.stability else f"{row.stability:.2f}",
            row.note.partition(". ")[0],
        ]
        for row in choice.table
    ]
    head = ["K", "objective", "held-out pairs kept", "stability", ""]
    screen.print_table(rows, header=head, right=(0, 1, 2, 3), caption=choice.reason)


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
