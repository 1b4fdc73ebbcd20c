"""Arrays from ``.npy`` and ``.npz`` content, never with pickles, never larger than the file.

numpy's own loader allocates what a header claims before it looks at the content; here the claim is
checked first, so that a damaged or hostile file is an error and not an allocation.
"""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.files import PathLike

NPY_MAGIC = b"\x93NUMPY"
# All four bytes (the second is an archive without files): a CSV may well begin with PK.
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
# Deflate cannot compress better than about 1 : 1032.
_MAX_RATIO = 1100
_read_header_2_0 = np.lib.format.read_array_header_2_0


def parse_npy(content: bytes, path: PathLike, name: str = "") -> NDArray[Any]:
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
    content: bytes, path: PathLike, max_bytes: float = math.inf
) -> dict[str, NDArray[Any]]:
    """Return all arrays of ``.npz`` content by name; more than `max_bytes` are refused."""
    arrays: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
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
    except InvalidInputError:
        raise
    except MemoryError as error:
        raise InvalidInputError(f"{path}: the arrays do not fit into memory.") from error
    # Damaged archives raise many types: BadZipFile, zlib.error, NotImplementedError and more.
    except Exception as error:
        raise InvalidInputError(
            f"{path}: not a valid .npz archive ({error}). Save it again with numpy.savez."
        ) from error
    if not arrays:
        raise InvalidInputError(f"{path}: the archive holds no array. Save one with numpy.savez.")
    return arrays
