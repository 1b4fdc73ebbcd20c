"""What a fit leaves in its folder, and ``smdeclust predict``: where do new rows belong?

``columns.json`` says how rows become points, ``result.json`` where points belong.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from smdeclust.cli import methods, opening, options, output
from smdeclust.cli.errors import CommandError
from smdeclust.cli.opening import Inputs
from smdeclust.constraints import KINDS, Constraints
from smdeclust.io.files import decode, read_bytes
from smdeclust.io.write import labels_csv, write_bytes
from smdeclust.points.centers import cluster_means

COLUMNS = "columns.json"
_FOLDER = "the folder that 'smdeclust fit --out' wrote"


def read_json(path: Path, what: str) -> dict[str, Any]:
    """Read a JSON object; `what` the file should be."""
    text = decode(read_bytes(path), path)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path}: this is not JSON ({error}). Name {what}.") from error
    if not isinstance(document, dict):
        raise CommandError(f"{path}: this is not a JSON object. Name {what}.")
    return document


def preparation_document(inputs: Inputs) -> dict[str, Any]:
    """What was done to the columns, for `read_preparation`."""
    if not inputs.is_table:
        return {"scaling": "standard" if inputs.standardized else "none"}
    dropped = {} if inputs.kept is None else {"drop_gaps": True}
    return inputs.features.as_dict() | dropped


def read_preparation(place: Path) -> dict[str, Any]:
    """Read what `fit --out` wrote into a folder; `place` is the folder or a file in it."""
    path = in_folder(place, COLUMNS)
    if not path.exists():
        raise CommandError(f"{place}: there is no {COLUMNS} (--result). Name {_FOLDER}.")
    document = read_json(path, _FOLDER)
    if document.get("scaling") not in ("robust", "standard", "none"):
        raise CommandError(
            f"{path}: this does not say how columns were prepared. Fit again, with --out."
        )
    return document


def in_folder(place: Path, name: str) -> Path:
    """A file in the folder of a fit; `place` is the folder or a file in it."""
    return (place if place.is_dir() else place.parent) / name


def with_pairs_of(fit: dict[str, Any], inputs: Inputs, file: Path) -> Inputs:
    """The same with the hard pairs of a fit, whose `file` is its result.json."""
    n_pairs = len(fit["must_link"]) + len(fit["cannot_link"])
    if n_pairs == 0:
        return inputs
    row_of = {name: row for row, name in enumerate(inputs.table.ids or ())}
    try:
        rows = [row_of[name] for name in fit["ids"]] if "ids" in fit else range(len(inputs.X))
        must, cannot = ([[rows[i], rows[j]] for i, j in fit[kind]] for kind in KINDS[:2])
    except (KeyError, IndexError) as error:
        raise CommandError(
            f"{file}: its pairs name points that are not in the data ({error})."
        ) from error
    output.note(f"{output.plural(n_pairs, 'pair')} taken from the fit in {file.parent}.")
    return replace(inputs, constraints=Constraints(must, cannot, n_points=len(inputs.X)))


def beside(labels: Path | None) -> Path | None:
    """The folder of the fit whose labels these are, if it is one."""
    if labels is not None and (labels.parent / COLUMNS).exists():
        return labels.parent
    return None


def model_document(inputs: Inputs, run: methods.Run, k: int) -> dict[str, Any]:
    """Centers and the linear map to them; mean and scale of mere points that were standardized."""
    document: dict[str, Any] = {"mean": None, "scale": None, "map": None, "offset": None}
    if inputs.standardized and inputs.features is None:
        raw = inputs.units
        constant = raw.min(axis=0) == raw.max(axis=0)
        document |= {"mean": raw.mean(axis=0), "scale": np.where(constant, 1.0, raw.std(axis=0))}
    if run.distance is not None:
        components = run.distance.components_
        document["map"] = components.toarray() if hasattr(components, "toarray") else components
        document["offset"] = run.distance.mean_
    weight = inputs.weight if methods.takes_weights(run.method) else None
    document["centers"] = cluster_means(run.X, run.labels, k, weight)
    return document


def labels_document(table: Any, labels: Any) -> dict[str, Any]:
    """The labels for machines, with the id of each point where the data have ids."""
    return ({} if table.ids is None else {"ids": list(table.ids)}) | {"labels": labels}


@dataclass(frozen=True)
class Fitted:
    """An earlier fit, read back.

    `ids` and `labels` are of the points that were fitted, `model` is as `model_document` gives it,
    and `soft_prices` are spread and penalty of the fit, for what soft pairs of new rows cost.
    """

    columns: list[str]
    ids: list[str] | None
    id_column: str | None
    labels: Any
    objective: float
    model: dict[str, Any]
    soft_prices: dict[str, Any]

    def squares(self, points: Any) -> Any:
        """(n, K) squared distances of new points to the centers."""
        from scipy.spatial.distance import cdist

        model = self.model
        if model["mean"] is not None:
            points = (points - model["mean"]) / model["scale"]
        if model["map"] is not None:
            points = (points - model["offset"]) @ model["map"].T
        return cdist(points, model["centers"], "sqeuclidean")


def read_fitted(path: Path) -> Fitted:
    """Read the ``result.json`` of a fit (or of the folder of one)."""
    file = path / "result.json" if path.is_dir() else path
    if not file.exists():
        raise CommandError(f"{file}: there is no such file (--result). Name {_FOLDER}.")
    document = read_json(file, _FOLDER)
    try:
        if "view_weights" in document:
            raise CommandError(
                f"{file}: new rows cannot be assigned to the clusters of --method guided on the "
                "command line. Use GuidedClustering.predict in Python, or fit with another method."
            )
        model: dict[str, Any] = {
            name: None if value is None else np.asarray(value, dtype=np.float64)
            for name, value in document["model"].items()
        }
        fitted = Fitted(
            columns=[str(name) for name in document["columns"]],
            ids=None if document.get("ids") is None else [str(i) for i in document["ids"]],
            id_column=document.get("id_column"),
            labels=np.asarray(document["labels"], dtype=np.int64),
            objective=float(document["objective"]),
            model=model,
            soft_prices=_prices(document, model),
        )
        width = len(document.get("coordinates", fitted.columns))
        scaled = model["mean"] is None or model["mean"].shape == model["scale"].shape == (width,)
        if model["map"] is not None:
            width = model["map"].shape[0]
        sound = (
            scaled
            and model["centers"].shape[1] == width
            and fitted.labels.ndim == 1
            and 0 <= fitted.labels.min() <= fitted.labels.max() < len(model["centers"])
        )
        if not sound:
            raise ValueError("its parts do not fit together")
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise CommandError(
            f"{file}: this is not the result.json of a fit that can predict ({error}). "
            f"Name {_FOLDER}."
        ) from error
    return fitted


def _prices(document: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
    """Those of the fit; where its method had none, the variance inside its clusters."""
    if "soft_prices" in document:
        return {name: document["soft_prices"][name] for name in ("spread", "penalty")}
    n_numbers = len(document["labels"]) * model["centers"].shape[1]
    return {"spread": float(document["objective"]) / max(n_numbers, 1)}


_READ = f"id_column sheet points data_format no_header {opening.PAIRS}"


def predict(
    data: Annotated[Path, typer.Argument(metavar="NEW", help="New rows, with the same columns.")],
    result: Path,
    reading: Annotated[opening.Reading, _READ],
    constraints: options.ConstraintFiles = None,
    out: Path | None = None,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Assign new rows to the clusters of an earlier fit.

    Each new row goes to its nearest center or, with pairs, to the best cluster that they allow. The
    pairs may link new rows to new or old rows, by id or by row position (old rows are counted
    before new ones). Old rows and centers do not change.

    Example:
      smdeclust predict new-people.csv --result result -c new-pairs.csv

    Options:
      --result -r DIR: Folder written by 'fit --out'.
      --out -o FILE: CSV to write (default: print).
    """
    output.check_file(out, force=force)
    fitted = read_fitted(result)
    new = _read_new(data, fitted, result, reading)
    table = new.table
    squares = fitted.squares(new.X)
    labels = squares.argmin(axis=1)
    if constraints:
        labels = _under_pairs(fitted, table, squares, constraints, reading)
    content = labels_csv(labels, table.ids, table.id_name)
    if out is not None:
        write_bytes(out, content)
    if as_json:
        moved = int((labels != squares.argmin(axis=1)).sum())
        file = None if out is None else str(out)
        about = {"n_moved_by_pairs": moved, "file": file}
        output.print_json(labels_document(table, labels) | about)
    else:
        output.print_result(content.decode() if out is None else str(out))


