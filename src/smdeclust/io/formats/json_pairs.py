"""``json``: ``{"ml": [[i, j], ...], "cl": [...]}``, as the authors of S-MDEClust and PCCC write it.

Soft pairs stand in ``sml`` and ``scl``, their confidences in ``sml_proba`` and ``scl_proba`` (or
``sml_weights`` and ``scl_weights``).
"""

from __future__ import annotations

import json
import re
from typing import Any

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.collector import PairCollector, Reading, parse_confidence
from smdeclust.io.constraints import Constraints
from smdeclust.io.files import bad_line, decode, shown
from smdeclust.io.wording import argument

_LISTS = {
    "ml": "must_link",
    "cl": "cannot_link",
    "sml": "soft_must_link",
    "scl": "soft_cannot_link",
}
_CONFIDENCES = {"sml": ("sml_proba", "sml_weights"), "scl": ("scl_proba", "scl_weights")}
_KEYS = (*_LISTS, *(name for names in _CONFIDENCES.values() for name in names))
_FORM = 'an object {"ml": [[i, j], ...], "cl": [[i, j], ...]}'
# A string (so that brackets within it do not count), or one character that matters.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,\n]')


def read(content: bytes, reading: Reading) -> Constraints:
    """Read the lists of pairs of the object."""
    path = reading.path
    text = decode(content, path)
    document = _load(text, reading)
    if not isinstance(document, dict):
        raise bad_line(path, 1, f"a {type(document).__name__}", _FORM)
    unknown = sorted(set(document) - set(_KEYS))
    if unknown:
        raise bad_line(path, None, f"the key {shown(unknown[0])}", f"one of {', '.join(_KEYS)}")
    if not set(_LISTS) & set(document):
        raise bad_line(path, 1, "an object without any list of pairs", _FORM)
    collector = PairCollector(path)
    lines_of_key = _pair_lines(text)
    for key, kind in _LISTS.items():
        pairs = document.get(key, [])
        if not isinstance(pairs, list):
            raise bad_line(path, None, f"{key} = {shown(pairs)}", "a list of pairs [[i, j], ...]")
        lines = lines_of_key.get(key, [])
        confidences = _confidences(document, key, len(pairs), reading)
        for index, pair in enumerate(pairs):
            line = lines[index] if index < len(lines) else 1
            if not isinstance(pair, list) or len(pair) != 2:
                raise bad_line(
                    path, line, f"{shown(pair)} as entry {index} of {key}", "a pair [i, j]"
                )
            i, j = (reading.rows(_word(value, key, line, reading), path, line) for value in pair)
            collector.add(kind, i, j, line, confidences[index] if confidences else None)
    return collector.build()


def _load(text: str, reading: Reading) -> Any:
    def no_repeat(items: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in items]
        if len(set(keys)) != len(keys):
            raise bad_line(reading.path, None, "a key twice in one object", "every key once")
        return dict(items)

    # Numbers stay text: a number of a million digits is a wrong row, not a conversion to wait for.
    try:
        return json.loads(
            text,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_Number,
            object_pairs_hook=no_repeat,
        )
    except json.JSONDecodeError as error:
        raise InvalidInputError(
            f"{reading.path}, line {error.lineno}: not valid JSON ({error.msg}, column "
            f"{error.colno}). Correct it there; expected {_FORM}."
        ) from error
    except RecursionError as error:
        raise bad_line(reading.path, None, "very deeply nested brackets", _FORM) from error


class _Number(str):
    """A number as written, to tell it from a string id."""

    def __repr__(self) -> str:
        return str(self)


def _word(value: object, key: str, line: int, reading: Reading) -> str:
    # Positions must be numbers; ids may be numbers or strings.
    if isinstance(value, _Number) or (
        isinstance(value, str) and reading.rows.row_of_id is not None
    ):
        return str(value).strip()
    raise bad_line(
        reading.path,
        line,
        f"{shown(json.dumps(value) if not isinstance(value, str) else value)} in {key}",
        "a row position",
        f"If the file names points by their ids, say where these are ({argument('ids')}).",
    )


def _confidences(
    document: dict[str, Any], key: str, n_pairs: int, reading: Reading
) -> list[float] | None:
    names = [name for name in _CONFIDENCES.get(key, ()) if name in document]
    if key not in _CONFIDENCES or (not names and n_pairs == 0):
        return None
    if len(names) != 1:
        found = f"both {' and '.join(names)}" if names else f"{n_pairs} pairs in {key} without them"
        raise bad_line(
            reading.path,
            None,
            found,
            f"their confidences in one of {' or '.join(_CONFIDENCES[key])}",
        )
    values = document[names[0]]
    if not isinstance(values, list) or len(values) != n_pairs:
        found = f"{len(values)} numbers" if isinstance(values, list) else shown(values)
        raise bad_line(
            reading.path, None, f"{found} in {names[0]}", f"{n_pairs} numbers, one a pair of {key}"
        )
    wrong = [value for value in values if not isinstance(value, _Number)]
    if wrong:
        raise bad_line(reading.path, None, f"{shown(wrong[0])} in {names[0]}", "numbers in (0, 1]")
    return [
        parse_confidence(str(value), reading.path, None, f" (entry {index} of {names[0]})")
        for index, value in enumerate(values)
    ]


def _pair_lines(text: str) -> dict[str, list[int]]:
    """Return the line at which each pair of each list opens (the JSON module does not tell)."""
    lines: dict[str, list[int]] = {}
    line, depth, key = 1, 0, ""
    last_string = ""
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


def write(constraints: Constraints) -> str:
    """Return the pairs as one JSON object, all six lists present as the authors have them."""
    document: dict[str, Any] = {key: constraints.named(kind) for key, kind in _LISTS.items()}
    for key, names in _CONFIDENCES.items():
        document[names[0]] = getattr(constraints, f"{_LISTS[key]}_confidence").tolist()
    return json.dumps(document, default=str)  # ids may be anything, and are compared as text
