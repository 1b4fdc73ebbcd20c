"""The forms in which pairs are written one by one: lines of words, CSV, JSON.

Each reader returns a list of entries (kind, point, other point, line, confidence): points as they
are written, a confidence only for soft pairs. Entries of CSV files end with a note and its author.
"""

import json
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from smdeclust.constraints import KINDS, Constraints
from smdeclust.constraints.quota import make_quota
from smdeclust.exceptions import InvalidInputError
from smdeclust.io.files import (
    PathLike,
    RowResolver,
    argument,
    as_csv,
    bad_line,
    data_lines,
    decode,
    parse_kind,
    parse_number,
    parse_whole,
    shown,
    split_words,
)
from smdeclust.io.table_file import records
from smdeclust.structure.quotas import Quota

Entry = tuple[Any, ...]


@dataclass(frozen=True)
class Reading:
    """What a format reader needs beside the content of the file."""

    path: PathLike  # for messages and origins
    rows: RowResolver = field(default_factory=RowResolver)  # from written rows or ids to positions
    kind: str | None = None  # of all pairs, for formats that do not write it
    must_link_sign: int = 1  # in a matrix


def parse_confidence(word: str, path: PathLike, line: int | None, place: str = "") -> float:
    """Return a confidence; `place` says where it stands, for lists without lines."""
    number = parse_number(word)
    if number is None or not 0.5 <= number <= 1:
        advice = (
            "Leave the confidence out for a hard pair; below 0.5, write the other kind of pair, "
            "and 1 minus this."
        )
        found = f"the confidence {shown(word)}{place}"
        raise bad_line(path, line, found, "a number from 0.5 to 1", advice)
    return number


# ---- lines of words

_LINKS = {"ML": "must_link", "CL": "cannot_link"}
_SIGNS = {1: "must_link", -1: "cannot_link"}
# Cluster size and diameter bounds of related solvers: legal lines, but not pairs.
_PARAMETERS = ("GAMMA", "DELTA")
KEYWORDS = (*_LINKS, *_PARAMETERS)

# Words of a line and the kind of all pairs -> kind, point, other point, weight; None: wrong.
_Words = Callable[[list[str], str | None], Sequence[Any] | None]


def _links(words: list[str], kind: str | None) -> Sequence[Any] | None:
    keyword = words[0].upper()
    if keyword in _PARAMETERS and len(words) == 2 and parse_number(words[1]) is not None:
        return ()
    return (_LINKS[keyword], *words[1:], "") if keyword in _LINKS and len(words) == 3 else None


def _signed(words: list[str], kind: str | None) -> Sequence[Any] | None:
    sign = parse_whole(words[2]) if len(words) == 3 else None
    return (_SIGNS[sign], *words[:2], "") if sign in _SIGNS else None


# Format -> what its lines look like, and how they are read. `links` is that of PC-SOS-SDP, `signed`
# of COP-Kmeans, `graphs` of S-HG-MEANS (where 1 is a hard pair), `two-column` of conclust.
LINE_FORMS: dict[str, tuple[str, _Words]] = {
    "links": ("'ML i j' or 'CL i j' (or 'GAMMA x', 'DELTA x')", _links),
    "signed": ("'i j 1' (must-link) or 'i j -1' (cannot-link)", _signed),
    "graphs": ("'i j weight'", lambda words, kind: (kind, *words) if len(words) == 3 else None),
    "two-column": (
        "'i j' or 'i,j'", lambda words, kind: (kind, *words, "") if len(words) == 2 else None
    ),
}  # fmt: skip


def read_lines(content: bytes, reading: Reading, form: str) -> list[Entry]:
    """Read one pair per line, in one of `LINE_FORMS`."""
    expected, parse = LINE_FORMS[form]
    entries: list[Entry] = []
    for number, line in data_lines(content, reading.path):
        found = parse(split_words(line), reading.kind)
        if found is None:
            advice = f"Correct the line, or name the format of the file ({argument('format')})."
            raise bad_line(reading.path, number, shown(line), expected, advice)
        if found:
            kind, i, j, weight = found
            sure = parse_confidence(weight, reading.path, number) if weight else 1.0
            entries.append((kind, i, j, number, None if sure == 1 else sure))
    return entries


def write_links(constraints: Constraints) -> str:
    """Return the pairs as ``links`` text; there is no room for soft pairs."""
    return "".join(
        f"{keyword} {i} {j}\n"
        for keyword, kind in _LINKS.items()
        for i, j in constraints.named(kind)
    )


# ---- CSV

