"""The work folder: everything that was said and found, in plain files that ``smdeclust fit`` reads.

``pairs.csv`` (i, j, type, confidence; by id where the data have ids), ``settings.json`` and
``labels.csv``. Each change is one step: a file is written aside and renamed, and where a change
touches two files, both are first written into one (``.step.json``) whose renaming decides. A kill
at any moment leaves everything before the change, or everything after it.

Several studios may work in one folder: who changes it holds a lock, and first reads what the
others wrote.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.io import Table, write_labels, write_text
from smdeclust.studio.wishes import MOST_CLUSTERS, Ground, Pair, Wishes, change

PAIRS, SETTINGS, LABELS, STEP = "pairs.csv", "settings.json", "labels.csv", ".step.json"


class WorkFolder:
    """Saves wishes and labels as they come.

    Parameters
    ----------
    path
        Created if it does not exist.
    data
        The data file, named in the settings.
    table
        What it holds.
    """

    def __init__(self, path: Path, data: Path | None, table: Table) -> None:
        self.path, self.data, self.table = path, data, table
        self._written: dict[str, str] = {}
        self._seen: tuple[Any, ...] = ()
        path.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """While this is held, no other studio changes the folder."""
        with contextlib.ExitStack() as stack:
            try:
                import fcntl
            except ImportError:  # Windows
                import msvcrt

                stream = stack.enter_context((self.path / ".lock").open("a+b"))
                stream.seek(0)
                msvcrt.locking(stream.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
            else:
                handle = os.open(self.path, os.O_RDONLY)
                stack.callback(os.close, handle)
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def save(self, wishes: Wishes) -> None:
        """Write pairs and settings, both or none."""
        settings = wishes.settings() | {"data": None if self.data is None else str(self.data)}
        wanted = {
            PAIRS: pairs_text(wishes, self.table),
            SETTINGS: json.dumps(settings, indent=2, ensure_ascii=False),
        }
        fresh = {name: text for name, text in wanted.items() if self._written.get(name) != text}
        if len(fresh) < 2 and not (self.path / STEP).exists():
            for name, text in fresh.items():
                write_text(self.path / name, text)
        else:
            write_text(self.path / STEP, json.dumps(wanted))
            # From here on the change is made: what is left is done when reading, if not now.
            with contextlib.suppress(OSError):
                self._finish(wanted)
        self._written = wanted
        self._seen = self._stamps()

    def _finish(self, step: dict[str, str]) -> None:
        for name, text in step.items():
            write_text(self.path / name, text)
        (self.path / STEP).unlink(missing_ok=True)

    def save_labels(self, labels: np.ndarray) -> None:
        """Write the cluster of every row."""
        write_labels(self.path / LABELS, labels, ids=self.table.ids)

    def was_changed(self) -> bool:
        """Whether somebody else wrote pairs or settings since they were read or saved here."""
        return self._stamps() != self._seen

    def load(self, first: Wishes, ground: Ground) -> Wishes:
        """Return the wishes as saved, or `first` where nothing is saved."""
        step = self.path / STEP
        if step.exists():
            self._finish({k: str(v) for k, v in _document(step).items() if k in (PAIRS, SETTINGS)})
        self._seen, self._written = self._stamps(), {}
        path = self.path / SETTINGS
        if path.exists():
            document = _document(path)
            with _in_file(path):
                first = _with_settings(first, document, ground)
        path = self.path / PAIRS
        if path.exists():
            with _in_file(path):
                pairs = read_pairs(path.read_text("utf-8"), self.table, ground)
            first = replace(first, pairs=pairs)
        return first

    def load_labels(self) -> np.ndarray | None:
        """Return the labels as saved, where they are there and fit the data."""
        try:
            text = (self.path / LABELS).read_text("utf-8")
            rows = list(csv.reader(io.StringIO(text)))[1:]
            labels = np.array([int(row[-1]) for row in rows if row], dtype=np.int64)
        except (OSError, ValueError, IndexError, OverflowError, csv.Error):
            return None  # they are found again
        fits = len(labels) == len(self.table.X) and np.all((labels >= 0) & (labels < MOST_CLUSTERS))
        return labels if fits else None

    def _stamps(self) -> tuple[Any, ...]:
        found: list[Any] = []
        for name in (PAIRS, SETTINGS, STEP):
            try:
                status = (self.path / name).stat()
            except OSError:
                found.append(None)
            else:
                found.append((status.st_mtime_ns, status.st_size, status.st_ino))
        return tuple(found)


def pairs_text(wishes: Wishes, table: Table) -> str:
    """The pairs as CSV, ids in place of rows where the data have ids."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["i", "j", "type", "confidence"])
    name = (lambda row: row) if table.ids is None else table.ids.__getitem__
    for pair in wishes.pairs:
        kind = "ml" if pair.together else "cl"
        sure = "" if pair.is_hard else repr(pair.confidence)
        writer.writerow([name(pair.first), name(pair.second), kind, sure])
    return out.getvalue()


