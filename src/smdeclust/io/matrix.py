"""``matrix``: n x n, dense (text, ``.npy``, ``.npz``) or sparse (``.npz`` of scipy), +1 ML, -1 CL.

One triangle or both may be filled. The diagonal says nothing and is passed over, but a cannot-link
of a row with itself is an error. One library uses the opposite sign: ``must_link_sign=-1``.
"""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np
from scipy import sparse

from smdeclust.constraints import Constraints
from smdeclust.exceptions import InvalidInputError
from smdeclust.io.arrays import parse_npy, parse_npz
from smdeclust.io.files import NPY_MAGIC, ZIP_MAGIC, PathLike, bad_line, shown
from smdeclust.io.pair_forms import Reading
from smdeclust.io.tokens import data_lines, parse_whole, split_words


def read_matrix(content: bytes, reading: Reading) -> Constraints:
    """Read a matrix of any of the four forms."""
    path = reading.path
    if not content.startswith((NPY_MAGIC, *ZIP_MAGIC)):
        return _from_text(content, reading)
    arrays = parse_npz(content, path) if content.startswith(ZIP_MAGIC) else {}
    if set(arrays) >= {"format", "shape", "data"}:
        return _from_entries(_from_sparse(content, path), None, reading)
    if len(arrays) > 1:
        found = f"the arrays {', '.join(sorted(arrays))}"
        expected = "one dense array, or a sparse matrix as scipy.sparse.save_npz writes it"
        raise bad_line(path, None, found, expected)
    matrix = next(iter(arrays.values())) if arrays else parse_npy(content, path)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise bad_line(path, None, f"an array of shape {matrix.shape}", "n x n")
    return _from_entries(sparse.coo_array(_whole(matrix, path)), None, reading)


def _from_text(content: bytes, reading: Reading) -> Constraints:
    path = reading.path
    lines = data_lines(content, path)
    entries: list[tuple[int, int, int]] = []
    for row, (number, line) in enumerate(lines):
        words = split_words(line)
        if len(words) != len(lines):
            expected = f"{len(lines)}, as many as there are lines (the matrix is n x n)"
            raise bad_line(path, number, f"{len(words)} entries", expected)
        for column, word in enumerate(words):
            value = parse_whole(word)
            if value is None or abs(value) > 1:
                raise bad_line(path, number, f"the entry {shown(word)}", "1, -1 or 0")
            if value:
                entries.append((value, row, column))
    values, rows, columns = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    numbers = np.array([number for number, _ in lines], dtype=np.int64)
    size = (len(lines), len(lines))
    return _from_entries(sparse.coo_array((values, (rows, columns)), shape=size), numbers, reading)


def _from_sparse(content: bytes, path: PathLike) -> Any:
    """The matrix that scipy wrote; its arrays are checked already, here its indices are."""
    try:
        matrix: Any = sparse.load_npz(io.BytesIO(content))
        if matrix.format in ("csr", "csc"):
            matrix.check_format(full_check=True)
        matrix = matrix.tocoo()
    except (ValueError, TypeError, IndexError, KeyError, NotImplementedError) as error:
        found = f"indices outside the matrix, or arrays that do not fit ({error})"
        raise bad_line(path, None, found, "those that scipy.sparse.save_npz writes") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise bad_line(path, None, f"a sparse matrix of shape {matrix.shape}", "n x n")
    matrix.data = _whole(matrix.data, path)
    return matrix


def _whole(entries: np.ndarray, path: PathLike) -> np.ndarray:
    # bool and unsigned arrays can hold must-links only, which is legal
    if entries.dtype.kind not in "biuf":
        raise bad_line(path, None, f"entries of type {entries.dtype}", "1, -1 and 0")
    wrong = ~np.isin(entries, (-1, 0, 1))
    if np.any(wrong):
        raise bad_line(path, None, f"the entry {shown(entries[wrong].flat[0])}", "1, -1 or 0")
    return entries.astype(np.int64)


def _from_entries(matrix: Any, numbers: np.ndarray | None, reading: Reading) -> Constraints:
    """Pairs from a sparse matrix; `numbers` are the lines of its rows in a text file."""
    path, n_points, size = reading.path, reading.rows.n_points, matrix.shape[0]
    if n_points is not None and size != n_points:
        expected = f"{n_points} x {n_points}, one row per point of the data"
        raise bad_line(path, None, f"a matrix of {size} x {size}", expected)
    rows, columns, values = matrix.row, matrix.col, matrix.data * reading.must_link_sign
    own = (rows == columns) & (values < 0)
    if np.any(own):
        raise bad_line(path, None, f"row {rows[own][0]} cannot-linked to itself", "0 there")
    off = (rows != columns) & (values != 0)
    low, high = np.minimum(rows, columns)[off], np.maximum(rows, columns)[off]
    # Both triangles may be filled: one pair each, and they must agree.
    entries = np.unique(np.stack([low, high, values[off]], axis=1).astype(np.int64), axis=0)
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
    origins = {"must_link": origin[must], "cannot_link": origin[cannot]}
    files = (os.fspath(path),)
    return Constraints(entries[must, :2], entries[cannot, :2], files=files, origins=origins)