_NEEDED = ("i", "j", "type")
# Notes, and who said it, are for people.
_OPTIONAL = ("confidence", "note", "by")
# Other names of the columns; upper case, spaces and hyphens do not matter.
_OTHER_NAMES = {
    "type": ("constraint_type", "constraint", "kind", "link", "link_type", "pair_type", "relation"),
    "confidence": ("weight", "proba", "probability", "p", "score"),
    "i": ("a", "first", "left", "source", "from", "u"),
    "j": ("b", "second", "right", "target", "to", "v"),
}
_ENDS = ("id", "row", "point", "item", "node", "index", "record")
SPELLINGS = (
    "i,j,type (also id_1,id_2,constraint_type and the like: id, row, point, item, node, index or "
    "record with 1 and 2 or a and b; first,second; left,right; source,target; from,to; a,b), and "
    "optionally confidence (or weight, probability), note and by"
)
_STANDARD = {
    **{name: name for name in _NEEDED + _OPTIONAL},
    **{other: name for name, others in _OTHER_NAMES.items() for other in others},
    **{
        f"{end}{joint}{mark}": name
        for name, marks in (("i", "1ai"), ("j", "2bj"))
        for mark in marks for end in _ENDS for joint in ("", "_")
    },
}  # fmt: skip
_TYPES = {"must_link": "ml", "cannot_link": "cl"}


def header_of(text: str) -> tuple[list[str], str] | None:
    """Return the column names and the delimiter of a pairs CSV, None where it is none.

    Names in other languages count by position if every line below ends with a kind of pair (in
    words: a table may have columns of 1) and its points do not look like those names.
    """
    first, *others = text.split("\n", 1000)[:1000]
    lines = [first, *(line for line in others if line.strip())]
    for delimiter in (",", ";", "\t"):
        head, *rows = ([cell.strip(' "\r') for cell in line.split(delimiter)] for line in lines)
        names = [_STANDARD.get(re.sub("[ -]", "_", word.lower()), word.lower()) for word in head]
        if set(_NEEDED) <= set(names):
            return names, delimiter
        kinds = [len(row) == 3 and parse_kind(row[2].strip("+-1")) for row in rows]
        if kinds and all(kinds) and len(head) == 3 and parse_kind(head[2]) is None:
            shapes = {re.sub(r"\d+", "0", cell) for row in rows for cell in row[:2]}
            if not shapes & {re.sub(r"\d+", "0", cell) for cell in head[:2]}:
                return [*_NEEDED], delimiter
    return None


def read_csv(content: bytes, reading: Reading) -> list[Entry]:
    """Read the pairs below the header; columns may stand in any order."""
    path, text = reading.path, decode(content, reading.path)
    first, _, _ = text.partition("\n")
    header = header_of(text)
    if header is None:
        raise bad_line(path, 1, shown(first), f"a header {SPELLINGS}", "Add the header.")
    names, delimiter = header
    if header_of(first) is None:
        warnings.warn(f"{path}: the header {shown(first)} is read as i,j,type.", stacklevel=2)
    if not set(names) <= {*_NEEDED, *_OPTIONAL} or len(set(names)) != len(names):
        expected = f"these columns, once each: {SPELLINGS}"
        raise bad_line(path, 1, shown(first), expected, "Remove the other columns.")
    entries: list[Entry] = []
    for line, row in records(text, delimiter, path)[1:]:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(names):
            raise bad_line(path, line, f"{len(row)} cells", f"{len(names)}, as the header has")
        cells = {name: cell.strip() for name, cell in zip(names, row, strict=True)}
        kind = parse_kind(cells["type"])
        if kind is None:
            expected = "ml or cl (must-link or cannot-link, 1 or -1)"
            raise bad_line(path, line, f"the type {shown(cells['type'])}", expected)
        sure = cells.get("confidence")
        confidence = parse_confidence(sure, path, line) if sure else None
        notes = cells.get("note", ""), cells.get("by", "")
        entries.append((kind, cells["i"], cells["j"], line, confidence, *notes))
    return entries


def write_csv(constraints: Constraints) -> str:
    """Return the pairs as CSV text, with a confidence column only where there are soft pairs."""
    soft = constraints.n_soft > 0
    rows: list[list[object]] = [[*_NEEDED, *["confidence"] * soft]]
    for kind, name in _TYPES.items():
        rows += ([i, j, name, *[""] * soft] for i, j in constraints.named(kind))
    for kind, name in _TYPES.items():
        pairs = constraints.named(f"soft_{kind}")
        confidences = getattr(constraints, f"soft_{kind}_confidence").tolist()
        rows += ([*pair, name, repr(sure)] for pair, sure in zip(pairs, confidences, strict=True))
    return as_csv(rows).decode()


# ---- JSON, as the authors of S-MDEClust and PCCC write it

