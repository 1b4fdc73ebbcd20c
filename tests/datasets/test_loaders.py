"""Data sets from a local folder, from a file server, and from nowhere."""

from __future__ import annotations

import dataclasses
import functools
import http.server
import io
import tarfile
import threading
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from smdeclust.datasets import (
    catalog,
    list_datasets,
    load_constraints,
    load_set1,
    load_set2,
    load_set3,
    standardize,
    storage,
)
from smdeclust.datasets.catalog import known_digests
from smdeclust.exceptions import DataNotFoundError, InvalidInputError


@pytest.fixture
def local(paper_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The paper's data as the local folder; differences from the published ones are errors."""
    monkeypatch.setenv(storage.DATA_VARIABLE, str(paper_data))
    return paper_data


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No local folder, and an empty cache."""
    monkeypatch.delenv(storage.DATA_VARIABLE, raising=False)
    monkeypatch.setenv(storage.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def served(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder served over HTTP on this machine in the place of every origin."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        for origin in storage.ORIGINS:
            monkeypatch.setitem(storage.ORIGINS, origin, f"{address}{origin}/")
        yield folder
        server.shutdown()


@pytest.fixture
def offline(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every origin is an address where nobody answers."""
    for origin in storage.ORIGINS:
        monkeypatch.setitem(storage.ORIGINS, origin, "http://127.0.0.1:9/")


def serve(folder: Path, name: str, content: bytes) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def zipped(**files: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"folder/{name.replace('_', '.')}", content)
    return stream.getvalue()


def test_catalog() -> None:
    """33 data sets, 30 configurations each in the first set, 4 and 7 in the others."""
    infos = list_datasets()
    assert [len(list_datasets(number)) for number in (1, 2, 3)] == [10, 5, 18]
    assert {len(info.configurations) for info in infos if info.set == 1} == {30}
    assert {len(info.configurations) for info in infos if info.set == 2} == {4}
    assert {len(info.configurations) for info in infos if info.set == 3} == {7}
    keys = known_digests()
    for info in infos:
        assert all(f"{info.name}/constraints/{c}" in keys for c in info.configurations)
        assert info.name == "gene" or f"{info.name}/X" in keys


@pytest.mark.data
def test_first_set(local: Path) -> None:
    """Nine data sets load as published, with their sizes and classes where known."""
    for info in list_datasets(1):
        if info.name == "gene":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            data = load_set1(info.name)
        assert data.X.shape == (info.n_points, info.n_features)
        assert data.n_clusters == info.n_clusters
        assert (data.y is None) == (info.name == "ECG5000")
        assert data.source == str(local / "set1" / info.name / f"{info.name}.txt")


@pytest.mark.data
def test_first_set_pairs_agree_with_classes(local: Path) -> None:
    """The published pairs of the first set are true to the classes, so rows are in order."""
    for info in list_datasets(1):
        if info.name in ("gene", "ECG5000"):
            continue
        y = load_set1(info.name).y
        for configuration in info.configurations:
            pairs = load_constraints(info.name, configuration)
            assert np.array_equal(y[pairs.must_link[:, 0]], y[pairs.must_link[:, 1]])
            assert not np.any(y[pairs.cannot_link[:, 0]] == y[pairs.cannot_link[:, 1]])


@pytest.mark.data
@pytest.mark.parametrize("name", ["banana", "letter", "shuttle"])
def test_second_set_is_standardised(local: Path, name: str) -> None:
    """Columns have mean 0 and population standard deviation 1."""
    data = load_set2(name)
    assert np.allclose(data.X.mean(axis=0), 0, atol=1e-10)
    assert np.allclose(data.X.std(axis=0), 1)
    assert data.y is not None
    assert len(np.unique(data.y)) == data.n_clusters
    assert load_constraints(data, 200).n_pairs == 200


def test_constant_columns_are_only_centred() -> None:
    """A constant column becomes exactly zero, whatever rounding does to its mean."""
    X = np.column_stack([np.full(1000, 0.1), np.arange(1000) * 1e-3 + 1e6])
    scaled = standardize(X)
    assert not scaled[:, 0].any()
    assert np.isclose(scaled[:, 1].std(), 1)


def test_third_set_needs_no_network(offline: None) -> None:
    """Without folder and network the synthetic sets and their pairs are made, and checked."""
    data = load_set3(500, 20)
    assert data.X.shape == (500, 2)
    assert load_constraints(data, "1000").n_pairs == 1000
    with pytest.raises(InvalidInputError, match="There is no data set 'n500_k3' in set 3"):
        load_set3(500, 3)


@pytest.mark.data
def test_third_set_from_folder(local: Path) -> None:
    """From a folder the third set is what is made without one."""
    data = load_set3(1000, 2)
    assert data.source.endswith("data.csv")
    assert load_constraints("n1000_k2", 100).files


@pytest.mark.data
def test_download(served: Path, cache: Path, paper_data: Path) -> None:
    """Data and pairs are downloaded once, checked, and then come from the cache."""
    text = (paper_data / "set1/iris/iris.txt").read_bytes()
    pairs = (paper_data / "set1/iris/constraints/ml_50_cl_0_1.txt").read_bytes()
    serve(served, "pc-sos-sdp/datasets/iris.zip", zipped(iris_txt=text))
    serve(served, "pc-sos-sdp/constraints/iris/ml_50_cl_0_1.txt", pairs)
    for _ in range(2):
        data = load_set1("iris")
        assert data.X.shape == (150, 4)
        assert data.y is None
        assert data.source.endswith("datasets/iris.zip")
        assert len(load_constraints("iris", "ml_50_cl_0_1").must_link) == 50
        for path in served.rglob("*.*"):
            path.unlink()
    assert (cache / "pc-sos-sdp/datasets/iris.zip").exists()


@pytest.mark.data
def test_download_of_keel(served: Path, paper_data: Path) -> None:
    """The second set is rebuilt from KEEL's archive and is the published one."""
    with np.load(paper_data / "set2/banana/banana.npz", allow_pickle=False) as archive:
        X, y = archive["X"], archive["classes"][archive["y"]]
    lines = [f"{a!r}, {b!r}, {c}" for (a, b), c in zip(X.tolist(), y.tolist(), strict=True)]
    content = "@relation banana\n@data\n" + "\n".join(lines) + "\n"
    serve(served, "keel/banana.zip", zipped(banana_dat=content.encode()))
    assert load_set2("banana").X.shape == (5300, 2)
    pairs = (paper_data / "set2/banana/constraints/100.json").read_bytes()
    serve(served, "s_mdeclust/constraint_sets/banana_constraints_100.json", pairs)
    assert load_constraints("banana", 100).n_pairs == 100


@pytest.mark.data
def test_corrupted_download(served: Path, cache: Path, paper_data: Path) -> None:
    """A truncated, altered or foreign file is refused, not kept, and fetched again next time."""
    text = (paper_data / "set1/iris/iris.txt").read_bytes()
    good = zipped(iris_txt=text)
    name = "pc-sos-sdp/datasets/iris.zip"
    for wrong, message in (
        (good[:-40], "not a complete archive"),
        (zipped(iris_txt=text.replace(b"5.1 3.5", b"5.1 3.6", 1)), "not the published iris"),
        (zipped(other_txt=text), "a file iris.txt inside"),
        (b"<html>moved</html>", "not a complete archive"),
    ):
        serve(served, name, wrong)
        with pytest.raises(DataNotFoundError, match=message):
            load_set1("iris")
        assert not (cache / name).exists()
    serve(served, name, good)
    assert load_set1("iris").X.shape == (150, 4)
    pairs = "pc-sos-sdp/constraints/iris/ml_50_cl_0_1.txt"
    for wrong in (b"ML 0 1\n", b"nonsense"):
        serve(served, pairs, wrong)
        with pytest.raises(DataNotFoundError, match="ml_50_cl_0_1"):
            load_constraints("iris", "ml_50_cl_0_1")
        assert not (cache / pairs).exists()


def test_wrong_hash(served: Path, cache: Path) -> None:
    """Where the hash of the original file is known, another file is refused before reading."""
    serve(served, "toronto/cifar-10-binary.tar.gz", b"not the archive")
    with pytest.raises(DataNotFoundError, match="hash"):
        load_set2("cifar10")
    assert not list(cache.rglob("*.t*gz"))


@pytest.mark.parametrize(
    ("call", "file", "origin"),
    [
        (lambda: load_set1("wine"), "set1/wine/wine.txt", "datasets/wine.zip"),
        (lambda: load_set1("gene"), "set1/gene/gene.txt", "datasets/gene.zip"),
        (lambda: load_set2("letter"), "set2/letter/letter.npz", "letter.zip"),
        (lambda: load_set2("mnist"), "set2/mnist/mnist.npz", "train-images-idx3-ubyte.gz"),
        (
            lambda: load_constraints("glass", "ml_0_cl_50_0"),
            "set1/glass/constraints/ml_0_cl_50_0.txt",
            "constraints/glass/ml_0_cl_50_0.txt",
        ),
    ],
)
def test_offline_and_absent(offline: None, call, file: str, origin: str) -> None:
    """Without folder and network the error names the file, its origin and what to set."""
    with pytest.raises(DataNotFoundError) as caught:
        call()
    message = str(caught.value)
    assert file in message
    assert origin in message
    assert "set SMDECLUST_DATA to a folder" in message


def test_unknown_names() -> None:
    """Unknown data sets and configurations are refused with what there is."""
    with pytest.raises(InvalidInputError, match="Did you mean 'iris'"):
        load_set1("irsi")
    with pytest.raises(InvalidInputError, match="Choose one of ml_50_cl_0_0"):
        load_constraints("iris", 100)
    with pytest.raises(InvalidInputError, match="in set 2"):
        load_set2("iris")


def test_altered_local_copy_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A local copy of another content is used, with a warning; one of another size is not."""
    folder = tmp_path / "set1" / "iris"
    folder.mkdir(parents=True)
    monkeypatch.setenv(storage.DATA_VARIABLE, str(tmp_path))
    rows = "\n".join("1 2 3 4" for _ in range(150))
    (folder / "iris.txt").write_text(f"150 4 3\n{rows}\n")
    with pytest.warns(UserWarning, match="not the published iris/X"):
        assert load_set1("iris").y is None
    (folder / "iris.txt").write_text("1 4 3\n1 2 3 4\n")
    with pytest.raises(InvalidInputError, match=r"expected \(150, 4\)"):
        load_set1("iris")


@pytest.fixture
def made_gene(tmp_path: Path) -> np.ndarray:
    """A sparse made matrix of gene's size (small whole numbers keep the text short)."""
    X = np.zeros((801, 20531), dtype=np.int8)
    rng = np.random.default_rng(1)
    X[rng.integers(0, 801, 50_000), rng.integers(0, 20531, 50_000)] = 7
    return X


def digits_text(X: np.ndarray, separator: bytes) -> list[bytes]:
    """Return lines of one-digit numbers (formatting 16 million numbers one by one is slow)."""
    text = np.full((len(X), 2 * X.shape[1]), separator[0], dtype=np.uint8)
    text[:, ::2] = X + ord("0")
    text[:, -1] = ord("\n")
    return [row.tobytes() for row in text]


def test_gene_of_full_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_gene: np.ndarray
) -> None:
    """A matrix of gene's size loads from text headed ``n d k``."""
    folder = tmp_path / "set1" / "gene"
    folder.mkdir(parents=True)
    monkeypatch.setenv(storage.DATA_VARIABLE, str(tmp_path))
    text = b"801 20531 5\n" + b"".join(digits_text(made_gene, b" "))
    (folder / "gene.txt").write_bytes(text)
    (folder / "gene.labels.txt").write_text("\n".join(str(i % 5) for i in range(801)))
    with pytest.warns(UserWarning, match="gene/y"):
        data = load_set1("gene")
    assert np.array_equal(data.X, made_gene)
    assert data.n_clusters == 5
    assert data.y is not None


