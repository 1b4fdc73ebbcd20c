"""Data tables of every format, and the places of what is wrong in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from smdeclust.exceptions import InvalidInputError
from smdeclust.io import read_table

X = np.array([[0.1, -2.0], [3e5, 4.25], [1 / 3, 6.0]])
IDS = ("a", "b", "7")


def save(folder: Path, content: str | bytes, name: str = "data") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv(tmp_path: Path, separator: str) -> None:
    """A CSV gives points, names, ids and classes, whatever its separator."""
    frame = pd.DataFrame({"id": IDS, "u": X[:, 0], "v": X[:, 1], "class": [1, 0, 1]})
    path = tmp_path / "d.csv"
    frame.to_csv(path, index=False, sep=separator)
    table = read_table(path)
    assert np.array_equal(table.X, X)
    assert table.feature_names == ("u", "v")
    assert table.ids == IDS
    assert table.labels is not None
    assert table.labels.tolist() == [1, 0, 1]
    assert (table.id_name, table.label_name) == ("id", "class")


def test_csv_quotes_and_choices(tmp_path: Path) -> None:
    """Quoted cells read, columns are chosen by name, and False switches the usual names off."""
    path = save(tmp_path, '"who, when",id,"a",y\n"x, ""1""",5,1,2\ny,6,3,4\n')
    table = read_table(path, id_column="who, when", label=False)
    assert table.ids == ('x, "1"', "y")
    assert table.feature_names == ("id", "a", "y")
    table = read_table(path, features=["a"], label="who, when")
    assert table.X.tolist() == [[1], [3]]
    assert table.labels is not None
    assert table.labels.tolist() == ['x, "1"', "y"]


@pytest.mark.parametrize("name", ["PK", "PAR1"])
def test_columns_named_like_magic(tmp_path: Path, name: str) -> None:
    """A CSV whose first column is called as a binary format begins is still a CSV."""
    assert read_table(save(tmp_path, f"{name},b\n1,2\n")).feature_names == (name, "b")


def test_headed_text(tmp_path: Path) -> None:
    """``n d`` and ``n d k`` headed text reads; k becomes the number of clusters."""
    assert read_table(save(tmp_path, "2 2\n1 2\n3 4\n")).n_clusters is None
    table = read_table(save(tmp_path, "2 3 5\n1 2 -1e-3\n3 4 5\n"))
    assert table.n_clusters == 5
    assert table.X.tolist() == [[1, 2, -1e-3], [3, 4, 5]]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.bool_, ">f8"])
def test_npy(tmp_path: Path, order: str, dtype: object) -> None:
    """Numeric arrays of any type and order become C-ordered float64."""
    values = np.array(X, dtype=dtype, order=order)  # type: ignore[call-overload]
    np.save(tmp_path / "x.npy", values)
    table = read_table(tmp_path / "x.npy")
    assert np.array_equal(table.X, values)
    assert table.X.dtype == np.float64
    assert table.X.flags.c_contiguous


def test_npz(tmp_path: Path) -> None:
    """X, y and ids of an archive; another label array by name."""
    path = tmp_path / "x.npz"
    np.savez_compressed(
        path, X=X, y=np.array([2, 1, 2]), ids=np.array(IDS), other=np.array(["p"] * 3)
    )
    table = read_table(path)
    assert np.array_equal(table.X, X)
    assert table.labels is not None
    assert table.labels.tolist() == [2, 1, 2]
    assert table.ids == IDS
    named = read_table(path, label="other").labels
    assert named is not None
    assert named.tolist() == ["p"] * 3