_LISTS = dict(zip(("ml", "cl", "sml", "scl"), KINDS, strict=True))
_CONFIDENCES = {"sml": ("sml_proba", "sml_weights"), "scl": ("scl_proba", "scl_weights")}
_KEYS = (*_LISTS, "quotas", *(name for names in _CONFIDENCES.values() for name in names))
_QUOTA = {"column", "value", "of", "low", "high", "points", "counts"}
_QUOTA_FORM = (
    'a quota {"column": "gender", "value": "f", "of": "share", "low": 0.4, "high": 0.6, '
    '"points": [i, ...]}, or of numbers with "counts" instead of a value'
)
_FORM = 'an object {"ml": [[i, j], ...], "cl": [[i, j], ...]}'
# A string (so that brackets within it do not count), or one character that matters.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,\n]')


def read_json(content: bytes, reading: Reading) -> list[Entry]:
    """Read the lists of pairs of the object."""
    path, text = reading.path, decode(content, reading.path)
    document = _load(text, path)
    if not isinstance(document, dict):
        raise bad_line(path, 1, f"a {type(document).__name__}", _FORM)
    unknown = sorted(set(document) - set(_KEYS))
    if unknown:
        raise bad_line(path, None, f"the key {shown(unknown[0])}", f"one of {', '.join(_KEYS)}")
    if not {*_LISTS, "quotas"} & set(document):
        raise bad_line(path, 1, "an object without any list of pairs", _FORM)
    lines_of_key, entries = _pair_lines(text), []
    for key, kind in _LISTS.items():
        pairs = document.get(key, [])
        if not isinstance(pairs, list):
            raise bad_line(path, None, f"{key} = {shown(pairs)}", "a list of pairs [[i, j], ...]")
        lines = lines_of_key.get(key, [])
        confidences = _confidences(document, key, len(pairs), path)
        for index, pair in enumerate(pairs):
            line = lines[index] if index < len(lines) else 1
            if not isinstance(pair, list) or len(pair) != 2:
                found = f"{shown(pair)} as entry {index} of {key}"
                raise bad_line(path, line, found, "a pair [i, j]")
            i, j = (_word(value, key, line, reading) for value in pair)
            entries.append((kind, i, j, line, confidences[index] if confidences else None))
    return entries


def read_quotas(content: bytes, reading: Reading) -> tuple[Quota, ...]:
    """Read the quotas of the object: column, value, of, low, high, and the points that count.

    ``points`` count 1 each, or as many as ``counts`` say; all others count nothing.
    """
    path, n_points = reading.path, reading.rows.n_points
    if b'"quotas"' not in content:
        return ()
    written, quotas = _load(decode(content, path), path).get("quotas", []), []
    if not isinstance(written, list):
        raise bad_line(path, None, f"quotas = {shown(written)}", "a list of quotas")
    if written and n_points is None:
        raise InvalidInputError(
            f"{path}: the file has quotas, which need the number of points. Pass "
            f"{argument('n_points')}."
        )
    for entry in written:
        if not isinstance(entry, dict) or not {"column", "of", "points"} <= set(entry) <= _QUOTA:
            found = sorted(entry) if isinstance(entry, dict) else entry
            raise bad_line(path, None, f"{shown(found)} in quotas", _QUOTA_FORM)
        column, points, value = entry["column"], entry["points"], entry.get("value")
        if not isinstance(column, str) or isinstance(value, list | dict):
            raise bad_line(path, None, f"{shown(entry)} in quotas", _QUOTA_FORM)
        low, high = (
            tuple(_quoted(each, path) for each in end)
            if isinstance(end, list)
            else _quoted(end, path)
            for end in (entry.get("low"), entry.get("high"))
        )
        counts = entry.get("counts")
        lists = [points] if counts is None else [points, counts]
        if not all(isinstance(each, list) and len(each) == len(lists[0]) for each in lists):
            raise bad_line(path, None, f"the quota on {column}", "a list of points, one count each")
        if counts is not None and (value is not None or None in counts):
            found = "counts beside a value, or an empty one,"
            raise bad_line(path, None, f"{found} in the quota on {column}", _QUOTA_FORM)
        rows = [reading.rows(_word(each, "quotas", None, reading), path, None) for each in points]
        if len(set(rows)) < len(rows):
            raise bad_line(path, None, f"a point twice in the quota on {column}", "every one once")
        counted = np.zeros(n_points or 0)
        counted[rows] = 1.0 if counts is None else [_quoted(count, path) for count in counts]
        if isinstance(value, _Number):
            whole = value.removeprefix("-").isdecimal()
            value = int(value) if whole and len(value) < 1000 else _quoted(value, path)
        try:
            quotas.append(make_quota(column, value, counted, low, high, str(entry["of"])))
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}: {error}") from None
    return tuple(quotas)


