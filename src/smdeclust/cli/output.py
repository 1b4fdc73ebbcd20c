"""Output: results on standard output and in files, everything else on standard error.

All files of a result appear together, or none does.
"""

import math
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from smdeclust.cli.errors import CommandError
from smdeclust.io.files import printable
from smdeclust.io.write import as_json, aside, write_new

# The console of a progress line that is being shown: messages appear above the line.
_live: list[Console] = []


def _console(*, stderr: bool) -> Console:
    if stderr and _live:
        return _live[-1]
    # No markup, no emoji, no highlighting: names of files and columns are shown as they are.
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def _text(words: str, style: str = "") -> Text:
    """Words as a console shows them; few have anything to escape."""
    return Text(words if words.isprintable() else printable(words), style)


def say(message: str, *, style: str = "") -> None:
    """Write a sentence for people to standard error; lines break between words on a terminal."""
    console = _console(stderr=True)
    console.print(_text(message, style), soft_wrap=not console.is_terminal)


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
        title=_text(title) if title else None,
        title_justify="left",
        title_style="bold",
        caption=_text(caption) if caption else None,
        caption_justify="left",
        show_header=header is not None,
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    width = max((len(row) for row in rows), default=len(header or ()))
    for column in range(width):
        table.add_column(
            _text(header[column]) if header else "",
            justify="right" if column in right else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(_text, row))
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
    """What to say before the first run: it compiles, unless kernels came with us or are kept."""
    from numba.misc.appdirs import AppDirs

    from smdeclust.prebuilt import ready_folder

    # Where numba keeps what it has compiled: as asked, beside the sources, or for this user.
    given = os.environ.get("NUMBA_CACHE_DIR")
    own = AppDirs(appname="numba", appauthor=False).user_cache_dir
    folders = [given] if given else [Path(__file__).parents[1], own]
    kept = (file for folder in folders for file in Path(folder).rglob("*.nbi"))
    compiled = ready_folder() or any(kept)
    return "starting" if compiled else "compiling, once (about ten seconds)"


# ---- files


def check_folder(folder: Path | None, names: Iterable[str], *, force: bool) -> None:
    """Say before the work begins if the results could not be written in the end."""
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"{folder}: this is a file, expected a folder. Choose another --out.")
    taken = [name for name in names if (folder / name).exists()]
    if taken and not force:
        raise CommandError(
            f"{folder}: the folder already has {', '.join(taken)}. Choose another --out, or pass "
            "--force to replace them."
        )
    present = next(place for place in (folder, *folder.parents) if place.exists())
    if not present.is_dir():
        raise CommandError(f"{folder}: {present} is a file, so no folder can be made in it.")
    if not os.access(present, os.W_OK | os.X_OK):
        raise CommandError(f"{folder}: no permission to write to {present}. Choose another --out.")


def check_file(path: Path | None, *, force: bool) -> None:
    """The same for a single output file."""
    if path is None:
        return
    if path.is_dir():
        raise CommandError(f"{path}: this is a folder, expected the name of a file to write.")
    if path.is_file() and not force:
        raise CommandError(f"{path}: the file exists. Choose another, or replace it with --force.")
    if not path.parent.is_dir():
        raise CommandError(f"{path}: there is no folder {path.parent}. Create it first.")


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write all files aside, then rename them into place; on any failure leave nothing new."""
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with ExitStack() as all_of_them:
            for name, content in files.items():
                write_new(all_of_them.enter_context(aside(folder / name)), content)
    except BaseException as error:
        for new in made:
            try:
                new.rmdir()
            except OSError:  # not empty: something else uses it
                break
        if isinstance(error, OSError) and error.filename is None:
            raise OSError(error.errno, error.strerror, str(folder)) from error
        raise