def test_parquet(tmp_path: Path) -> None:
    """Parquet gives the same as CSV."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    frame = pd.DataFrame({"id": IDS, "u": X[:, 0], "n": [1, 2, 3], "label": ["p", "q", "p"]})
    frame.to_parquet(path)
    table = read_table(path)
    assert table.X.tolist() == [[X[0, 0], 1], [X[1, 0], 2], [X[2, 0], 3]]
    assert table.ids == IDS
    assert table.labels is not None
    assert table.labels.tolist() == ["p", "q", "p"]
    with pytest.raises(InvalidInputError, match="found 'a' in column 'id'"):
        read_table(path, id_column=False)
    frame.loc[1, "u"] = np.nan
    frame.to_parquet(path)
    with pytest.raises(InvalidInputError, match="column 'u'"):
        read_table(path)


WRONG = {
    "an empty file": "",
    "line 3: found 1 cells, expected 2": "a,b\n1,2\n3\n",
    "line 3: found a blank line": "a,b\n1,2\n\n3,4\n",
    "line 2: found 'x' in column 'b'": "a,b\n1,x\n",
    "line 2: found nothing in column 'b'": "a,b\n1,\n",
    "line 2: found nothing in column 'a'": "a,b\nnan,1\n",
    "line 2: found '1_0' in column 'a'": "a,b\n1_0,2\n",
    "line 2: found '١' in column 'a'": "a,b\n١,2\n",
    "line 2: found '1e999' in column 'b'": "a,b\n1,1e999\n",
    "two columns named 'a'": "a,a\n1,2\n",
    "no line below": "a,b\n",
    "no column of features": "id,class\n1,2\n",
    "line 3: found the id '1' again.*line 2": "id,a\n1,2\n1,3\n",
    "line 2: found an empty id": "id,a\n ,2\n",
    "not a CSV line": 'a,b\n"1,2\n',
    "line 4: found 3 cells, expected 2": "a,b\n1,2\n3,4\n5,6,7\n",
    "line 2: found 3 cells, expected 2": "a,b\n1,2,3\n3,4,5\n",
    "3 lines below it, expected 2 lines": "2 2\n1 2\n3 4\n5 6\n",
    "line 3: found 1 numbers, expected 2": "2 2\n1 2\n3\n",
    "line 2: found 'x', expected a finite": "1 2\n1 x\n",
    "line 2: found nan in": "1 2\n1 nan\n",
    "expected 999999999999999999 lines": "999999999999999999 999999999999999999\n1 2\n",
    "a NUL byte": "a,b\n1,\0\n",
}


@pytest.mark.parametrize("message", WRONG)
def test_mistakes_are_named(tmp_path: Path, message: str) -> None:
    """A malformed table gives InvalidInputError with the file and the line."""
    path = save(tmp_path, WRONG[message])
    with pytest.raises(InvalidInputError, match=message) as caught:
        read_table(path)
    assert str(path) in str(caught.value)


def test_binary_mistakes(tmp_path: Path) -> None:
    """Pickles, records, lying headers and arrays that are no tables are refused."""
    path = tmp_path / "x.npy"
    for array, message in (
        (np.array([[{}]], dtype=object), "Pickled data are never read"),
        (np.zeros(2, dtype=[("a", float)]), "objects or records"),
        (np.zeros(3), "shape \\(3,\\)"),
        (np.zeros((0, 3)), "at least one"),
        (np.zeros((2, 2), dtype=complex), "complex"),
        (np.array([["a"]]), "table of numbers"),
        (np.array([[1.0, np.inf]]), "found inf in column 'x1' \\(row 0\\)"),
    ):
        np.save(path, array, allow_pickle=True)
        with pytest.raises(InvalidInputError, match=message):
            read_table(path)
    np.save(path, np.zeros((2, 2)))
    lying = path.read_bytes().replace(b"(2, 2)", b"(2,99)")
    with pytest.raises(InvalidInputError, match="claims the shape"):
        read_table(save(tmp_path, lying))
    with pytest.raises(InvalidInputError, match="31 bytes follow"):
        read_table(save(tmp_path, path.read_bytes()[:-1]))
    np.savez(tmp_path / "x.npz", a=X, b=X)
    with pytest.raises(InvalidInputError, match="expected one named X"):
        read_table(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", X=np.array([[{}]], dtype=object))
    with pytest.raises(InvalidInputError, match="Pickled"):
        read_table(tmp_path / "x.npz")


def test_silly_size_is_no_allocation(tmp_path: Path) -> None:
    """A header that claims terabytes is compared with the file, not allocated."""
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (999999999, 99999), }"
    header += b" " * (118 - len(header)) + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 64
    with pytest.raises(InvalidInputError, match="64 bytes"):
        read_table(save(tmp_path, content))


def test_options(tmp_path: Path) -> None:
    """Unknown formats, columns and misplaced options are errors; header=False names columns."""
    path = save(tmp_path, "1,2\n3,4\n")
    assert read_table(path, header=False, label="x1").X.tolist() == [[1], [3]]
    text = save(tmp_path, "1 1\n5\n", "t")
    for wrong, options in (
        (path, {"format": "xls"}),
        (path, {"label": "nope", "header": False}),
        (text, {"label": "y"}),
        (text, {"features": ["x0"]}),
        (tmp_path, {}),
        (tmp_path / "none", {}),
    ):
        with pytest.raises(InvalidInputError):
            read_table(wrong, **options)  # type: ignore[arg-type]