def _quoted(written: Any, path: PathLike) -> Any:
    """The number that is written in a quota, or ``None``."""
    number = None if written is None else parse_number(str(written))
    if written is not None and (number is None or not isinstance(written, _Number)):
        raise bad_line(path, None, f"{shown(written)} in quotas", "a number")
    return number


def _load(text: str, path: PathLike) -> Any:
    def no_repeat(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in items}) != len(items):
            raise bad_line(path, None, "a key twice in one object", "every key once")
        return dict(items)

    # Numbers stay text: a number of a million digits is a wrong row, not a conversion to wait for.
    as_text: dict[str, Any] = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), _Number)
    try:
        return json.loads(text, **as_text, object_pairs_hook=no_repeat)
    except json.JSONDecodeError as error:
        raise InvalidInputError(
            f"{path}, line {error.lineno}: not valid JSON ({error.msg}, column {error.colno}). "
            f"Correct it there; expected {_FORM}."
        ) from error
    except RecursionError as error:
        raise bad_line(path, None, "very deeply nested brackets", _FORM) from error


class _Number(str):
    """A number as written, to tell it from a string id."""

    def __repr__(self) -> str:
        return str(self)


def _word(value: object, key: str, line: int | None, reading: Reading) -> str:
    # Positions must be numbers; ids may be numbers or strings.
    by_id = reading.rows.row_of_id is not None
    if isinstance(value, _Number) or (isinstance(value, str) and by_id):
        return str(value).strip()
    found = f"{shown(value if isinstance(value, str) else json.dumps(value))} in {key}"
    advice = f"If the file names points by their ids, pass the ids ({argument('ids')})."
    raise bad_line(reading.path, line, found, "a row position", advice)


def _confidences(
    document: dict[str, Any], key: str, n_pairs: int, path: PathLike
) -> list[float] | None:
    names = [name for name in _CONFIDENCES.get(key, ()) if name in document]
    if key not in _CONFIDENCES or (not names and n_pairs == 0):
        return None
    if len(names) != 1:
        found = f"both {' and '.join(names)}" if names else f"{n_pairs} pairs in {key} without them"
        expected = f"their confidences in one of {' or '.join(_CONFIDENCES[key])}"
        raise bad_line(path, None, found, expected)
    name, values = names[0], document[names[0]]
    if not isinstance(values, list) or len(values) != n_pairs:
        found = f"{len(values)} numbers" if isinstance(values, list) else shown(values)
        raise bad_line(
            path, None, f"{found} in {name}", f"{n_pairs} numbers, one per pair in {key}"
        )
    wrong = [value for value in values if not isinstance(value, _Number)]
    if wrong:
        raise bad_line(path, None, f"{shown(wrong[0])} in {name}", "numbers in (0, 1]")
    return [
        parse_confidence(str(value), path, None, f" (entry {index} of {name})")
        for index, value in enumerate(values)
    ]


def _pair_lines(text: str) -> dict[str, list[int]]:
    """Return the line at which each pair of each list opens (the JSON module does not tell)."""
    lines: dict[str, list[int]] = {}
    line, depth, key, last_string = 1, 0, "", ""
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "\n":
            line += 1
        elif token[0] == '"':
            last_string = token[1:-1]
        elif token == ":" and depth == 1:
            key = last_string
        elif token in "[{":
            depth += 1
            if depth == 3:
                lines.setdefault(key, []).append(line)
        elif token in "]}":
            depth -= 1
    return lines


def write_json(constraints: Constraints) -> str:
    """Return pairs and quotas as one JSON object; all six lists of pairs, as the authors do."""
    document: dict[str, Any] = {key: constraints.named(kind) for key, kind in _LISTS.items()}
    for key, names in _CONFIDENCES.items():
        document[names[0]] = getattr(constraints, f"{_LISTS[key]}_confidence").tolist()
    if constraints.quotas:
        document["quotas"] = [_quota(quota, constraints.ids) for quota in constraints.quotas]
    return json.dumps(document, default=str)  # ids may be anything, and are compared as text


def _quota(quota: Quota, ids: np.ndarray | None) -> dict[str, Any]:
    rows = np.flatnonzero(quota.counts)
    written = {
        "column": quota.name, "value": getattr(quota.value, "tolist", lambda: quota.value)(),
        "of": quota.of, "low": _finite(quota.low), "high": _finite(quota.high),
        "points": (rows if ids is None else ids[rows]).tolist(),
    }  # fmt: skip
    if quota.value is None:
        written["counts"] = quota.counts[rows].tolist()
    return {key: each for key, each in written.items() if each is not None}


def _finite(bound: Any) -> Any:
    """A bound as it is written; ``None`` where it is infinite."""
    if isinstance(bound, tuple):
        return [_finite(each) for each in bound]
    return bound if np.isfinite(bound) else None
