"""The work folder: everything that was said and found, in plain files that ``smdeclust fit`` reads.

``pairs.csv`` (i, j, type, confidence; by id where the data have ids), ``settings.json``,
``labels.csv``, and the data file's place. Each file is written aside and renamed, so that a kill
at any moment leaves the file before or the file after.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.io import Table, write_labels, write_text
from smdeclust.studio.wishes import Ground, Pair, Wishes, change

PAIRS, SETTINGS, LABELS = "pairs.csv", "settings.json", "labels.csv"


class WorkFolder:
    """Saves wishes and labels as they come.

    Parameters
    ----------
    folder
        Made where it is not there.
    data
        The data file, named in the settings.
    table
        What it holds.
    """

    def __init__(self, folder: Path, data: Path | None, table: Table) -> None:
        self.folder, self.data, self.table = folder, data, table
        folder.mkdir(parents=True, exist_ok=True)

    def save_wishes(self, wishes: Wishes) -> None:
        """Write pairs and settings."""
        write_text(self.folder / PAIRS, pairs_text(wishes, self.table))
        settings = wishes.settings() | {"data": None if self.data is None else str(self.data)}
        write_text(self.folder / SETTINGS, json.dumps(settings, indent=2, ensure_ascii=False))

    def save_labels(self, labels: np.ndarray) -> None:
        """Write the cluster of every row."""
        write_labels(self.folder / LABELS, labels, ids=self.table.ids)

    def load(self, first: Wishes, ground: Ground) -> Wishes:
        """Return the wishes as saved, or `first` where nothing is saved."""
        path = self.folder / SETTINGS
        if path.exists():
            first = _with_settings(first, _as_document(path), ground)
        pairs = self.folder / PAIRS
        if pairs.exists():
            first = replace(first, pairs=read_pairs(pairs.read_text("utf-8"), self.table))
        return first

    def load_labels(self) -> np.ndarray | None:
        """Return the labels as saved, where they are there and fit the data."""
        path = self.folder / LABELS
        if not path.exists():
            return None
        rows = list(csv.reader(io.StringIO(path.read_text("utf-8"))))[1:]
        try:
            labels = np.array([int(row[-1]) for row in rows if row], dtype=np.int64)
        except (ValueError, IndexError):
            return None
        return labels if len(labels) == len(self.table.X) else None


def pairs_text(wishes: Wishes, table: Table) -> str:
    """The pairs as CSV, ids in place of rows where the data have ids."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["i", "j", "type", "confidence"])
    name = (lambda row: row) if table.ids is None else table.ids.__getitem__
    for pair in wishes.pairs:
        kind = "ml" if pair.together else "cl"
        sure = "" if pair.is_hard else f"{pair.confidence:g}"
        writer.writerow([name(pair.first), name(pair.second), kind, sure])
    return out.getvalue()


def read_pairs(text: str, table: Table) -> tuple[Pair, ...]:
    """Read what :func:`pairs_text` wrote, or any file of that form."""
    rows = (
        {str(i): i for i in range(len(table.X))}
        if table.ids is None
        else {name: i for i, name in enumerate(table.ids)}
    )
    found: dict[tuple[int, int], Pair] = {}
    for line, words in enumerate(csv.DictReader(io.StringIO(text)), start=2):
        try:
            i, j = rows[words["i"]], rows[words["j"]]
            together = {"ml": True, "cl": False}[words["type"]]
            confidence = float(words.get("confidence") or 1.0)
        except (KeyError, ValueError) as error:
            raise InvalidInputError(f"{PAIRS}, line {line}: cannot be read ({error}).") from None
        pair = Pair(i, j, together, confidence)
        found[pair.key] = pair
    return tuple(found.values())


def _as_document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InvalidInputError(f"{path}: this is no JSON ({error}). Mend or remove it.") from None
    if not isinstance(document, dict):
        raise InvalidInputError(f"{path}: expected settings by name. Mend or remove it.")
    return document


def _with_settings(first: Wishes, document: dict[str, Any], ground: Ground) -> Wishes:
    known = set(first.settings()) - {"names"}
    given = {name: value for name, value in document.items() if name in known}
    wishes = change(first, {"do": "set", **given}, ground)
    for number, name in dict(document.get("names") or {}).items():
        wishes = change(wishes, {"do": "name", "cluster": int(number), "name": name}, ground)
    return wishes
