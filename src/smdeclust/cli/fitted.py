"""What ``result.json`` keeps of a fit, so that new rows can be placed later without the data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smdeclust.cli import methods
from smdeclust.cli.errors import CommandError
from smdeclust.cli.options import Inputs


def model_document(inputs: Inputs, run: methods.Run, k: int) -> dict[str, Any]:
    """Centers, and the linear map from points to them; `columns.json` says how rows become points.

    Of mere points that were standardized, mean and scale are here.
    """
    import numpy as np

    document: dict[str, Any] = {"mean": None, "scale": None, "map": None, "offset": None}
    if inputs.standardized and inputs.features is None:
        raw = inputs.table.X
        constant = raw.min(axis=0) == raw.max(axis=0)
        document |= {"mean": raw.mean(axis=0), "scale": np.where(constant, 1.0, raw.std(axis=0))}
    if run.distance is not None:
        components = run.distance.components_
        document["map"] = components.toarray() if hasattr(components, "toarray") else components
        document["offset"] = run.distance.mean_
    document["centers"] = [run.X[run.labels == c].mean(axis=0) for c in range(k)]
    return document


@dataclass(frozen=True)
class Fitted:
    """An earlier fit, read back.

    Attributes
    ----------
    columns
        The features, by name.
    ids, labels
        Of the points that were fitted; ids are None where they had none.
    objective
        Of the labels.
    model
        As `model_document` gives it, with arrays.
    soft_prices
        What soft pairs of new rows cost: spread and penalty of the fit.
    """

    columns: list[str]
    ids: list[str] | None
    id_column: str | None
    labels: Any
    objective: float
    model: dict[str, Any]
    soft_prices: dict[str, Any]

    @property
    def width(self) -> int:
        """Coordinates of a point, before any learned distance."""
        learned = self.model["map"]
        return (self.model["centers"] if learned is None else learned).shape[1]

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
    import numpy as np

    from smdeclust.io.files import decode, read_bytes

    file = path / "result.json" if path.is_dir() else path
    if not file.exists():
        raise CommandError(
            f"{file}: there is no such file (--result). Name the folder that 'smdeclust fit --out' "
            "wrote."
        )
    content = decode(read_bytes(file), file)
    try:
        document = json.loads(content)
        if "view_weights" in document:
            raise ValueError(
                "it is of --method guided, whose clusters need not be round; "
                "GuidedClustering.predict places new rows in Python"
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
            f"{file}: this is not the result.json of a fit that places new rows ({error}). Name "
            "the folder that 'smdeclust fit --out' wrote."
        ) from error
    return fitted


def _prices(document: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
    """Those of the fit; where its method had none, the variance inside its clusters."""
    if "soft_prices" in document:
        return {name: document["soft_prices"][name] for name in ("spread", "penalty")}
    n_numbers = len(document["labels"]) * model["centers"].shape[1]
    return {"spread": float(document["objective"]) / max(n_numbers, 1)}
