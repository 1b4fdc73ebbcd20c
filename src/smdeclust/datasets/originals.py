"""The originals as their authors publish them: archives, KEEL, IDX and image sheets into arrays.

Pickles are never read, which is why CIFAR-10 comes from image sheets or its binary version and not
from the Python one.
"""

import gzip
import io
import json
import math
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.files import PathLike, bad_line, decode, lines_of, readable, shown

Arrays = tuple[NDArray[Any], NDArray[np.int64]]

CIFAR_SHEETS = ("test_batch", *(f"data_batch_{number}" for number in range(1, 6)))
_CIFAR_PIXELS = 1024


def archive_members(content: bytes, path: PathLike) -> dict[str, bytes]:
    """Return the files of a zip or tar archive by their names without folders."""
    with readable(path, "not a complete archive"):
        if content.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                found = {item.filename: archive.read(item) for item in archive.infolist()}
        else:
            with tarfile.open(fileobj=io.BytesIO(content)) as tar:
                files = [item for item in tar if item.isfile()]
                streams = ((item.name, tar.extractfile(item)) for item in files)
                found = {name: stream.read() for name, stream in streams if stream is not None}
    return {PurePosixPath(name).name: data for name, data in found.items() if name[-1:] != "/"}


def member(members: Mapping[str, bytes], name: str, path: PathLike) -> bytes:
    """Return one file of an archive, found regardless of case."""
    for candidate, data in members.items():
        if candidate.lower() == name.lower():
            return data
    raise bad_line(path, None, f"the files {shown(', '.join(members))}", f"a file {name} inside")


def parse_keel(content: bytes, path: PathLike) -> Arrays:
    """Return points and classes of a KEEL ``.dat`` file: ``@`` lines, then ``x, x, ..., class``."""
    lines = [line.rpartition(",") for line in _lines(content, path) if line[0] != "@"]
    classes = np.unique([name.strip() for _, _, name in lines], return_inverse=True)[1]
    return _numbers([numbers for numbers, _, _ in lines], path), classes.astype(np.int64)


def parse_idx(content: bytes, path: PathLike) -> NDArray[np.uint8]:
    """Return the array of an IDX file (MNIST), packed with gzip or not."""
    if content.startswith(b"\x1f\x8b"):
        with readable(path, "not a complete gzip file"):
            content = gzip.decompress(content)
    # two zeros, 8 for bytes, the number of dimensions, the sizes
    if content[:3] != b"\0\0\x08" or content[3:4] not in (b"\1", b"\2", b"\3"):
        raise bad_line(path, None, f"the first bytes {content[:4].hex()}", "an IDX file of bytes")
    n_dimensions = content[3]
    start = 4 + 4 * n_dimensions
    if len(content) < start:
        raise bad_line(path, None, f"{len(content)} bytes", f"at least {start}, the header")
    sizes = np.frombuffer(content[4:start], dtype=">u4").tolist()
    values = np.frombuffer(content[start:], dtype=np.uint8)
    if math.prod(sizes) != len(values):
        raise bad_line(path, None, f"{len(values)} bytes for the sizes {sizes}", "as many as that")
    return values.reshape(sizes)


def parse_mnist(parts: Mapping[str, bytes], path: PathLike) -> Arrays:
    """Return the 60000 training and then the 10000 test images of MNIST."""
    images, labels = [], []
    for name in ("train", "t10k"):
        batch = parse_idx(parts[f"{name}-images-idx3-ubyte.gz"], path)
        images.append(batch.reshape(len(batch), -1))
        labels.append(parse_idx(parts[f"{name}-labels-idx1-ubyte.gz"], path))
    return _joined(images, labels, path)


def parse_cifar_sheets(parts: Mapping[str, bytes], path: PathLike) -> Arrays:
    """Return CIFAR-10 from PNG sheets: one image per row of 1024 RGB pixels, test batch first."""
    from PIL import Image

    sheets = []
    for name in CIFAR_SHEETS:
        stream = io.BytesIO(member(parts, f"{name}.png", path))
        with readable(path, f"{name}.png is not a valid image"), Image.open(stream) as image:
            # A sheet is 10000 x 1024 pixels by design; the guard is for pages of the web.
            pixels = np.asarray(image.convert("RGB"))
        if pixels.shape[1] != _CIFAR_PIXELS:
            raise bad_line(path, None, f"{name}.png of width {pixels.shape[1]}", "width 1024")
        # From pixel by pixel to all of red, then green, then blue.
        sheets.append(pixels.transpose(0, 2, 1).reshape(len(pixels), -1))
    labels = []
    for name in ("test_lables.json", "train_lables.json"):
        content = member(parts, name, path)
        with readable(path, f"{name} is not a list of labels"):
            found = json.loads(decode(content, f"{path}/{name}"))
            labels.append(np.array(found, dtype=np.int64).reshape(-1))
    return _joined(sheets, labels, path)


def parse_cifar_binary(parts: Mapping[str, bytes], path: PathLike) -> Arrays:
    """Return CIFAR-10 from its binary version: records of a label and 3072 bytes."""
    size = 1 + 3 * _CIFAR_PIXELS
    images, labels = [], []
    for name in CIFAR_SHEETS:
        content = np.frombuffer(member(parts, f"{name}.bin", path), dtype=np.uint8)
        if len(content) % size:
            raise bad_line(path, None, f"{name}.bin of {len(content)} bytes", f"records of {size}")
        records = content.reshape(-1, size)
        images.append(records[:, 1:])
        labels.append(records[:, 0])
    return _joined(images, labels, path)


def _joined(images: list[Any], labels: list[Any], path: PathLike) -> Arrays:
    X, y = np.concatenate(images), np.concatenate(labels).astype(np.int64)
    if len(X) != len(y):
        raise bad_line(path, None, f"{len(X)} images and {len(y)} labels", "as many of both")
    return X, y


def parse_gene_csv(content: bytes, path: PathLike) -> NDArray[np.float64]:
    """Return the matrix of UCI's ``data.csv``: a header of gene names, rows named sample_0 ..."""
    header, *lines = [line.partition(",")[2] for line in _lines(content, path)] or [""]
    found = _numbers(lines, path)
    if found.shape[1] != len(header.split(",")):
        raise bad_line(path, None, f"{found.shape[1]} numbers per line", "as many as in the header")
    return found


def _lines(content: bytes, path: PathLike) -> list[str]:
    return [line for line in lines_of(decode(content, path)) if line.strip()]


def _numbers(lines: list[str], path: PathLike) -> NDArray[np.float64]:
    """The numbers between commas, as many in each line."""
    try:
        found = np.loadtxt(lines, delimiter=",", comments=None, ndmin=2) if any(lines) else None
    except ValueError as error:
        raise InvalidInputError(f"{path}: {error}.") from error
    if found is None or not np.isfinite(found).all():
        raise bad_line(path, None, "no numbers, or one that is not finite", "lines of numbers")
    return found
