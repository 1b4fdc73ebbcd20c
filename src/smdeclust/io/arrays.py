"""Arrays from ``.npy`` and ``.npz`` content, never with pickles, never larger than the file.

numpy's own loader allocates what a header claims before it looks at the content; here the claim is
checked first, so that a damaged or hostile file is an error and not an allocation.
"""

import io
import math
import warnings
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError
from smdeclust.io import files

# Deflate cannot compress better than about 1 : 1032.
_MAX_RATIO = 1100
_read_header_2_0 = np.lib.format.read_array_header_2_0


def parse_npy(content: bytes, path: files.PathLike, name: str = "") -> NDArray[Any]:
    """Return the array of ``.npy`` content."""
    place = f"{path}: the array {name!r}" if name else f"{path}"
    stream = io.BytesIO(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a header written by Python 2 is still a header
            major, _ = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0 if major == 1 else _read_header_2_0
            shape, fortran, dtype = read(stream)
    # The header is a Python literal: besides ValueError, broken ones raise almost anything.
    except Exception as error:
        raise InvalidInputError(
            f"{place} is not a valid .npy array ({error}). Save it again with numpy.save."
        ) from error
    if dtype.hasobject or dtype.names is not None or dtype.subdtype is not None:
        raise InvalidInputError(
            f"{place} holds Python objects or records ({dtype}), expected plain numbers or text. "
            "Pickled data are never read: save a numeric array."
        )
    start = stream.tell()
    n_items = math.prod(shape)
    if any(size < 0 for size in shape) or n_items * dtype.itemsize != len(content) - start:
        raise InvalidInputError(
            f"{place} claims the shape {shape} of {dtype}, but {len(content) - start} bytes "
            "follow. The file is damaged: save it again."
        )
    if dtype.itemsize == 0:
        raise InvalidInputError(f"{place} holds items of no size ({dtype}), expected numbers.")
    try:
        flat = np.frombuffer(content, dtype=dtype, offset=start)
        return flat.reshape(shape, order="F" if fortran else "C")
    except (ValueError, TypeError, MemoryError) as error:
        raise InvalidInputError(f"{place} cannot be read as an array ({error}).") from error


def parse_npz(
    content: bytes, path: files.PathLike, max_bytes: float = math.inf
) -> dict[str, NDArray[Any]]:
    """Return all arrays of ``.npz`` content by name; more than `max_bytes` are refused."""
    arrays: dict[str, NDArray[Any]] = {}
    damaged, advice = "not a valid .npz archive", " Save it again with numpy.savez."
    with files.readable(path, damaged, advice), zipfile.ZipFile(io.BytesIO(content)) as archive:
        total = sum(member.file_size for member in archive.infolist())
        if total > max_bytes:
            raise InvalidInputError(
                f"{path}: it would unpack to {total / 2**20:,.0f} MiB, more than the "
                f"{max_bytes / 2**20:,.0f} allowed (max_bytes)."
            )
        for member in archive.infolist():
            if member.is_dir() or not member.filename.endswith(".npy"):
                raise InvalidInputError(
                    f"{path}: found {member.filename!r} inside, expected only arrays (.npy) as "
                    "numpy.savez writes them."
                )
            if member.file_size > _MAX_RATIO * (member.compress_size + 1000):
                raise InvalidInputError(
                    f"{path}: {member.filename!r} claims {member.file_size} bytes, which its "
                    f"{member.compress_size} stored bytes cannot hold. The file is damaged."
                )
            name = member.filename[: -len(".npy")]
            arrays[name] = parse_npy(archive.read(member), path, name)
    if not arrays:
        raise InvalidInputError(f"{path}: the archive holds no array. Save one with numpy.savez.")
    return arrays


# ---- points that are numbers only: .npy, .npz, and text headed n d or n d k; without pandas

# Finite points, what stands beside them by name (one entry per point), and K where it is written.
Arrays = tuple[NDArray[np.float64], dict[str, list[str]], int | None]


def read_arrays(content: bytes, path: files.PathLike, format: str) -> Arrays:
    """Read ``npy``, ``npz`` (the array X or the only table) or ``text``."""
    if format == "text":
        return _read_text(content, path)
    if format == "npy":
        return check_points(parse_npy(content, path), path), {}, None
    arrays = parse_npz(content, path)
    tables = [name for name, array in arrays.items() if array.ndim == 2]
    name = "X" if "X" in arrays else tables[0] if len(tables) == 1 else None
    if name is None:
        raise files.bad_line(path, None, f"the arrays {', '.join(sorted(arrays))}", "one named X")
    points = check_points(arrays.pop(name), path)
    columns = {
        other: _texts(values, path, other)
        for other, values in arrays.items()
        if values.shape == (len(points),) and values.dtype.kind in "biufU"
    }
    return points, columns, None


def _texts(values: NDArray[Any], path: files.PathLike, name: str) -> list[str]:
    try:
        return [str(value).strip() for value in values.tolist()]
    except (ValueError, UnicodeError) as error:  # text arrays may hold no valid characters
        raise InvalidInputError(f"{path}: {name} is not valid text ({error}).") from error


def _read_text(content: bytes, path: files.PathLike) -> Arrays:
    """Read n points of d numbers; the header must agree with what follows."""
    text = files.decode(content, path).rstrip("\n ")
    lines = files.lines_of(text)
    header = files.n_d_k(lines[0]) if lines else None
    if header is None:
        first = files.shown(lines[0] if lines else "")
        raise files.bad_line(path, 1, first, "a first line 'n d' or 'n d k'", "Add it.")
    n_points, n_features = header[:2]
    if len(lines) - 1 != n_points:
        found = f"the header {files.shown(lines[0])} and {len(lines) - 1} lines below it"
        raise files.bad_line(path, 1, found, f"{n_points} lines, one per point")
    # float() also reads 1_000 and other digits than 0-9
    exact = text.isascii() and "_" not in text
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        words = line.replace(",", " ").split()
        if len(words) != n_features:
            expected = f"{n_features}, as the header says"
            raise files.bad_line(path, number, f"{len(words)} numbers", expected)
        try:
            row = [float(word) if exact else files.parse_number(word) for word in words]
        except ValueError:
            row = [files.parse_number(word) for word in words]
        if None in row:
            raise files.bad_line(
                path, number, files.shown(words[row.index(None)]), "a finite number"
            )
        rows.append(row)
    points = np.array(rows, dtype=np.float64).reshape(n_points, n_features)
    checked = check_points(points, path, range(2, n_points + 2))
    return checked, {}, header[2] if len(header) == 3 else None


def check_points(
    points: NDArray[Any], path: files.PathLike, lines: Sequence[int] | None = None
) -> NDArray[np.float64]:
    """Return points as finite float64, or say where they are not."""
    if points.ndim != 2 or points.dtype.kind not in "biuf":
        found = f"an array of shape {points.shape} and type {points.dtype}"
        raise files.bad_line(path, None, found, "a table of numbers, one row per point (n x d)")
    if 0 in points.shape:
        raise files.bad_line(
            path, None, f"a table of {points.shape}", "at least one point and feature"
        )
    try:
        with np.errstate(over="ignore"):
            X = np.ascontiguousarray(points, dtype=np.float64)
    except MemoryError as error:
        raise InvalidInputError(f"{path}: the points do not fit into memory.") from error
    bad = np.argwhere(~np.isfinite(X))
    if len(bad):
        row, column = bad[0].tolist()
        line = None if lines is None else lines[row]
        found = f"{X[row, column]} in column 'x{column}' (row {row})"
        count = f"{len(bad):,} of {X.size:,} values are not finite"
        todo = f"{count}: fill them in, or remove their rows."
        raise files.bad_line(path, line, found, "a finite number", todo)
    return X
