"""``explore``: the studio in a notebook; what was entered there comes back to Python."""

import os
import tempfile
import threading
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from smdeclust.constraints import Constraints
from smdeclust.constraints.given import all_known
from smdeclust.exceptions import InvalidInputError
from smdeclust.extras import optional
from smdeclust.io import write_bytes

with optional("explore"):
    from smdeclust.studio.desk import Desk
    from smdeclust.studio.opening import from_path
    from smdeclust.studio.server import Serving
    from smdeclust.studio.wishes import pairs_of
    from smdeclust.tables.features import as_frame


class Exploration:
    """An open studio. In a notebook, its page is shown in the cell.

    Attributes
    ----------
    url
        The address of the page on this machine.
    labels
        The current cluster of each point, or None if there are no clusters yet.
    constraints
        Everything entered so far, for ``fit(constraints=...)``.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk, self._serving = desk, Serving(desk, framed=True)
        self.url = self._serving.url
        self._thread = threading.Thread(target=self._serving.run, daemon=True)
        self._thread.start()

    @property
    def labels(self) -> np.ndarray | None:
        found = self._desk.labels
        return None if found is None else found.copy()

    @property
    def constraints(self) -> Constraints:
        return self._desk.wishes.constraints(self._desk.ground)

    def close(self) -> None:
        """Close the studio. Everything is saved in its folder."""
        self._serving.stop()
        self._thread.join(10)

    def __repr__(self) -> str:
        return f"The studio is at {self.url} (saved in {self._desk.folder_path})"

    def _repr_html_(self) -> str:
        frame = f"<iframe src='{self.url}' width='100%' height='720' title='Studio'></iframe>"
        return f"{frame}<p><a href='{self.url}' target='_blank'>Open the studio in a tab</a></p>"


def explore(
    table: Any,
    n_clusters: int | None = None,
    *,
    constraints: Constraints | None = None,
    roles: Mapping[str, str] | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Exploration:
    """Open the studio with a table, and return an object that follows your work in it.

    In a script, call the function below ``if __name__ == "__main__":``, because it starts
    processes.

    Parameters
    ----------
    table
        A data frame or an array with one row for each point. An index other than 0, 1, ... becomes
        a column, which contains the ids if its entries are unique.
    n_clusters
        The initial number of clusters. By default 3, or the number saved in the folder.
    constraints
        What is already known.
    roles
        The roles of columns, by name, if the guesses are wrong, as in
        :class:`~smdeclust.TableFeatures`.
    folder
        The folder for the table and all changes, in which you can continue later. By default, a
        temporary folder.

    Returns
    -------
    Exploration
        The open studio, with its current ``labels`` and ``constraints``.
    """
    known = all_known("explore", table, None, constraints, {}, soft=True)
    if n_clusters is not None and (
        type(n_clusters) is bool or not isinstance(n_clusters, Integral)
    ):
        raise InvalidInputError(f"n_clusters must be a whole number, got {n_clusters!r}.")
    frame, fixed = _with_ids(as_frame(table), dict(roles or {}))
    content = frame.to_csv(index=False).encode()
    place = Path(tempfile.mkdtemp(prefix="smdeclust-") if folder is None else folder)
    path = place / "table.csv"
    is_new = not path.exists()
    if not is_new and path.read_bytes() != content:
        raise InvalidInputError(
            f"{path}: this folder belongs to another table. Choose another folder=, or pass the "
            "same table."
        )
    place.mkdir(parents=True, exist_ok=True)
    try:
        if is_new:
            write_bytes(path, content)
        source = from_path(path, place, roles=fixed, header=True)
        if len(source.sheet.frame) != len(frame):
            raise InvalidInputError(
                f"Only {len(source.sheet.frame)} of the {len(frame)} rows of the table can be "
                "saved in a file, because its last rows are empty. Drop these rows."
            )
        desk = Desk(place)
        desk.open_source(source, n_clusters, pairs_of(known))
    except BaseException:
        if is_new:
            path.unlink(missing_ok=True)
        raise
    return Exploration(desk)


def _with_ids(frame: Any, roles: dict[str, str]) -> tuple[Any, dict[str, str]]:
    """The table with its index as a column, if that says more than the number of the row."""
    import pandas as pd

    frame = frame.rename(columns=lambda name: name if isinstance(name, str) else f"x{name}")
    index = frame.index
    if isinstance(index, pd.MultiIndex):
        raise InvalidInputError(
            "The index of the table has several levels: use table.reset_index(), and name the "
            'column of ids with roles={"...": "id"}.'
        )
    if index.equals(pd.RangeIndex(len(frame))):
        return frame, roles
    name = str(index.name or "id")
    while name in frame.columns:
        name += " of the index"
    names_rows = index.is_unique and not index.hasnans
    return frame.reset_index(names=name), {name: "id" if names_rows else "left out"} | roles