def _read_new(path: Path, fitted: Fitted, result: Path, reading: opening.Reading) -> Any:
    """New rows, their columns prepared as those of the fit were."""
    if in_folder(result, COLUMNS).exists():
        known = replace(reading, result=result, id_column=None)
    else:  # of an earlier version: numbers as they are, scaled by what result.json says
        known = replace(reading, raw=True, features=",".join(fitted.columns))
    new = opening.read_data(path, known, id_column=reading.id_column)
    if new.features is None:  # mere points: their scale is in the model
        new = replace(new, X=new.table.X)
    learned = fitted.model["map"]
    n_fitted = (fitted.model["centers"] if learned is None else learned).shape[1]
    if new.X.shape[1] != n_fitted:
        raise CommandError(
            f"{path}: there are {new.X.shape[1]} columns, but the fit used {n_fitted}."
        )
    return new


def _under_pairs(
    fitted: Fitted, table: Any, squares: Any, constraints: list[Path], reading: opening.Reading
) -> Any:
    """Labels of the new rows that keep all pairs, with old rows and centers as they are."""
    from smdeclust.estimators.new_points import label_new
    from smdeclust.estimators.soft import SoftPrices

    by_id = reading.pairs_by_row is not True and fitted.ids is not None and table.ids is not None
    if reading.pairs_by_row is False and not by_id:
        raise CommandError("--pairs-by-id: the old or the new rows have no ids.")
    n_points = len(fitted.labels) + len(table.X)
    ids = None
    if by_id:
        ids = [*(fitted.ids or ()), *table.ids]
        both = set(fitted.ids or ()) & set(table.ids)
        if both:
            raise CommandError(
                f"An old row and a new row both have the id {min(both)!r}. Make the ids different, "
                "or use row positions in the pairs (--pairs-by-row; old rows come first)."
            )
    known = Constraints.read(
        list(constraints), ids=ids, n_points=None if by_id else n_points, **reading.pair_options()
    )
    return label_new(squares, fitted.labels, known, SoftPrices(**fitted.soft_prices))
