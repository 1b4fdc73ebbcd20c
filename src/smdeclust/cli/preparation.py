"""How a fit prepared the columns: ``columns.json`` of its folder, read by the other commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from smdeclust.cli.errors import CommandError

COLUMNS = "columns.json"


def preparation_document(inputs: Any) -> dict[str, Any]:
    """What was done to the columns, for `read_preparation`."""
    if inputs.features is None or inputs.file.points is not None:
        return {"scaling": "standard" if inputs.standardized else "none"}
    return inputs.features.as_dict()


def read_preparation(place: Path) -> dict[str, Any]:
    """Read what `fit --out` wrote into a folder; `place` is the folder or a file in it."""
    from smdeclust.io.files import decode, read_bytes

    folder = place if place.is_dir() else place.parent
    path = folder / COLUMNS
    if not path.exists():
        raise CommandError(
            f"{place}: there is no {COLUMNS} (--result). Name the folder that 'smdeclust fit "
            "--out' wrote."
        )
    try:
        document = json.loads(decode(read_bytes(path), path))
        if document["scaling"] not in ("robust", "standard", "none"):
            raise ValueError(document["scaling"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CommandError(
            f"{path}: this does not say how columns were prepared ({error}). Fit again, with --out."
        ) from error
    return document


def beside(labels: Path | None) -> Path | None:
    """The folder of the fit whose labels these are, if it is one."""
    if labels is not None and (labels.parent / COLUMNS).exists():
        return labels.parent
    return None
