"""A table whose cells hold our figure and the paper's; as Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass

MISSING = "–"


@dataclass(frozen=True)
class Cell:
    """One figure.

    Attributes
    ----------
    value
        Ours: a number, text, or None where there is none.
    paper
        What the paper prints there, if it prints something.
    digits
        Decimals.
    bold
        Whether it is set in bold, as the paper does where a method wins.
    """

    value: float | str | None
    paper: float | None = None
    digits: int = 2
    bold: bool = False

    def ours(self) -> str:
        """Our figure as text."""
        return _text(self.value, self.digits)

    def theirs(self) -> str:
        """The paper's figure as text, empty where it prints none."""
        return "" if self.paper is None else _text(self.paper, self.digits)


@dataclass(frozen=True)
class Column:
    """A column's title, and the title of the group of columns it belongs to.

    Attributes
    ----------
    title, group
        What the header says.
    paired
        Whether the paper prints this column too.
    """

    title: str
    group: str = ""
    paired: bool = False


@dataclass(frozen=True)
class Table:
    """Rows under grouped columns.

    Attributes
    ----------
    name
        File name, without an end.
    title
        Heading and caption.
    columns, rows
        The content; the first column names the row.
    lines
        Indices of rows below which there is a line.
    notes
        Sentences below the table.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    lines: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()


def _text(value: float | str | None, digits: int) -> str:
    if isinstance(value, str):
        return value
    if value is None or math.isnan(value):
        return MISSING
    if isinstance(value, int):
        return str(value)
    rounded = round(value, digits) + 0.0  # no negative zero
    return f"{rounded:.{digits}f}"


def to_markdown(table: Table) -> str:
    """GitHub-flavoured Markdown; the paper's figure stands in parentheses after ours."""
    titles = [f"{c.group}: {c.title}" if c.group else c.title for c in table.columns]
    lines = [
        "| " + " | ".join(titles) + " |",
        "|" + "|".join(":--" if i == 0 else "--:" for i in range(len(titles))) + "|",
    ]
    for row in table.rows:
        cells = []
        for cell in row:
            ours = f"**{cell.ours()}**" if cell.bold else cell.ours()
            cells.append(f"{ours} ({cell.theirs()})" if cell.theirs() else ours)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def to_csv(table: Table) -> str:
    """CSV in full precision; a column ``... (paper)`` follows each that the paper prints too."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    header: list[str] = []
    for column in table.columns:
        title = f"{column.group} {column.title}".strip()
        header += [title, f"{title} (paper)"] if column.paired else [title]
    writer.writerow(header)
    for row in table.rows:
        record: list[object] = []
        for column, cell in zip(table.columns, row, strict=True):
            value = cell.value
            record.append("" if value is None or value != value else value)
            if column.paired:
                record.append("" if cell.paper is None else cell.paper)
        writer.writerow(record)
    return buffer.getvalue()


def to_latex(table: Table) -> str:
    """A ``table`` environment with the paper's rules; needs no package."""
    groups: list[tuple[str, int]] = []
    for column in table.columns:
        if groups and groups[-1][0] == column.group:
            groups[-1] = (column.group, groups[-1][1] + 1)
        else:
            groups.append((column.group, 1))
    layout = "|" + "||".join("c" * n for _, n in groups) + "|"
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\hline",
    ]
    if any(name for name, _ in groups):
        spans = [rf"\multicolumn{{{n}}}{{c|}}{{{_latex(name)}}}" for name, n in groups]
        lines.append(" & ".join(spans) + r" \\")
    lines.append(" & ".join(_latex(column.title) for column in table.columns) + r" \\")
    lines += [r"\hline", r"\hline"]
    for index, row in enumerate(table.rows):
        cells = []
        for cell in row:
            ours = _latex(cell.ours())
            ours = rf"\textbf{{{ours}}}" if cell.bold else ours
            cells.append(f"{ours} ({_latex(cell.theirs())})" if cell.theirs() else ours)
        lines.append(" & ".join(cells) + r" \\")
        if index in table.lines or index == len(table.rows) - 1:
            lines.append(r"\hline")
    notes = " ".join((f"{table.title}.", *table.notes))
    lines += [r"\end{tabular}", rf"\caption{{{_latex(notes)}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


_LATEX = {
    "\\": r"\textbackslash{}",
    "%": r"\%",
    "_": r"\_",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "Δ": r"$\Delta$",
    "–": "--",
    "°": r"$^\circ$",
    "≤": r"$\leq$",
    "**": "",
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text.replace("`", ""))