def test_gene_from_uci(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gene also comes from UCI's archive within an archive, where the repository lacks it."""
    small = dataclasses.replace(list_datasets(1)[-1], n_points=6, n_features=30)
    monkeypatch.setitem(catalog._CATALOG, "gene", small)
    made_gene = np.random.default_rng(2).integers(0, 10, size=(6, 30))
    header = "," + ",".join(f"gene_{i}" for i in range(30))
    rows = (b"sample_%d,%s" % item for item in enumerate(digits_text(made_gene, b",")))
    content = header.encode() + b"\n" + b"".join(rows)
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=1) as tar:
        info = tarfile.TarInfo("TCGA/data.csv")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr("TCGA-PANCAN-HiSeq-801x20531.tar.gz", stream.getvalue())
    serve(served, "uci/401/gene+expression+cancer+rna+seq.zip", outer.getvalue())
    data = load_set1("gene")
    assert np.array_equal(data.X, made_gene)


def test_cifar_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CIFAR-10's sheets are read from the local folder; too few images are refused."""
    from tests.datasets.test_originals import made_sheets

    folder = tmp_path / "set2" / "cifar10"
    folder.mkdir(parents=True)
    monkeypatch.setenv(storage.DATA_VARIABLE, str(tmp_path))
    for name, content in made_sheets()[0].items():
        (folder / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"shape \(18, 3072\), expected \(60000, 3072\)"):
        load_set2("cifar10")
