"""What can be taken away: the person's table with a column more, plain files, lines of Python."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.extras import optional
from smdeclust.io.cells import as_csv, safe_cell
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
MOST_ROWS_OF_EXCEL = 1_048_575


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
        raise InvalidInputError(f"There is no {name!r} to export: choose of {', '.join(TYPES)}.")
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
    """The table as it came, with a column ``cluster`` (a name where the cluster has one)."""
    column = "cluster"
    while column in sheet.frame.columns:
        column += "_"
    frame = sheet.frame.copy()
    frame[column] = [names.get(str(label), label) for label in labels.tolist()]
    for name in frame.columns:
        if frame[name].dtype == object or str(frame[name].dtype).startswith("str"):
            frame[name] = [safe_cell(v) if isinstance(v, str) else v for v in frame[name]]
    frame.columns = [safe_cell(name) for name in frame.columns]
    out = io.BytesIO()
    if not excel:
        frame.to_csv(out, index=False)
        return out.getvalue()
    if len(frame) > MOST_ROWS_OF_EXCEL:
        raise InvalidInputError("Excel holds 1,048,575 rows at most: export CSV instead.")
    with optional("Writing Excel files"):
        import openpyxl  # noqa: F401
    frame.to_excel(out, index=False)
    return out.getvalue()


def recipe(wishes: Wishes, sheet: Sheet, folder: WorkFolder) -> str:
    """The lines of Python that cluster the same table with the same knowledge, as they are."""
    read = folder.source
    options = [str(wishes.n_clusters)]
    options += [f"{n}={v!r}" for n, v in parameters(wishes).items() if n != "n_clusters"]
    more = f", sheet_name={read['sheet']!r}" if "sheet" in read else ""
    more += f", vectors=Path({read['points']!r})" if "points" in read else ""
    more += f", roles={read['fixed_roles']!r}" if "fixed_roles" in read else ""
    lines = [
        "from pathlib import Path", "", "from smdeclust import Constraints, SMDEClust",
        "from smdeclust.studio.opening import from_path", "",
        f"sheet = from_path(Path({str(folder.data or 'data.csv')!r}){more}).sheet",
        f"sheet = sheet.under({dict(wishes.roles)!r})",
        f"X = sheet.points({wishes.columns!r}, scaled={wishes.standardize})",
    ]  # fmt: skip
    key = "ids = sheet.ids"
    named = "ids=ids" if sheet.ids is not None else "n_points=len(X)"
    lines += ["", *([key] if sheet.ids is not None else [])]
    place = folder.path.resolve()
    lines.append(f"constraints = Constraints.read({str(place / PAIRS)!r}, {named})")
    if wishes.labelled:
        lines += [
            "", "import csv", "", f"with open({str(place / KNOWN)!r}, newline='') as stream:",
            "    known = dict(row for row in csv.reader(stream))",
            f"names = {'ids' if sheet.ids is not None else 'map(str, range(len(X)))'}",
            "constraints |= Constraints.from_labels([known.get(name) for name in names])",
        ]  # fmt: skip
    for quota in wishes.quotas:
        low, high = (
            repr(bound if bound is None or quota.value is None else {quota.value: bound})
            for bound in (quota.low, quota.high)
        )
        named = f"of={quota.of!r}, name={quota.column!r}"
        entries = f"sheet.entries({quota.column!r})"
        lines.append(f"constraints = constraints.quota({entries}, {low}, {high}, {named})")
    by = "" if sheet.weight is None else ", sample_weight=sheet.weight"
    lines += [
        "", f"model = SMDEClust({', '.join(options)})",
        f"model.fit(X, constraints=constraints{by})", "print(model.labels_)", "",
    ]  # fmt: skip
    text = "\n".join(lines)
    return text.replace("SMDEClust", "GuidedClustering") if wishes.metric == "shapes" else text


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
    from smdeclust.problem import Problem
    from smdeclust.report import Content, render_report

    points = chosen_points(sheet, wishes)
    raw = sheet.points(wishes.columns, scaled=False)
    known = wishes.constraints(sheet.ground)
    problem = Problem.of(structure_of(wishes, sheet.ground, sheet.weight), points)
    soft = [pair for pair in wishes.pairs if not pair.is_hard]
    n_broken = sum((labels[p.first] == labels[p.second]) != p.together for p in soft)
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
            must_link=known.must_link,
            cannot_link=known.cannot_link,
            objective=problem.objective(problem.group_labels(labels)),
            broken=problem.violations(labels),
            seconds=0.0,
            asked=[(name, str(value)) for name, value in settings.items() if name != "names"],
            facts=[(names.get(str(k), f"cluster {k}"), f"{n} points") for k, n in enumerate(sizes)],
            standardized=wishes.standardize and sheet.vectors is None,
            method_title="SMDEClust",
            name=sheet.name,
            where=lambda kind, index: f"{kind} pair {index}",
            ids_named="row" if sheet.ids is None else "id",
            n_soft_pairs=len(soft),
            broken_soft_pairs=n_broken,
            costs_note="The studio shows what each pair costs.",
            snippet=recipe(wishes, sheet, folder),
            weight=sheet.weight,
        )
    )
