"""Parquet larger than memory: copied in pieces, then fitted where it lies."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from smdeclust import SMDEClust
from smdeclust.exceptions import InvalidInputError
from smdeclust.io import map_parquet, parquet_store
from smdeclust.problem import Problem

pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")


def written(path, X, names=None, **columns):
    names = names or [f"x{j}" for j in range(X.shape[1])]
    table = {**dict(zip(names, X.T, strict=True)), **columns}
    pq.write_table(pa.table(table), path, row_group_size=100)
    return path


def test_columns_come_back_as_they_were(tmp_path, monkeypatch):
    """float32 stays float32, piece by piece; id and class are left out; memory-mapped, read-only,
    and not copied by a problem."""
    monkeypatch.setattr(parquet_store, "MOST_NUMBERS", 128)
    X = np.random.default_rng(0).normal(size=(450, 3)).astype(np.float32)
    names = ["a", "b", "c"]
    path = tmp_path / "X.parquet"
    table = {"id": np.arange(450), **dict(zip(names, X.T, strict=True)), "class": np.zeros(450)}
    pq.write_table(pa.table(table), path, row_group_size=100)
    mapped = map_parquet(path, tmp_path / "X.npy")
    assert mapped.dtype == np.float32
    np.testing.assert_array_equal(mapped, X)
    assert not mapped.flags.writeable
    assert np.shares_memory(Problem.build(mapped, 3).X, mapped)
    chosen = map_parquet(path, tmp_path / "chosen.npy", features=["c", "a"])
    np.testing.assert_array_equal(chosen, X[:, [2, 0]])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["X.npy", "X.parquet", "chosen.npy"]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((np.float32, np.int16, np.bool_), np.float32),
        ((np.float32, np.int32), np.float64),
        ((np.float32, np.float64), np.float64),
    ],
)
def test_types_lose_nothing(tmp_path, kinds, expected):
    """The type of the array holds every column exactly."""
    rng = np.random.default_rng(0)
    columns = {f"x{j}": rng.integers(0, 2, 20).astype(kind) for j, kind in enumerate(kinds)}
    pq.write_table(pa.table(columns), tmp_path / "X.parquet")
    mapped = map_parquet(tmp_path / "X.parquet", tmp_path / "X.npy")
    assert mapped.dtype == expected
    np.testing.assert_array_equal(mapped, np.column_stack(list(columns.values())))


def test_many_files_and_the_same_fit(tmp_path):
    """A folder is one table, by name; fitting it is fitting the array."""
    X = np.random.default_rng(0).normal(size=(600, 4)).astype(np.float32)
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        written(folder / f"part-{part}.parquet", X[200 * part : 200 * part + 200])
    mapped = map_parquet(folder, tmp_path / "X.npy")
    np.testing.assert_array_equal(mapped, X)
    setting = {"n_clusters": 3, "population_size": 4, "max_generations": 1, "random_state": 0}
    one = SMDEClust.from_paper(**setting).fit(mapped, cannot_link=[(0, 599)])
    two = SMDEClust.from_paper(**setting).fit(X, cannot_link=[(0, 599)])
    assert one.inertia_ == two.inertia_


def test_memory_does_not_hold_the_table(tmp_path):
    """Copying takes a small part of the memory of the whole table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400_000, 16)).astype(np.float32)
    pq.write_table(
        pa.table({f"x{j}": X[:, j] for j in range(16)}), tmp_path / "X.parquet",
        row_group_size=20_000,
    )  # fmt: skip
    parquet_store.map_parquet(tmp_path / "X.parquet", tmp_path / "warm.npy", features=["x0"])
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    map_parquet(tmp_path / "X.parquet", tmp_path / "X.npy")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * 2**20 + X.nbytes // 2
    assert pa.total_allocated_bytes() - before < X.nbytes // 2