def read_pairs(text: str, table: Table, ground: Ground) -> tuple[Pair, ...]:
    """Read what :func:`pairs_text` wrote, or any file of that form."""
    rows = (
        {str(i): i for i in range(len(table.X))}
        if table.ids is None
        else {name: i for i, name in enumerate(table.ids)}
    )
    found: dict[tuple[int, int], Pair] = {}
    for line, words in enumerate(csv.DictReader(io.StringIO(text)), start=2):
        try:
            pair = _read_pair(words, rows, ground)
        except (InvalidInputError, ValueError) as error:
            raise InvalidInputError(f"line {line}: {error}") from None
        found[pair.key] = pair
    return tuple(found.values())


def _read_pair(words: dict[str, Any], rows: dict[str, int], ground: Ground) -> Pair:
    for name in ("i", "j", "type"):
        if not isinstance(words.get(name), str):
            raise InvalidInputError(f"the column {name} is missing.")
    for name in ("i", "j"):
        if words[name] not in rows:
            raise InvalidInputError(f"there is no point {words[name][:80]!r}.")
    kinds = {"ml": True, "cl": False}
    if words["type"] not in kinds:
        raise InvalidInputError(f"the type is {words['type'][:80]!r}, expected ml or cl.")
    said = {
        "do": "pairs",
        "pairs": [[rows[words["i"]], rows[words["j"]]]],
        "together": kinds[words["type"]],
        "confidence": float(words.get("confidence") or 1.0),
    }
    return change(Wishes(1, ground.columns), said, ground).pairs[0]


@contextmanager
def _in_file(path: Path) -> Iterator[None]:
    """Say in which file something is wrong, whatever it is."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error} Correct the file or remove it.") from None
    except OSError as error:
        raise InvalidInputError(f"{path}: it cannot be read ({error.strerror}).") from None
    except (ValueError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        raise InvalidInputError(f"{path}: {error}. Correct the file or remove it.") from None


def _document(path: Path) -> dict[str, Any]:
    with _in_file(path):
        document = json.loads(path.read_text("utf-8"))
        if not isinstance(document, dict):
            raise InvalidInputError("expected settings by name.")
        return document


def _with_settings(first: Wishes, document: dict[str, Any], ground: Ground) -> Wishes:
    known = set(first.settings()) - {"names"}
    given = {name: value for name, value in document.items() if name in known}
    wishes = change(first, {"do": "set", **given}, ground)
    names = document.get("names") or {}
    if not isinstance(names, dict):
        raise InvalidInputError("names must be names by number of the cluster.")
    # Clusters beyond K may have names: they count again when K grows.
    most = replace(wishes, n_clusters=MOST_CLUSTERS)
    for number, name in names.items():
        if not (number.isascii() and number.isdigit()):
            raise InvalidInputError(f"there is no cluster {number[:80]!r} to be named.")
        most = change(most, {"do": "name", "cluster": int(number), "name": name}, ground)
    return replace(most, n_clusters=wishes.n_clusters)
