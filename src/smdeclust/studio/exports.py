"""What can be taken away from the studio: plain files, and the lines of Python that make them."""

from __future__ import annotations

import csv
import io
import json

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.io import Table
from smdeclust.studio.conflicts import hard_pairs, structure_of
from smdeclust.studio.view import chosen_points
from smdeclust.studio.wishes import Wishes
from smdeclust.studio.work_folder import PAIRS, WorkFolder, pairs_text

NAMES = ("labels.csv", "pairs.csv", "settings.json", "recipe.py", "report.html")


def make(
    name: str, table: Table, wishes: Wishes, labels: np.ndarray | None, folder: WorkFolder
) -> tuple[bytes, str]:
    """Return the content of a file and its type."""
    if name not in NAMES:
        raise InvalidInputError(f"There is no {name!r} to export: choose of {', '.join(NAMES)}.")
    if name == "pairs.csv":
        return pairs_text(wishes, table).encode(), "text/csv; charset=utf-8"
    if name == "settings.json":
        text = json.dumps(wishes.settings(), indent=2, ensure_ascii=False)
        return text.encode(), "application/json"
    if name == "recipe.py":
        return recipe(wishes, table, folder).encode(), "text/x-python; charset=utf-8"
    if labels is None:
        raise InvalidInputError("There are no clusters yet.")
    if name == "labels.csv":
        return labels_text(table, wishes, labels).encode(), "text/csv; charset=utf-8"
    return report(table, wishes, labels, folder).encode(), "text/html; charset=utf-8"


def labels_text(table: Table, wishes: Wishes, labels: np.ndarray) -> str:
    """The cluster of every row as CSV, with the names of the clusters where they have any."""
    names = dict(wishes.names)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    header = ["row" if table.ids is None else "id", "label"]
    writer.writerow([*header, "name"] if names else header)
    for row, label in enumerate(labels.tolist()):
        entry = [row if table.ids is None else table.ids[row], label]
        writer.writerow([*entry, names.get(label, "")] if names else entry)
    return out.getvalue()


def recipe(wishes: Wishes, table: Table, folder: WorkFolder) -> str:
    """The lines of Python that cluster the same table with the same knowledge."""
    options = [str(wishes.n_clusters)]
    for name in ("size_min", "size_max"):
        value = getattr(wishes, name)
        if value is not None:
            options.append(f"{name}={value}")
    if wishes.metric != "euclidean":
        options.append(f"metric={wishes.metric!r}")
    options.append("random_state=0")
    read = [repr(str(folder.data or "data.csv"))]
    for option, column in (("id_column", table.id_name), ("label", table.label_name)):
        read += [f"{option}={column!r}"] if column is not None else []
    pairs = [repr(str(folder.path.resolve() / PAIRS))]
    pairs += ["ids=table.ids"] if table.ids is not None else ["n_points=len(X)"]
    return "\n".join(
        [
            *(["from sklearn.preprocessing import StandardScaler"] if wishes.standardize else []),
            "from smdeclust import Constraints, SMDEClust",
            "from smdeclust.io import read_table",
            "",
            f"table = read_table({', '.join(read)})",
            f"columns = {list(wishes.columns)!r}",
            "X = table.X[:, [table.feature_names.index(name) for name in columns]]",
            *(["X = StandardScaler().fit_transform(X)"] if wishes.standardize else []),
            f"constraints = Constraints.read({', '.join(pairs)})",
            f"model = SMDEClust({', '.join(options)})",
            "model.fit(X, constraints=constraints)",
            "print(model.labels_)",
            "",
        ]
    )


def report(table: Table, wishes: Wishes, labels: np.ndarray, folder: WorkFolder) -> str:
    """The report of the clustering as it stands, one file, complete in itself."""
    from smdeclust.problem import Problem
    from smdeclust.report import Content, render_report

    points = chosen_points(table, wishes)
    at = [table.feature_names.index(name) for name in wishes.columns]
    must, cannot = hard_pairs(wishes)
    problem = Problem.of(structure_of(wishes, len(points)), points)
    soft = [pair for pair in wishes.pairs if not pair.is_hard]
    n_broken = sum((labels[p.first] == labels[p.second]) != p.together for p in soft)
    names = dict(wishes.names)
    sizes = np.bincount(labels, minlength=wishes.n_clusters).tolist()
    settings = wishes.settings()
    return render_report(
        Content(
            title="Clusters from the studio",
            X=points,
            raw=table.X[:, at],
            feature_names=wishes.columns,
            labels=labels,
            n_clusters=wishes.n_clusters,
            must_link=must,
            cannot_link=cannot,
            objective=problem.objective(problem.group_labels(labels)),
            broken=problem.violations(labels),
            seconds=0.0,
            asked=[(name, str(value)) for name, value in settings.items() if name != "names"],
            facts=[(names.get(k, f"cluster {k}"), f"{n} points") for k, n in enumerate(sizes)],
            standardized=wishes.standardize,
            method_title="SMDEClust",
            name=lambda row: str(row) if table.ids is None else table.ids[row],
            where=lambda kind, index: f"{kind} pair {index}",
            ids_named="row" if table.ids is None else "id",
            n_soft_pairs=len(soft),
            broken_soft_pairs=n_broken,
            costs_note="The studio shows what each pair costs.",
            snippet=recipe(wishes, table, folder),
        )
    )
