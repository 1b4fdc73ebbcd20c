"""``csv``: a header ``i,j,type`` and optionally ``confidence``, for spreadsheets.

Other usual names of these columns are read too, such as ``id_1,id_2,constraint_type``. An empty
confidence is a hard pair, any number from 0.5 to 1 a soft one.
"""

from __future__ import annotations

import csv
import io

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.cells import as_csv
from smdeclust.io.collector import PairCollector, Reading, parse_confidence
from smdeclust.io.constraints import KINDS, Constraints
from smdeclust.io.files import bad_line, decode, shown
from smdeclust.io.tokens import parse_kind

_NEEDED = ("i", "j", "type")
_OPTIONAL = ("confidence",)
# Other names of the columns; upper case, spaces and hyphens do not matter.
_OTHER_NAMES = {
    "type": ("constraint_type", "constraint", "kind", "link", "link_type", "pair_type", "relation"),
    "confidence": ("weight", "proba", "probability", "p", "score"),
}
_ENDS = ("id", "row", "point", "item", "node", "index", "record")
_FIRST = ("a", "first", "left", "source", "from", "u")
_SECOND = ("b", "second", "right", "target", "to", "v")
SPELLINGS = (
    "i,j,type (also id_1,id_2,constraint_type and the like: id, row, point, item, node, index or "
    "record with 1 and 2 or a and b; first,second; left,right; source,target; from,to; a,b), and "
    "optionally confidence (or weight, probability)"
)


def _standard_names() -> dict[str, str]:
    found = {name: name for name in _NEEDED + _OPTIONAL}
    for standard, others in _OTHER_NAMES.items():
        found |= dict.fromkeys(others, standard)
    for standard, marks, words in (("i", ("1", "a", "i"), _FIRST), ("j", ("2", "b", "j"), _SECOND)):
        found |= dict.fromkeys(words, standard)
        found |= {
            f"{end}{joint}{m}": standard for end in _ENDS for joint in ("", "_") for m in marks
        }
    return found


_STANDARD = _standard_names()
_TYPES = {"must_link": "ml", "cannot_link": "cl"}


def header_of(line: str) -> tuple[list[str], str] | None:
    """Return the column names and the delimiter where ``line`` is a header of this format."""
    for delimiter in (",", ";", "\t"):
        words = [name.strip().strip('"').lower() for name in line.split(delimiter)]
        words = [word.replace(" ", "_").replace("-", "_") for word in words]
        names = [_STANDARD.get(word, word) for word in words]
        if set(_NEEDED) <= set(names):
            return names, delimiter
    return None


def read(content: bytes, reading: Reading) -> Constraints:
    """Read the pairs below the header; columns may stand in any order."""
    path = reading.path
    text = decode(content, path)
    first, _, _ = text.partition("\n")
    header = header_of(first)
    if header is None:
        raise bad_line(path, 1, shown(first), f"a header {SPELLINGS}", "Add the header.")
    names, delimiter = header
    unknown = [name for name in names if name not in _NEEDED + _OPTIONAL]
    if unknown or len(set(names)) != len(names):
        raise bad_line(
            path,
            1,
            shown(first),
            f"these columns, once each: {SPELLINGS}",
            "Remove the other columns.",
        )
    column = {name: position for position, name in enumerate(names)}
    collector = PairCollector(path)
    rows = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    next(rows)
    try:
        for row in rows:
            # line_num is the last line of a record that spans lines; such a record is an error here
            _add(collector, [cell.strip() for cell in row], column, rows.line_num, reading)
    except csv.Error as error:
        raise InvalidInputError(
            f"{path}, line {rows.line_num}: not a CSV line ({error}). Correct its quotes."
        ) from error
    return collector.build()


def _add(
    collector: PairCollector, row: list[str], column: dict[str, int], line: int, reading: Reading
) -> None:
    if not any(row):
        return
    if len(row) != len(column):
        raise bad_line(reading.path, line, f"{len(row)} cells", f"{len(column)}, as the header has")
    written = row[column["type"]]
    kind = parse_kind(written)
    if kind is None:
        raise bad_line(
            reading.path,
            line,
            f"the type {shown(written)}",
            "ml or cl (must-link or cannot-link, 1 or -1)",
        )
    i, j = (reading.rows(row[column[name]], reading.path, line) for name in ("i", "j"))
    confidence = row[column["confidence"]] if "confidence" in column else ""
    soft = parse_confidence(confidence, reading.path, line) if confidence else None
    collector.add(kind, i, j, line, soft)


def write(constraints: Constraints) -> str:
    """Return the pairs as CSV text, with a confidence column only where there are soft pairs."""
    soft = any(len(getattr(constraints, kind)) for kind in KINDS[2:])
    rows: list[list[object]] = [[*_NEEDED, *_OPTIONAL] if soft else [*_NEEDED]]
    for kind, name in _TYPES.items():
        end = [""] if soft else []
        rows += ([i, j, name, *end] for i, j in constraints.named(kind))
    for kind, name in _TYPES.items():
        pairs = constraints.named(f"soft_{kind}")
        confidences = getattr(constraints, f"soft_{kind}_confidence").tolist()
        rows += ([*pair, name, repr(sure)] for pair, sure in zip(pairs, confidences, strict=True))
    return as_csv(rows).decode()
