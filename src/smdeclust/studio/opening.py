"""How tables come in: a file that is named, a file that a page sends, a folder of pictures."""

import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame

from smdeclust.exceptions import InvalidInputError
from smdeclust.extras import optional
from smdeclust.io import read_frame, read_table, write_bytes, write_rows
from smdeclust.io.files import PAGE, use_words
from smdeclust.studio.sheet import PICTURES, Sheet
from smdeclust.studio.work_folder import LABELS, SAVED, SETTINGS

# Pictures of a folder without vectors are compared by thumbnails of this side.
THUMBNAIL = 16
MOST_PICTURES = 20_000


@dataclass
class Source:
    """A table to be opened."""

    sheet: Sheet
    data: Path  # the file or folder that holds it
    folder: Path  # the work folder
    # How the file was read, for the settings and for the lines of Python
    read: dict[str, Any] = field(default_factory=dict)
    n_clusters: int | None = None  # where the file says it


def from_path(
    path: Path,
    folder: Path | None = None,
    *,
    sheet_name: str | None = None,
    vectors: Path | None = None,
    roles: dict[str, str] | None = None,
    header: bool | None = None,
) -> Source:
    """Read the table, or the folder of pictures, at this place."""
    path = path.expanduser().resolve()
    place = folder or _place_of(path)
    beside = None if vectors is None else read_table(vectors).X
    read: dict[str, Any] = {"points": str(vectors.resolve())} if vectors is not None else {}
    if path.is_dir():
        return Source(_pictures(path, beside), path, place, read)
    with use_words(PAGE):
        file = read_frame(path, sheet=sheet_name, header=header)
    fixed = dict(roles or {})
    if file.format == "h5ad":
        beside = file.points if beside is None else beside
    elif file.points is not None:
        width = file.points.shape[1]
        fixed = dict.fromkeys(list(file.frame.columns)[:width], "number") | fixed
    if file.sheet is not None:
        read["sheet"] = file.sheet
    about: Any = {"home": path.parent, "notes": file.notes, "pages": file.sheets}
    sheet = Sheet(file.frame, fixed=fixed, vectors=beside, **about)
    if sheet.fixed:
        read["fixed_roles"] = sheet.fixed
    return Source(sheet, path, place, read, file.n_clusters)


def _place_of(path: Path) -> Path:
    """The work folder of a table: ``name-studio``, unless a table of the same name has it."""
    place = path.with_name(f"{path.stem}-studio")
    try:
        owner = path.with_name(Path(json.loads((place / SETTINGS).read_text("utf-8"))["data"]).name)
    except (OSError, ValueError, KeyError, TypeError):
        return place
    taken = owner != path and owner.exists()
    return path.with_name(f"{path.name}-studio") if taken else place


def from_page(data: Path, folders: dict[str, Path], sheet_name: str) -> Source:
    """Read another sheet of a workbook, in a work folder of its own inside the first one."""
    within = next(iter(folders.values())) / (_harmless(sheet_name) or "sheet")
    return from_path(data, folders.get(sheet_name, within), sheet_name=sheet_name)


def from_words(path: str, sheet_name: str | None = None) -> Source:
    """Read the table whose path was entered."""
    if not path.strip() or "\0" in path:
        raise InvalidInputError("Enter the path of a table.")
    given = Path(path.strip().strip('"'))
    if not given.expanduser().exists():
        raise InvalidInputError(f"There is no file {str(given)[:300]}.")
    return from_path(given, sheet_name=sheet_name)


def from_upload(name: str, content: bytes, start: Path) -> Source:
    """Keep a table that a page sent in a folder of its own, and read it.

    The same table sent again continues where its work was left; nothing is ever overwritten, and a
    table that cannot be read leaves nothing behind.
    """
    given = Path(name)
    stem = _harmless(given.stem)[:80] or "data"
    file = f"{stem}.{_harmless(given.suffix)[:10] or 'csv'}"
    if file in (*SAVED, LABELS):
        file = f"data-{file}"
    place = start / stem
    for number in itertools.count(2):
        path = place / file
        if not place.exists() or (path.is_file() and path.read_bytes() == content):
            break
        place = start / f"{stem}-{number}"
    is_new = not place.exists()
    place.mkdir(parents=True, exist_ok=True)
    try:
        if is_new:
            write_bytes(path, content)
        return from_path(path, place)
    except BaseException as error:
        if is_new:
            path.unlink(missing_ok=True)
            place.rmdir()
        if isinstance(error, InvalidInputError):
            raise InvalidInputError(str(error).replace(str(path.resolve()), file)) from None
        raise


def demo(start: Path) -> Source:
    """The demo data, as a file."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    names = [name.removesuffix(" (cm)") for name in iris.feature_names]
    rows = ([f"flower {i}", *row] for i, row in enumerate(iris.data.tolist()))
    path = start / "iris-demo" / "iris.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_rows(path, ["id", *names], rows)
    return from_path(path, path.parent)


def _pictures(folder: Path, vectors: np.ndarray | None) -> Sheet:
    """A folder of pictures as a table; without vectors they are compared by small thumbnails."""
    names = sorted(p.name for p in folder.iterdir() if p.name.lower().endswith(PICTURES))
    if not names:
        raise InvalidInputError(f"{folder}: there are no images in this folder.")
    if len(names) > MOST_PICTURES:
        raise InvalidInputError(
            f"{folder}: there are {len(names)} images, but at most {MOST_PICTURES} can be opened."
        )
    notes: tuple[str, ...] = ()
    if vectors is None:
        vectors = np.array([_pixels(folder / name) for name in names])
        notes = (
            f"Images are compared as thumbnails of {THUMBNAIL} x {THUMBNAIL} pixels. Vectors from "
            "an image model (--points) work much better.",
        )
    frame = DataFrame({"file": names, "picture": names})
    fixed = {"file": "id", "picture": "left out"}
    return Sheet(frame, fixed=fixed, vectors=vectors, home=folder, notes=notes)


def _pixels(path: Path) -> np.ndarray:
    with optional("Opening images"):
        from PIL import Image
    try:
        with Image.open(path) as image:
            small = image.convert("RGB").resize((THUMBNAIL, THUMBNAIL))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InvalidInputError(f"{path}: the image cannot be read ({error}).") from None
    return np.asarray(small, dtype=np.float64).ravel() / 255


def _harmless(name: str) -> str:
    return "".join(c for c in name if c.isalnum() or c in "._-").lstrip(".-")
