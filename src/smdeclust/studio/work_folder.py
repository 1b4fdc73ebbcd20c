"""The work folder: what the person entered and what was found, in plain files that ``fit`` reads.

``pairs.csv`` (i, j, type, confidence; by id where the data have ids), ``known.csv`` (points of
known clusters), ``settings.json`` and ``labels.csv``. Each change is one step: a file is written
aside and renamed, and where a change touches several files, all are first written into one
(``.step.json``) whose renaming decides. A kill at any moment leaves everything before the change,
or everything after it.

Several studios may work in one folder: a studio that changes it holds a lock, and first
reads what the others wrote.
"""

import contextlib
import csv
import io
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.io import files, write_bytes, write_labels, write_text
from smdeclust.io.pair_forms import Reading, read_csv
from smdeclust.io.per_point import named_entries
from smdeclust.studio.sheet import Sheet
from smdeclust.studio.wishes import (
    LONGEST_NAME,
    LONGEST_NOTE,
    MOST_CLUSTERS,
    Ground,
    Pair,
    Wishes,
    add_pairs,
    change,
)

PAIRS, KNOWN, SETTINGS = "pairs.csv", "known.csv", "settings.json"
LABELS, MAP, STEP = "labels.csv", "map.npz", ".step.json"
SAVED = (PAIRS, KNOWN, SETTINGS)


class WorkFolder:
    """Saves wishes and labels as they come; made if it does not exist.

    The data file `data`, which holds `sheet`, and how it is read (`source`) go to the settings.
    """

    def __init__(self, path: Path, data: Path, sheet: Sheet, source: dict[str, Any]) -> None:
        self.path, self.data, self.sheet, self.source = path, data, sheet, source
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
        """Write pairs, labels and settings, all or none."""
        settings = wishes.settings() | {"data": str(self.data), **self.source}
        sheet = self.sheet.under(dict(wishes.roles))
        wanted = {
            PAIRS: pairs_text(wishes, sheet),
            SETTINGS: json.dumps(settings, indent=2, ensure_ascii=False),
        }
        if wishes.labelled or (self.path / KNOWN).exists():
            wanted[KNOWN] = known_text(wishes, sheet)
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
        write_labels(self.path / LABELS, labels, ids=self.sheet.ids)

    def was_changed(self) -> bool:
        """Whether another program wrote pairs or settings since they were read or saved here."""
        return self._stamps() != self._seen

    def load(self, first: Wishes, ground: Ground) -> Wishes:
        """Return the wishes as saved, or `first` where nothing is saved."""
        step = self.path / STEP
        if step.exists():
            self._finish({k: str(v) for k, v in _document(step).items() if k in SAVED})
        self._seen, self._written = self._stamps(), {}
        path = self.path / SETTINGS
        if path.exists():
            document = _document(path)
            with _in_file(path):
                first = _with_settings(first, document, ground)
        with _in_file(path):
            sheet = self.sheet.under(dict(first.roles))
        for name, read in ((PAIRS, read_pairs), (KNOWN, read_known)):
            if (self.path / name).exists():
                first = read(self.path / name, first, sheet)
        return first

    def load_labels(self) -> np.ndarray | None:
        """Return the labels as saved, where they are there and fit the data."""
        try:
            text = (self.path / LABELS).read_text("utf-8")
            rows = list(csv.reader(io.StringIO(text)))[1:]
            labels = np.array([int(row[-1]) for row in rows if row], dtype=np.int64)
        except (OSError, ValueError, IndexError, OverflowError, csv.Error):
            return None  # they are found again
        fits = len(labels) == len(self.sheet) and np.all((labels >= 0) & (labels < MOST_CLUSTERS))
        return labels if fits else None

    def save_map(self, key: str, places: np.ndarray) -> None:
        """Keep the places of the neighborhood map of the points with this key."""
        content = io.BytesIO()
        np.savez(content, key=np.array(key), places=places)
        write_bytes(self.path / MAP, content.getvalue())

    def load_map(self, key: str, n_points: int) -> np.ndarray | None:
        """The places as saved, where they are of these points."""
        try:
            with np.load(self.path / MAP, allow_pickle=False) as kept:
                places = kept["places"]
                fits = str(kept["key"]) == key and places.shape == (n_points, 2)
                return places.astype(np.float32) if fits else None
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None

    def _stamps(self) -> tuple[Any, ...]:
        found = []
        for name in (*SAVED, STEP):
            with contextlib.suppress(OSError):
                status = (self.path / name).stat()
                found.append((name, status.st_mtime_ns, status.st_size, status.st_ino))
        return tuple(found)


