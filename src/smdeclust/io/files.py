"""Bytes and lines of a file, with every way of failing said in a sentence."""

from __future__ import annotations

import codecs
import os
from collections.abc import Sequence
from pathlib import Path

from smdeclust.exceptions import InvalidInputError
from smdeclust.io.wording import argument

PathLike = str | os.PathLike[str]

_SHOWN = 60
_BINARY = (b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06", b"PAR1")


def shown(value: object) -> str:
    """Return ``value`` as it is shown in a message: quoted, escaped and cut short."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def bad_line(
    path: PathLike, line: int | None, found: str, expected: str, todo: str = ""
) -> InvalidInputError:
    """Build the error of one place in a file: what was found, what was expected, what to do."""
    where = f"{os.fspath(path)}" if line is None else f"{os.fspath(path)}, line {line}"
    message = f"{where}: found {found}, expected {expected}."
    return InvalidInputError(f"{message} {todo}".strip())


def check_path(path: PathLike) -> Path:
    """Return ``path`` as a Path of a readable file, or say what it is instead."""
    try:
        checked = Path(path)
        if checked.is_dir():
            raise InvalidInputError(
                f"{checked}: this is a folder, expected a file. Name a file in it."
            )
        if not checked.exists():
            raise InvalidInputError(f"{checked}: there is no such file. Check the path.")
    except (OSError, TypeError, ValueError) as error:  # too long, NUL bytes, not a path
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{shown(path)} cannot be used as a path: {error}.") from error
    return checked


def read_bytes(path: PathLike) -> bytes:
    """Return the whole content of a file."""
    checked = check_path(path)
    try:
        return checked.read_bytes()
    except MemoryError as error:
        raise InvalidInputError(f"{checked}: the file does not fit into memory.") from error
    except OSError as error:
        raise InvalidInputError(
            f"{checked}: cannot be read ({error.strerror or error})."
        ) from error


def as_utf8(content: bytes, path: PathLike, encoding: str | None) -> bytes:
    """Return text as UTF-8: of the encoding named, or of UTF-16 where its mark comes first."""
    if content.startswith(_BINARY) and b"\0" in content:
        return content  # arrays and Parquet are no text
    if encoding is None:
        if not content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return content
        encoding = "utf-16"
    try:
        return codecs.lookup(encoding).decode(content, "strict")[0].encode()
    except LookupError as error:
        raise InvalidInputError(
            f"There is no encoding {shown(encoding)} ({argument('encoding')}). Common ones are "
            "utf-8, utf-16, cp1252 and latin-1."
        ) from error
    except (ValueError, TypeError, AttributeError) as error:  # UnicodeError, or no text encoding
        raise InvalidInputError(
            f"{os.fspath(path)}: not text in the encoding {encoding} ({argument('encoding')}): "
            f"{error}."
        ) from error


def decode(content: bytes, path: PathLike) -> str:
    """Return UTF-8 text with its line ends made ``\\n``; a byte order mark is dropped."""
    nul = content.find(b"\0")
    if nul >= 0:
        raise bad_line(
            path,
            content.count(b"\n", 0, nul) + 1,
            "a NUL byte",
            "text",
            "The file is binary or UTF-16. Save it as UTF-8 text, or name its encoding, such as "
            f"utf-16-le ({argument('encoding')}).",
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise bad_line(
            path,
            content.count(b"\n", 0, error.start) + 1,
            f"the byte 0x{content[error.start]:02x}",
            "UTF-8 text",
            "Save the file as UTF-8, or name its encoding, such as cp1252 "
            f"({argument('encoding')}).",
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def lines_of(text: str) -> list[str]:
    """Split at line ends only (``str.splitlines`` also splits at form feeds and others)."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def as_paths(path_or_paths: PathLike | Sequence[PathLike]) -> list[PathLike]:
    """Return one path or several as a list."""
    if isinstance(path_or_paths, str | os.PathLike):
        return [path_or_paths]
    try:
        paths = list(path_or_paths)
    except TypeError as error:
        raise InvalidInputError(
            f"{shown(path_or_paths)} is not a path, expected a path or a list of paths."
        ) from error
    if not paths:
        raise InvalidInputError("No constraint file was given: name at least one.")
    return paths
