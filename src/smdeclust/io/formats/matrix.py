"""``matrix``: n x n, dense (text, ``.npy``, ``.npz``) or sparse (``.npz`` of scipy), +1 ML, -1 CL.

One triangle or both may be filled. The diagonal says nothing and is passed over, but a cannot-link
of a row with itself is an error. One library uses the opposite sign: ``must_link_sign=-1``.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.arrays import NPY_MAGIC, ZIP_MAGIC, parse_npy, parse_npz
from smdeclust.io.collector import Reading
from smdeclust.io.constraints import Constraints
from smdeclust.io.files import bad_line, decode, lines_of, shown
from smdeclust.io.tokens import data_lines, parse_whole, split_words

_Ints = NDArray[np.int64]
_SPARSE_KEYS = {"format", "shape", "data"}


def read(content: bytes, reading: Reading) -> Constraints:
    """Read a matrix of any of the four forms."""
    if content.startswith(NPY_MAGIC):
        return _from_dense(parse_npy(content, reading.path), reading)
    if content.startswith(ZIP_MAGIC):
        arrays = parse_npz(content, reading.path)
        if set(arrays) >= _SPARSE_KEYS:
            return _from_sparse(arrays, reading)
        if len(arrays) != 1:
            raise bad_line(
                reading.path,
                None,
                f"the arrays {', '.join(sorted(arrays))}",
                "one dense array, or a sparse matrix as scipy.sparse.save_npz writes it",
            )
        return _from_dense(next(iter(arrays.values())), reading)
    return _from_text(content, reading)


def _from_text(content: bytes, reading: Reading) -> Constraints:
    path = reading.path
    lines = data_lines(lines_of(decode(content, path)))
    entries: list[tuple[int, int, int]] = []
    for row, (number, line) in enumerate(lines):
        words = split_words(line)
        if len(words) != len(lines):
            raise bad_line(
                path,
                number,
                f"{len(words)} entries",
                f"{len(lines)}, as many as there are lines (the matrix is n x n)",
            )
        for column, word in enumerate(words):
            value = parse_whole(word)
            if value is None or abs(value) > 1:
                raise bad_line(path, number, f"the entry {shown(word)}", "1, -1 or 0")
            if value:
                entries.append((row, column, value))
    numbers = np.array([number for number, _ in lines], dtype=np.int64)
    rows, columns, values = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    return _from_entries(rows, columns, values, len(lines), numbers, reading)


def _from_dense(matrix: NDArray[Any], reading: Reading) -> Constraints:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise bad_line(reading.path, None, f"an array of shape {matrix.shape}", "n x n")
    rows, columns = np.nonzero(_whole_entries(matrix, reading))
    values = np.asarray(matrix[rows, columns]).astype(np.int64)
    return _from_entries(rows, columns, values, len(matrix), None, reading)


def _from_sparse(arrays: dict[str, NDArray[Any]], reading: Reading) -> Constraints:
    """Take the entries out of scipy's arrays by hand: scipy trusts indices out of range."""
    path = reading.path
    kind = bytes(arrays["format"].tobytes()).replace(b"\0", b"").decode("ascii", "replace")
    shape = arrays["shape"]
    if shape.shape != (2,) or not np.issubdtype(shape.dtype, np.integer) or shape[0] != shape[1]:
        raise bad_line(path, None, f"a sparse matrix of shape {shown(shape.tolist())}", "n x n")
    size = int(shape[0])
    values = _whole_entries(arrays["data"], reading)
    try:
        if kind == "coo":
            rows, columns = (_indices(arrays[name], size, reading) for name in ("row", "col"))
        elif kind in ("csr", "csc"):
            inner = _indices(arrays["indices"], size, reading)
            outer = _expand(arrays["indptr"], size, len(inner), reading)
            rows, columns = (outer, inner) if kind == "csr" else (inner, outer)
        else:
            raise bad_line(path, None, f"the sparse format {shown(kind)}", "coo, csr or csc")
    except KeyError as error:
        raise bad_line(path, None, f"a {kind} matrix without {error}", "all its arrays") from error
    if not values.shape == rows.shape == columns.shape:
        raise bad_line(path, None, "indices and entries of different numbers", "equal numbers")
    kept = values != 0
    return _from_entries(rows[kept], columns[kept], values[kept], size, None, reading)


