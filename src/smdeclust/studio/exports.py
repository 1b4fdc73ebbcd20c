"""Exports: the person's table with one more column, plain files, lines of Python."""

import json
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.files import as_csv
from smdeclust.io.write import sheet_bytes
from smdeclust.problem import Problem
from smdeclust.studio.conflicts import structure_of
from smdeclust.studio.sheet import Sheet
from smdeclust.studio.solving import parameters
from smdeclust.studio.view import chosen_points
from smdeclust.studio.wishes import Wishes
from smdeclust.studio.work_folder import KNOWN, PAIRS, WorkFolder, pairs_text

TYPES = {
    "labels.csv": "text/csv; charset=utf-8",
    "pairs.csv": "text/csv; charset=utf-8",
    "table.csv": "text/csv; charset=utf-8",
    "table.xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "settings.json": "application/json",
    "recipe.py": "text/x-python; charset=utf-8",
    "notebook.ipynb": "application/x-ipynb+json",
    "report.html": "text/html; charset=utf-8",
}


def make(
    name: str,
    sheet: Sheet,
    wishes: Wishes,
    names: dict[str, str],
    labels: np.ndarray | None,
    folder: WorkFolder,
) -> tuple[bytes, str]:
    """Return the content of a file and its type; `names` are what clusters are called."""
    if name not in TYPES:
        raise InvalidInputError(f"There is no {name!r} to export; choose from {', '.join(TYPES)}.")
    if name == "pairs.csv":
        content: str | bytes = pairs_text(wishes, sheet)
    elif name == "settings.json":
        content = json.dumps(wishes.settings(), indent=2, ensure_ascii=False)
    elif name == "recipe.py":
        content = recipe(wishes, sheet, folder)
    elif name == "notebook.ipynb":
        content = notebook(recipe(wishes, sheet, folder))
    elif labels is None:
        raise InvalidInputError("There are no clusters yet.")
    elif name == "labels.csv":
        content = labels_csv(sheet, names, labels)
    elif name == "report.html":
        content = report(sheet, wishes, names, labels, folder)
    else:
        content = own_table(sheet, names, labels, excel=name.endswith(".xlsx"))
    return content if isinstance(content, bytes) else content.encode(), TYPES[name]


def labels_csv(sheet: Sheet, names: dict[str, str], labels: np.ndarray) -> bytes:
    """The cluster of every row, with the names of the clusters where they have any."""
    header = ["row" if sheet.ids is None else "id", "label", *(["name"] if names else [])]
    rows = (
        [sheet.name(row), label, *([names.get(str(label), "")] if names else [])]
        for row, label in enumerate(labels.tolist())
    )
    return as_csv([header, *rows])


def own_table(sheet: Sheet, names: dict[str, str], labels: np.ndarray, *, excel: bool) -> bytes:
    """The original table with a column ``cluster`` (a name where the cluster has one)."""
    column = "cluster"
    while column in sheet.frame.columns:
        column += "_"
    named = [names.get(str(label), label) for label in labels.tolist()]
    return sheet_bytes(sheet.frame.assign(**{column: named}), excel=excel)


def recipe(wishes: Wishes, sheet: Sheet, folder: WorkFolder) -> str:
    """The lines of Python that cluster the same table with the same knowledge, as they are."""
    from smdeclust.report.html import render  # which loads matplotlib

    place = folder.path.resolve()
    return render(
        "studio.py.jinja",
        wishes=wishes,
        roles=dict(wishes.roles),
        options={n: v for n, v in parameters(wishes).items() if n != "n_clusters"},
        source=folder.source,
        data=str(folder.data),
        pairs=str(place / PAIRS),
        known=str(place / KNOWN),
        by_id=sheet.ids is not None,
        weighed=sheet.weight is not None,
    )


def notebook(text: str) -> str:
    """The same lines as a Jupyter notebook, a cell for each part."""
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code", "id": f"part-{number}", "metadata": {}, "outputs": [],
            "execution_count": None, "source": part,
        }
        for number, part in enumerate(part for part in text.split("\n\n") if part.strip())
    ]  # fmt: skip
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4}
    return json.dumps(document | {"nbformat_minor": 5}, indent=1)


def report(
    sheet: Sheet, wishes: Wishes, names: dict[str, str], labels: np.ndarray, folder: WorkFolder
) -> str:
    """The report of the clustering as it stands, one file, complete in itself."""
    from smdeclust.report import Content, render_report

    points = chosen_points(sheet, wishes)
    raw = sheet.points(wishes.columns, scaled=False)
    problem = Problem.of(structure_of(wishes, sheet.ground, sheet.weight), points)
    sizes = np.bincount(labels, minlength=wishes.n_clusters).tolist()
    settings = wishes.settings()
    return render_report(
        Content(
            title="Clusters from the studio",
            X=points,
            raw=raw,
            feature_names=sheet.coordinates(wishes.columns),
            labels=labels,
            n_clusters=wishes.n_clusters,
            constraints=wishes.constraints(sheet.ground),
            ids=sheet.ids,
            objective=problem.objective(problem.group_labels(labels)),
            seconds=0.0,
            asked=[(name, str(value)) for name, value in settings.items() if name != "names"],
            facts=[(names.get(str(k), f"cluster {k}"), f"{n} points") for k, n in enumerate(sizes)],
            columns="on one scale" if wishes.standardize and sheet.vectors is None else "as given",
            method_title="SMDEClust",
            costs_note="The studio shows what each pair costs.",
            snippet=recipe(wishes, sheet, folder),
            weight=sheet.weight,
            roles=sheet.roles,
        )
    )