def test_bad_files_are_named_and_leave_nothing(tmp_path):
    """Missing values, NaN, text, other columns, no file: an error that says where, and no file."""
    X = np.ones((300, 2))
    store = tmp_path / "X.npy"
    holed = X.copy()
    holed[250, 1] = np.nan
    with pytest.raises(InvalidInputError, match="'x1' .row 250."):
        map_parquet(written(tmp_path / "nan.parquet", holed), store)
    nulls = pa.table({"a": pa.array([1.0, None, 2.0])})
    pq.write_table(nulls, tmp_path / "null.parquet")
    with pytest.raises(InvalidInputError, match="missing values in column 'a'"):
        map_parquet(tmp_path / "null.parquet", store)
    words = written(tmp_path / "text.parquet", X, name=["a"] * 300)
    with pytest.raises(InvalidInputError, match="'name' of type"):
        map_parquet(words, store)
    good = written(tmp_path / "good.parquet", X)
    other = written(tmp_path / "other.parquet", X, names=["a", "b"])
    with pytest.raises(InvalidInputError, match="expected those of"):
        map_parquet([good, other], store)
    with pytest.raises(InvalidInputError, match="no such file"):
        map_parquet(tmp_path / "none.parquet", store)
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InvalidInputError, match="not a valid Parquet"):
        map_parquet(tmp_path / "damaged.parquet", store)
    with pytest.raises(InvalidInputError, match="cannot be written"):
        map_parquet(good, tmp_path / "no folder" / "X.npy")
    assert not list(tmp_path.glob("*.npy*"))


def test_a_link_stays_and_what_it_names_is_replaced(tmp_path):
    """A link given as the store still is one afterwards; the file behind it holds the points."""
    X = np.random.default_rng(0).normal(size=(50, 2))
    path = written(tmp_path / "X.parquet", X)
    (tmp_path / "disk").mkdir()
    link, real = tmp_path / "X.npy", tmp_path / "disk" / "real.npy"
    link.symlink_to(real)
    for _ in range(2):  # a dangling link, and one to a file
        np.testing.assert_array_equal(map_parquet(path, link), X)
        assert link.is_symlink()
        np.testing.assert_array_equal(np.load(real), X)
    assert [each.name for each in real.parent.iterdir()] == ["real.npy"]


def test_two_writers_do_not_share_a_file(tmp_path, monkeypatch):
    """While one copy to a store is under way another one is made: both are whole, nothing is
    left."""
    monkeypatch.setattr(parquet_store, "MOST_NUMBERS", 100)
    X = np.random.default_rng(0).normal(size=(200, 2))
    first = written(tmp_path / "first.parquet", X)
    second = written(tmp_path / "second.parquet", -X[:70])
    store, between, pieces = tmp_path / "X.npy", [], parquet_store._pieces

    def interrupted(path, file, names):
        for number, piece in enumerate(pieces(path, file, names)):
            if number == 1 and path == first:
                between.append(np.array(map_parquet(second, store)))
            yield piece

    monkeypatch.setattr(parquet_store, "_pieces", interrupted)
    np.testing.assert_array_equal(map_parquet(first, store), X)
    np.testing.assert_array_equal(between[0], -X[:70])
    assert sorted(each.name for each in tmp_path.iterdir() if "parquet" not in each.name) == [
        "X.npy"
    ]


def test_pages_that_cannot_be_read_are_not_a_matter_of_writing(tmp_path):
    """Damage in the middle of a file: the error names the file read, and the store before stays."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    path, store = tmp_path / "X.parquet", tmp_path / "X.npy"
    np.save(store, X[:3])
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), path, row_group_size=100)
    content = bytearray(path.read_bytes())
    middle = pq.ParquetFile(path).metadata.row_group(1).column(0).dictionary_page_offset
    content[middle : middle + 400] = b"\xff" * 400
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match="X.parquet: cannot be read"):
        map_parquet(path, store)
    np.testing.assert_array_equal(np.load(store), X[:3])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["X.npy", "X.parquet"]


def test_features_named_twice_and_stores_that_are_no_file(tmp_path):
    """A column named twice, a folder and a path below a file as the store: said in words."""
    path = written(tmp_path / "X.parquet", np.ones((30, 2)))
    with pytest.raises(InvalidInputError, match="'x1' more than once"):
        map_parquet(path, tmp_path / "X.npy", features=["x1", "x0", "x1"])
    with pytest.raises(InvalidInputError, match="cannot be written .not a file"):
        map_parquet(path, tmp_path)
    with pytest.raises(InvalidInputError, match="cannot be written"):
        map_parquet(path, path / "X.npy")
    assert [each.name for each in tmp_path.iterdir()] == ["X.parquet"]


def test_integers_of_64_bits_are_rounded(tmp_path):
    """Beyond 2^53 the nearest float64 is stored, up to there the number itself."""
    numbers = np.array([2**53 - 1, 2**53 + 1, -(2**62) - 1])
    pq.write_table(pa.table({"a": numbers}), tmp_path / "X.parquet")
    mapped = map_parquet(tmp_path / "X.parquet", tmp_path / "X.npy")
    np.testing.assert_array_equal(mapped[:, 0], [2.0**53 - 1, 2.0**53, -(2.0**62)])