def _whole_entries(entries: NDArray[Any], reading: Reading) -> _Ints:
    # bool and unsigned arrays can hold must-links only, which is legal
    if entries.dtype.kind not in "biuf":
        raise bad_line(reading.path, None, f"entries of type {entries.dtype}", "1, -1 and 0")
    wrong = ~np.isin(entries, (-1, 0, 1))
    if np.any(wrong):
        raise bad_line(
            reading.path, None, f"the entry {shown(entries[wrong].flat[0])}", "1, -1 or 0"
        )
    return entries.astype(np.int64)


def _indices(indices: NDArray[Any], size: int, reading: Reading) -> _Ints:
    if indices.ndim != 1 or not np.issubdtype(indices.dtype, np.integer):
        raise bad_line(reading.path, None, f"indices of type {indices.dtype}", "whole numbers")
    if np.any((indices < 0) | (indices >= size)):
        raise bad_line(reading.path, None, "an index outside the matrix", f"0 to {size - 1}")
    return indices.astype(np.int64)


def _expand(indptr: NDArray[Any], size: int, n_entries: int, reading: Reading) -> _Ints:
    if indptr.ndim != 1 or len(indptr) != size + 1 or not np.issubdtype(indptr.dtype, np.integer):
        raise bad_line(reading.path, None, "an indptr of the wrong form", f"{size + 1} numbers")
    starts = indptr.astype(np.int64)
    counts = starts[1:] - starts[:-1]
    if indptr[0] != 0 or indptr[-1] != n_entries or np.any(counts < 0):
        raise bad_line(reading.path, None, "an indptr that does not fit", "growing row starts")
    return np.repeat(np.arange(size, dtype=np.int64), counts)


def _from_entries(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: _Ints,
    size: int,
    numbers: _Ints | None,
    reading: Reading,
) -> Constraints:
    path, n_points = reading.path, reading.rows.n_points
    if n_points is not None and size != n_points:
        raise bad_line(
            path,
            None,
            f"a matrix of {size} x {size}",
            f"{n_points} x {n_points}, one row a point of the data",
        )
    values = values * reading.must_link_sign
    own = (rows == columns) & (values < 0)
    if np.any(own):
        raise bad_line(path, None, f"row {rows[own][0]} cannot-linked to itself", "0 there")
    off = rows != columns
    low, high = np.minimum(rows, columns)[off], np.maximum(rows, columns)[off]
    # Both triangles may be filled: one pair each, and they must agree.
    entries = np.unique(np.stack([low, high, values[off]], axis=1), axis=0)
    repeated = np.all(entries[1:, :2] == entries[:-1, :2], axis=1)
    if np.any(repeated):
        i, j, _ = entries[1:][repeated][0]
        raise InvalidInputError(
            f"{path}: the entries ({i}, {j}) and ({j}, {i}) contradict each other, one is 1 and "
            "the other -1. Make the matrix symmetric."
        )
    lines = entries[:, 0] + 1 if numbers is None else numbers[entries[:, 0]]
    origin = np.stack([np.zeros_like(lines), lines, lines], axis=1)
    must, cannot = entries[:, 2] > 0, entries[:, 2] < 0
    none = np.empty((0, 3), dtype=np.int64)
    return Constraints(
        must_link=entries[must, :2],
        cannot_link=entries[cannot, :2],
        files=(os.fspath(path),),
        origins={
            "must_link": origin[must],
            "cannot_link": origin[cannot],
            "soft_must_link": none,
            "soft_cannot_link": none,
        },
    )
