"""Read the arrays of an ``.npz`` file that nobody vouches for: sizes are checked before memory."""

from __future__ import annotations

import math
import zipfile
from typing import IO

import numpy as np

# Names and values only: no objects, nothing that could be executed.
_KINDS = "biufU"


def read_arrays(stream: IO[bytes], *, max_bytes: int) -> dict[str, np.ndarray]:
    """All arrays of an archive, by name.

    Raises
    ------
    ValueError
        The archive is damaged, an array's header contradicts its size, it holds objects, or all of
        them together would take more than ``max_bytes``.
    """
    arrays = {}
    try:
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            total = sum(member.file_size for member in members)
            if total > max_bytes:
                raise ValueError(
                    f"it would unpack to {total / 2**20:,.0f} MiB, more than the "
                    f"{max_bytes / 2**20:,.0f} allowed (max_bytes)"
                )
            for member in members:
                if not member.filename.endswith(".npy"):
                    raise ValueError(f"it holds {member.filename!r}, which is no array")
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError(f"{member.filename} is packed in a way that save never uses")
                with archive.open(member) as file:
                    arrays[member.filename[:-4]] = _read_array(file, member)
    except (ValueError, OSError, MemoryError):
        raise
    except Exception as error:  # zipfile, zlib, numpy and tokenize each have their own kinds
        raise ValueError(f"the archive is damaged ({error})") from error
    return arrays


def _read_array(file: IO[bytes], member: zipfile.ZipInfo) -> np.ndarray:
    """One array; its header must promise exactly the bytes that are there."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"{member.filename}: array format {version} is not known")
    if dtype.kind not in _KINDS or dtype.hasobject:
        raise ValueError(f"{member.filename}: values of type {dtype} do not belong here")
    promised = math.prod(shape) * dtype.itemsize
    here = member.file_size - file.tell()
    if min(shape, default=0) < 0 or promised != here:
        raise ValueError(f"{member.filename}: {here} bytes where its header promises {promised}")
    content = file.read(promised)
    file.read(1)  # at the end the checksum is compared
    if len(content) != promised:
        raise ValueError(f"{member.filename}: cut off")
    array = np.frombuffer(content, dtype)
    return array.reshape(shape, order="F" if fortran else "C")
