"""The output folder: all files of a result appear together, or none does."""

import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from smdeclust.cli.errors import CommandError
from smdeclust.io.write import aside, write_new


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
