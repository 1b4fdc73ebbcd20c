"""Parquet files larger than memory: copied once to a file that can be memory-mapped."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.extras import optional
from smdeclust.io.files import PathLike, bad_line, check_path, shown
from smdeclust.io.table import feature_columns
from smdeclust.io.wording import argument

# Numbers held at once while copying (32 MiB in float64).
MOST_NUMBERS = 2**22


def map_parquet(
    path: PathLike | Sequence[PathLike], store: PathLike, *, features: Sequence[str] | None = None
) -> np.ndarray:
    """Copy the columns of a Parquet file to an ``.npy`` file and return that, memory-mapped.

    Parquet is compressed column by column, so rows cannot be read where they lie. The copy is made
    once, piece by piece, and never held in memory; fit it like any other array.

    Parameters
    ----------
    path
        A Parquet file, a folder of them (all ``*.parquet`` in it, by name), or a list of files.
    store
        The ``.npy`` file to write. It appears when it is complete; through a link, which stays.
    features
        Columns to take, each once. By default all but a first column named id and a last one named
        class or label, as in :func:`read_table`.

    Returns
    -------
    numpy.ndarray
        (N, d) the points, read-only: float32 where all columns fit into it exactly (float32 and
        shorter, integers of up to 16 bits), otherwise float64. Integers of 64 bits beyond 2^53 are
        rounded to it.

    Raises
    ------
    InvalidInputError
        If a file cannot be read or written, a value is missing or not finite, a column holds no
        numbers, or `features` names one twice.
    """
    pq = _import_parquet()
    _reject_repeated(features)
    paths = _files(path)
    names, dtype = _columns(pq, paths, features)
    n_points = sum(_open(pq, each).metadata.num_rows for each in paths)
    if n_points == 0:
        raise bad_line(paths[0], None, "an empty table", "at least one point and feature")
    target = Path(store)
    if target.exists() and not target.is_file():
        # Not after hours of copying; and a device must not be replaced.
        raise InvalidInputError(f"{target}: cannot be written (not a file).")
    try:
        _write(target.resolve(), _pieces(pq, paths, names), (n_points, len(names)), dtype)
    except OSError as error:
        raise InvalidInputError(
            f"{target}: cannot be written ({error.strerror or error})."
        ) from error
    return np.asarray(np.load(target, mmap_mode="r"))


def _write(
    target: Path, pieces: Iterator[np.ndarray], shape: tuple[int, int], dtype: np.dtype[Any]
) -> None:
    """Write an ``.npy`` file whole or not at all; another process may be writing the same one."""
    aside = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.part")
    try:
        out = np.lib.format.open_memmap(aside, mode="w+", dtype=dtype, shape=shape)
        done = 0
        for piece in pieces:
            out[done : done + len(piece)] = piece
            done += len(piece)
        out.flush()
        del out
        aside.replace(target)
    except BaseException:
        # (Where there is no such folder there is nothing to remove, and the first error counts.)
        with suppress(OSError):
            aside.unlink()
        raise


def _import_parquet() -> Any:
    with optional("Reading Parquet"):
        import pyarrow.parquet as pq
    return pq


def _files(path: PathLike | Sequence[PathLike]) -> list[Path]:
    given = [path] if isinstance(path, str | Path) or hasattr(path, "__fspath__") else list(path)
    found: list[Path] = []
    for each in given:
        folder = Path(each)  # type: ignore[arg-type]
        if not folder.is_dir():
            found.append(check_path(folder))
            continue
        inside = sorted(folder.glob("*.parquet"))
        if not inside:
            raise InvalidInputError(f"{folder}: there is no *.parquet file in this folder.")
        found.extend(inside)
    if not found:
        raise InvalidInputError("No Parquet file was given: name at least one.")
    return found


def _open(pq: Any, path: Path) -> Any:
    try:
        return pq.ParquetFile(path)
    # Damaged files raise ArrowInvalid, OSError, ArrowNotImplementedError and others.
    except Exception as error:
        raise InvalidInputError(f"{path}: not a valid Parquet file ({shown(error)}).") from error


def _reject_repeated(features: Sequence[str] | None) -> None:
    repeated = [name for name, count in Counter(features or ()).items() if count > 1]
    if repeated:
        raise InvalidInputError(
            f"features names the column {shown(repeated[0])} more than once; name each column once."
        )


def _columns(
    pq: Any, paths: list[Path], features: Sequence[str] | None
) -> tuple[list[str], np.dtype[Any]]:
    """The names of the features, the same in all files, and the type that holds them."""
    import pyarrow as pa

    names: list[str] | None = None
    short = True
    for path in paths:
        schema = _open(pq, path).schema_arrow
        chosen = feature_columns(schema.names, path, features)
        if names is not None and chosen != names:
            raise bad_line(
                path, None, f"the columns {shown(', '.join(chosen))}",
                f"those of {paths[0]}, {shown(', '.join(names))}",
            )  # fmt: skip
        names = chosen
        for name in chosen:
            kind = schema.field(name).type
            whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
            if not whole and not pa.types.is_floating(kind):
                raise bad_line(
                    path, None, f"the column {shown(name)} of type {kind}", "numbers",
                    f"Choose the columns to use ({argument('features')}).",
                )  # fmt: skip
            short &= kind.bit_width <= (16 if whole else 32)
    assert names is not None
    return names, np.dtype(np.float32 if short else np.float64)


def _pieces(pq: Any, paths: list[Path], names: list[str]) -> Iterator[np.ndarray]:
    """The rows of the files, some at a time, every number present and finite."""
    rows = max(1, MOST_NUMBERS // len(names))
    for path in paths:
        first = 0
        for batch in _batches(pq, path, rows, names):
            columns = [batch.column(name) for name in names]
            for name, column in zip(names, columns, strict=True):
                if column.null_count:
                    raise bad_line(
                        path, None, f"missing values in column {shown(name)}, from row {first} on",
                        "a number in every row",
                    )  # fmt: skip
            piece = np.column_stack([column.to_numpy(zero_copy_only=False) for column in columns])
            _reject_non_finite(piece, path, first, names)
            yield piece
            first += len(piece)


def _batches(pq: Any, path: Path, rows: int, names: list[str]) -> Iterator[Any]:
    try:
        yield from _open(pq, path).iter_batches(batch_size=rows, columns=names)
    except (InvalidInputError, MemoryError):
        raise
    # As in `_open`: a file damaged beyond its first pages raises many kinds of errors.
    except Exception as error:
        raise InvalidInputError(f"{path}: cannot be read ({shown(error)}).") from error


def _reject_non_finite(piece: np.ndarray, path: Path, first: int, names: list[str]) -> None:
    if piece.dtype.kind != "f" or np.isfinite(piece).all():
        return
    row, column = np.argwhere(~np.isfinite(piece))[0].tolist()
    raise bad_line(
        path, None, f"{piece[row, column]} in column {shown(names[column])} (row {first + row})",
        "a finite number", "Fill in or remove the rows with missing values.",
    )  # fmt: skip