def pairs_text(wishes: Wishes, sheet: Sheet) -> str:
    """The pairs as CSV, ids in place of rows where the data have ids; notes where there are any."""
    noted = any(pair.note or pair.by for pair in wishes.pairs)
    rows = [["i", "j", "type", "confidence", *(["note", "by"] if noted else [])]]
    for pair in wishes.pairs:
        sure = "" if pair.is_hard else repr(pair.confidence)
        kind = "ml" if pair.together else "cl"
        notes = [pair.note, pair.by] if noted else []
        rows.append([sheet.name(pair.first), sheet.name(pair.second), kind, sure, *notes])
    return files.as_csv(rows).decode()


def known_text(wishes: Wishes, sheet: Sheet) -> str:
    """The labels that were said, as CSV."""
    said = ([sheet.name(row), name] for row, name in wishes.labelled)
    return files.as_csv([["row" if sheet.ids is None else "id", "label"], *said]).decode()


def read_pairs(path: Path, wishes: Wishes, sheet: Sheet) -> Wishes:
    """Read what :func:`pairs_text` wrote, or any CSV of pairs."""
    reading, pairs, content = Reading(path, _resolver(sheet)), [], files.read_bytes(path)
    for kind, i, j, line, sure, note, by in read_csv(content, reading) if content.strip() else ():
        first, second = (reading.rows(word, path, line) for word in (i, j))
        if first == second:
            raise files.bad_line(path, line, f"{files.shown(i)} paired with itself", "two points")
        said = files.plain_cell(note)[:LONGEST_NOTE], files.plain_cell(by)[:LONGEST_NAME]
        pairs.append(Pair(first, second, kind == "must_link", sure or 1.0, *said))
    return add_pairs(replace(wishes, pairs=()), pairs)


def read_known(path: Path, wishes: Wishes, sheet: Sheet) -> Wishes:
    """Read what :func:`known_text` wrote."""
    found = named_entries(files.decode(files.read_bytes(path), path), path, _resolver(sheet))
    said = ((row, files.plain_cell(word)[:LONGEST_NAME]) for row, (word, _) in found.items())
    return replace(wishes, labelled=tuple((row, name) for row, name in said if name))


def _resolver(sheet: Sheet) -> files.RowResolver:
    return files.RowResolver(len(sheet), None if sheet.ids is None else files.index_ids(sheet.ids))


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
            raise InvalidInputError("expected an object of settings.")
        return document


def _with_settings(first: Wishes, document: dict[str, Any], ground: Ground) -> Wishes:
    known = set(first.settings()) - {"names"}
    given = {name: value for name, value in document.items() if name in known}
    wishes = change(first, {"do": "set", **given}, ground)
    names = document.get("names") or {}
    if not isinstance(names, dict):
        raise InvalidInputError("names must map numbers of clusters to names.")
    # Clusters beyond K may have names: they count again when K grows.
    most = replace(wishes, n_clusters=MOST_CLUSTERS)
    for number, name in names.items():
        if not (number.isascii() and number.isdigit()):
            raise InvalidInputError(f"there is no cluster {number[:80]!r} to name.")
        most = change(most, {"do": "name", "cluster": int(number), "name": name}, ground)
    return replace(most, n_clusters=wishes.n_clusters)
