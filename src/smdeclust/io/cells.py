"""Cells of CSV and Excel files that a spreadsheet would run are marked as text, reversibly."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "'")


def safe_cell(text: str) -> str:
    """Return text as it may stand in a spreadsheet: an apostrophe before what could be a formula.

    Numbers stay as they are, control bytes other than line breaks and tabs are left out, and an
    apostrophe at the start is doubled, so that :func:`plain_cell` gives the text back.
    """
    text = "".join(c for c in text if (c >= " " and c != "\x7f") or c in "\t\r\n")
    if text.startswith(_STARTS):
        try:
            float(text)
        except ValueError:
            return f"'{text}"
    return text


def plain_cell(text: str) -> str:
    """Undo :func:`safe_cell`."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_STARTS) else text


def as_csv(rows: Iterable[Sequence[Any]], delimiter: str = ",") -> bytes:
    """Rows as CSV; text that a spreadsheet would run as a formula is made safe (`safe_cell`)."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerows([safe_cell(c) if isinstance(c, str) else c for c in row] for row in rows)
    return buffer.getvalue().encode()
