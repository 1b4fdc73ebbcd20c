"""All cells of a table that are no numbers, in one message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.files import PathLike, bad_line, shown
from smdeclust.io.wording import argument

_LISTED = 5


@dataclass(frozen=True)
class BadCell:
    """A cell that is no finite number: its row, line (if the file has lines), column, content."""

    row: int
    line: int | None
    column: str
    found: str

    @property
    def place(self) -> int:
        """The line, or else the row."""
        return self.row if self.line is None else self.line


def bad_cells(path: PathLike, cells: Sequence[BadCell], n_rows: int) -> InvalidInputError:
    """Build the error that names the first bad cell, and counts the others by column."""
    cells = sorted(cells, key=lambda cell: cell.row)
    first = cells[0]
    found = f"{first.found or 'nothing'} in column {shown(first.column)} (row {first.row})"
    expected = "a finite number"
    if len(cells) > 1:
        expected += f". In all {len(cells):,} cells are no numbers: {_by_column(cells, n_rows)}"
    return bad_line(
        path,
        first.line,
        found,
        expected,
        f"If a column is no feature, say what it is ({argument('label')}, "
        f"{argument('id_column')}) or choose the columns to use ({argument('features')}). Fill in "
        "missing values, or remove their rows.",
    )


def _by_column(cells: Sequence[BadCell], n_rows: int) -> str:
    of_column: dict[str, list[BadCell]] = {}
    for cell in cells:
        of_column.setdefault(cell.column, []).append(cell)
    parts = []
    for name, bad in of_column.items():
        if len(bad) == n_rows:
            parts.append(f"all {n_rows:,} of column {shown(name)}")
            continue
        places = "row" if bad[0].line is None else "line"
        listed = ", ".join(str(cell.place) for cell in bad[:_LISTED])
        more = ", ..." if len(bad) > _LISTED else ""
        parts.append(
            f"{len(bad):,} of column {shown(name)} ({places}{'s' * (len(bad) > 1)} {listed}{more})"
        )
    shown_parts = parts if len(parts) <= 12 else [*parts[:12], f"{len(parts) - 12} more columns"]
    return "; ".join(shown_parts)
