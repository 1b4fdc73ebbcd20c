"""A table whose cells hold our figure and the paper's; as Markdown, CSV and LaTeX."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

MISSING = "–"


@dataclass(frozen=True)
class Cell:
    """One figure: ours (a number, text, or None), what the paper prints there, and its looks.

    The paper's is NaN where it prints this column but not for this row, and None where it has no
    such column. Bold is for winners, as in the paper.
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
        theirs = _text(self.paper, self.digits)
        return "" if theirs == MISSING else theirs


@dataclass(frozen=True)
class Table:
    """Rows of cells by the title of their column; ``"Time: %S"`` is the column %S of Time."""

    name: str  # of its files, without an end
    title: str
    rows: tuple[dict[str, Cell], ...]  # the same columns in each
    lines: frozenset[int] = frozenset()  # rows below which there is a line
    note: str = ""


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
    """GitHub-flavored Markdown; the paper's figure stands in parentheses after ours."""
    titles, first = list(table.rows[0]), table.rows[0].values()
    left = [i == 0 or (isinstance(cell.value, str) and cell.value[:1].isalpha())
            for i, cell in enumerate(first)]  # fmt: skip
    lines = [
        "| " + " | ".join(titles) + " |",
        "|" + "|".join(":--" if text else "--:" for text in left) + "|",
    ]
    lines += ["| " + " | ".join(_both(cell, "**", "**") for cell in row.values()) + " |"
              for row in table.rows]  # fmt: skip
    return "\n".join(lines) + "\n"


def to_csv(table: Table) -> str:
    """CSV in full precision; a column ``... (paper)`` follows each that the paper prints too."""
    import pandas as pd

    records: list[dict[str, float | str | None]] = []
    for row in table.rows:
        records.append({})
        for title, cell in row.items():
            flat = title.replace(": ", " ")
            records[-1][flat] = cell.value
            if cell.paper is not None:
                records[-1][f"{flat} (paper)"] = cell.paper
    return pd.DataFrame(records, dtype=object).to_csv(index=False, lineterminator="\n")


def to_latex(table: Table) -> str:
    """A ``table`` environment with the paper's rules; needs no package."""
    heads = [title.rpartition(": ") for title in table.rows[0]]
    groups = [(name, len(list(found))) for name, found in groupby(heads, key=lambda head: head[0])]
    layout = "|" + "||".join("c" * n for _, n in groups) + "|"
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{layout}}}", r"\hline"]
    if any(name for name, _ in groups):
        spans = [rf"\multicolumn{{{n}}}{{c|}}{{{_latex(name)}}}" for name, n in groups]
        lines.append(" & ".join(spans) + r" \\")
    lines.append(" & ".join(_latex(title) for _, _, title in heads) + r" \\")
    lines += [r"\hline", r"\hline"]
    for index, row in enumerate(table.rows):
        cells = (_both(cell, r"\textbf{", "}", _latex) for cell in row.values())
        lines.append(" & ".join(cells) + r" \\")
        if index in table.lines or index == len(table.rows) - 1:
            lines.append(r"\hline")
    caption = f"{table.title}. {table.note}".rstrip()
    lines += [r"\end{tabular}", rf"\caption{{{_latex(caption)}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _both(cell: Cell, before: str, after: str, escape: Callable[[str], str] = str) -> str:
    """Our figure, between `before` and `after` where it is bold, and the paper's."""
    ours = escape(cell.ours())
    ours = f"{before}{ours}{after}" if cell.bold else ours
    return f"{ours} ({escape(cell.theirs())})" if cell.theirs() else ours


_LATEX = {
    "\\": r"\textbackslash{}",
    **{mark: rf"\{mark}" for mark in "%_&#${}"},
    "Δ": r"$\Delta$",
    "–": "--",
    "°": r"$^\circ$",
    "≤": r"$\leq$",
    "`": "",
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
