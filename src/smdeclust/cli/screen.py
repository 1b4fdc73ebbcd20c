"""Output: results on standard output, everything else on standard error."""

import math
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from smdeclust.io.files import printable
from smdeclust.io.write import as_json

# The console of a progress line that is being shown: messages appear above the line.
_live: list[Console] = []


def _console(*, stderr: bool) -> Console:
    if stderr and _live:
        return _live[-1]
    # No markup, no emoji, no highlighting: names of files and columns are shown as they are.
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def say(message: str, *, style: str | None = None) -> None:
    """Write a sentence for people to standard error; lines break between words on a terminal."""
    console = _console(stderr=True)
    text = Text(printable(message), style=style or "")
    console.print(text, soft_wrap=not console.is_terminal)


def note(message: str) -> None:
    """Write something that the user should know, and that stops nothing, to standard error."""
    say(f"Note: {message}", style="yellow")


def print_result(text: str) -> None:
    """Write a result to standard output as it is, at once, also where that is a pipe."""
    print(text, end="" if text.endswith("\n") else "\n", flush=True)


def print_words(text: str) -> None:
    """Write sentences to standard output, broken between words where that is a terminal."""
    if sys.stdout.isatty():
        text = "\n".join(textwrap.fill(line, width()) for line in text.split("\n"))
    print_result(text)


def width() -> int:
    """Characters that a line of standard output holds."""
    return _console(stderr=False).width


def print_json(document: Any) -> None:
    """Write a result for machines to standard output."""
    print_result(as_json(document))


def print_table(
    rows: Sequence[Sequence[str]],
    *,
    header: Sequence[str] | None = None,
    title: str | None = None,
    right: Sequence[int] = (),
    caption: str | None = None,
    stderr: bool = False,
) -> None:
    """Write a table to standard output; columns numbered in `right` are set flush right."""
    table = Table(
        title=printable(title) if title else None,
        title_justify="left",
        title_style="bold",
        caption=printable(caption) if caption else None,
        caption_justify="left",
        show_header=header is not None,
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    width = max((len(row) for row in rows), default=len(header or ()))
    for column in range(width):
        table.add_column(
            Text(printable(header[column])) if header else "",
            justify="right" if column in right else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    _console(stderr=stderr).print(table)


def number(value: float | None, digits: int = 6) -> str:
    """A number for people: six digits that matter, a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "-"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.{digits}g}"


def seconds(value: float) -> str:
    """A duration for people."""
    if value < 1:
        return f"{1000 * value:.0f} ms"
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.1f} min"


def plural(count: int, noun: str) -> str:
    """``1 pair``, ``2 pairs``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def links(must: int, cannot: int) -> str:
    """``1 must-link, 0 cannot-links``."""
    return f"{plural(must, 'must-link')}, {plural(cannot, 'cannot-link')}"


@contextmanager
def progress(title: str, total: float | None = None) -> Iterator[Callable[..., None]]:
    """Show progress where standard error is a terminal; yields ``update(text, completed=None)``."""
    if not sys.stderr.isatty():
        yield lambda *_, **__: None
        return
    columns: list[Any] = [SpinnerColumn(), TextColumn("{task.description}", markup=False)]
    if total is not None:
        columns.append(BarColumn(bar_width=20))
    columns += [TextColumn("{task.fields[text]}", markup=False), TimeElapsedColumn()]
    console = _console(stderr=True)
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(title, total=total, text="")

        def update(text: str, completed: float | None = None) -> None:
            shown.update(task, text=text, completed=completed)

        _live.append(console)
        try:
            yield update
        finally:
            _live.remove(console)


def solver_progress(update: Callable[..., None], stop: Callable[[], bool]) -> Callable[[Any], bool]:
    """A callback for ``SMDEClust`` that shows the state of its run, and asks whether to stop it."""
    best = math.inf  # of all populations: the state has that of the present one

    def show(state: Any) -> bool:
        nonlocal best
        if state.best is not None:
            best = min(best, state.best.objective)
        shown = f"best {number(best, 8)}, " if best < math.inf else ""
        where = f"population {state.island + 1}, generation {state.generation}: "
        update(f"{where}{shown}{state.n_local_searches} local searches")
        return stop()

    return show


def starting() -> str:
    """What to say before the first run: it compiles, unless an earlier one has."""
    from numba.misc.appdirs import AppDirs

    # Where numba keeps what it has compiled: as asked, beside the sources, or for this user.
    given = os.environ.get("NUMBA_CACHE_DIR")
    own = AppDirs(appname="numba", appauthor=False).user_cache_dir
    folders = [given] if given else [Path(__file__).parents[1], own]
    compiled = any(True for folder in folders for _ in Path(folder).rglob("*.nbi"))
    return "starting" if compiled else "compiling, once (about ten seconds)"
