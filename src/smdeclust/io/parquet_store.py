"""Parquet files larger than memory: copied once to a file that can be memory-mapped."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.extras import optional
from smdeclust.io.files import PathLike, argument, as_paths, bad_line, check_path, readable, shown
from smdeclust.io.table import feature_columns
from smdeclust.io.write import aside

# Numbers held at once while copying (32 MiB in float64).
MOST_NUMBERS = 2**22


def map_parquet(
    path: PathLike | Sequence[PathLike], store: PathLike, *, features: Sequence[str] | None = None
) -> np.ndarray:
    """Copy a Parquet file to an ``.npy`` file, and return it as a memory-mapped array.

    The copy is made block by block, so the data never have to fit in memory.

    Parameters
    ----------
    path
        A Parquet file, a folder whose ``*.parquet`` files are read by name, or a list of files.
    store
        The ``.npy`` file to write.
    features
        The columns to copy. By default, all except a first column called id and a last one called
        class or label.

    Returns
    -------
    numpy.ndarray
        The (N, d) points, read-only. They are float32 if all columns fit into it exactly, and
        float64 otherwise. Integers beyond 2^53 are rounded.
    """
    with optional("Reading Parquet"):
        import pyarrow.parquet as pq
    repeated = [name for name, count in Counter(features or ()).items() if count > 1]
    if repeated:
        raise InvalidInputError(
            f"features names the column {shown(repeated[0])} more than once; name each column once."
        )
    files = {}
    for each in _files(path):
        with readable(each, "not a valid Parquet file"):
            files[each] = pq.ParquetFile(each)
    names, dtype = _columns(files, features)
    n_points = sum(file.metadata.num_rows for file in files.values())
    if n_points == 0:
        raise bad_line(next(iter(files)), None, "an empty table", "at least one point and feature")
    target = Path(store)
    if target.exists() and not target.is_file():
        # Not after hours of copying; and a device must not be replaced.
        raise InvalidInputError(f"{target}: cannot be written (not a file).")
    try:
        with aside(target) as part:  # another process may be writing the same file
            shape = (n_points, len(names))
            out = np.lib.format.open_memmap(part, mode="w+", dtype=dtype, shape=shape)
            done = 0
            for each, file in files.items():
                for piece in _pieces(each, file, names):
                    out[done : done + len(piece)] = piece
                    done += len(piece)
            out.flush()
            del out
    except OSError as error:
        raise InvalidInputError(
            f"{target}: cannot be written ({error.strerror or error})."
        ) from error
    return np.asarray(np.load(target, mmap_mode="r"))


def _files(path: PathLike | Sequence[PathLike]) -> list[Path]:
    found: list[Path] = []
    for each in map(Path, as_paths(path)):
        inside = sorted(each.glob("*.parquet")) if each.is_dir() else [check_path(each)]
        if not inside:
            raise InvalidInputError(f"{each}: there is no *.parquet file in this folder.")
        found += inside
    return found


def _columns(
    files: dict[Path, Any], features: Sequence[str] | None
) -> tuple[list[str], np.dtype[Any]]:
    """The names of the features, the same in all files, and the type that holds them."""
    import pyarrow as pa

    names: list[str] = []
    short = True
    for path, file in files.items():
        schema = file.schema_arrow
        chosen = feature_columns(schema.names, path, features)
        if names and chosen != names:
            expected = f"those of {next(iter(files))}, {shown(', '.join(names))}"
            raise bad_line(path, None, f"the columns {shown(', '.join(chosen))}", expected)
        names = chosen
        for name in chosen:
            kind = schema.field(name).type
            whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
            if not whole and not pa.types.is_floating(kind):
                found = f"the column {shown(name)} of type {kind}"
                advice = f"Choose the columns to use ({argument('features')})."
                raise bad_line(path, None, found, "numbers", advice)
            short &= kind.bit_width <= (16 if whole else 32)
    return names, np.dtype(np.float32 if short else np.float64)


def _pieces(path: Path, file: Any, names: list[str]) -> Iterator[np.ndarray]:
    """The rows of a file, some at a time, every number present and finite."""
    first, rows = 0, max(1, MOST_NUMBERS // len(names))
    with readable(path, "cannot be read"):  # damaged beyond its first pages
        for batch in file.iter_batches(batch_size=rows, columns=names):
            columns = [batch.column(name) for name in names]
            for name, column in zip(names, columns, strict=True):
                if column.null_count:
                    found = f"missing values in column {shown(name)}, from row {first} on"
                    raise bad_line(path, None, found, "a number in every row")
            piece = np.column_stack([column.to_numpy(zero_copy_only=False) for column in columns])
            if piece.dtype.kind == "f" and not np.isfinite(piece).all():
                row, at = np.argwhere(~np.isfinite(piece))[0].tolist()
                found = f"{piece[row, at]} in column {shown(names[at])} (row {first + row})"
                advice = "Fill in or remove the rows with missing values."
                raise bad_line(path, None, found, "a finite number", advice)
            yield piece
            first += len(piece)
