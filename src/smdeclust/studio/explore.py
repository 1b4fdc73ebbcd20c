"""``explore``: the studio beside a notebook, and what was said there back in Python."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from smdeclust.constraints import Constraints
from smdeclust.exceptions import InvalidInputError
from smdeclust.extras import optional

with optional("explore"):
    from smdeclust.studio.desk import Desk
    from smdeclust.studio.opening import from_path
    from smdeclust.studio.server import Serving
    from smdeclust.studio.wishes import pairs_of
    from smdeclust.tables.features import as_frame


class Exploration:
    """A studio that runs beside this program; in a notebook, the page is shown in the cell.

    Attributes
    ----------
    url
        Where the page is, for a browser on this machine.
    labels
        (N,) the clusters as they are now; None before there are any.
    constraints
        What was said in the page so far: pairs, labels and quotas, for ``fit(constraints=...)``.
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
        """End the studio; everything that was said is in its folder."""
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
    """Open the studio on a table: see its clusters, say what belongs together, and go on in Python.

    Parameters
    ----------
    table
        A data frame or an array, one row a point. An index with names becomes the column of ids.
    n_clusters
        To begin with; 3, or as in the folder, by default.
    constraints
        Pairs that are known already.
    roles
        Roles of columns where a guess is to be overridden, as in :class:`~smdeclust.TableFeatures`.
    folder
        Where the table and everything that is said are kept, to go on another time. By default a
        new temporary one.

    Returns
    -------
    Exploration
        Shows the page in a notebook; ``labels`` and ``constraints`` are as they are in the page.
        In a script, call this below ``if __name__ == "__main__":``, as for all that starts
        processes.
    """
    import pandas as pd

    frame = as_frame(table)
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index(names=str(frame.index.name or "id"))
    known = constraints or Constraints()
    if known.quotas:
        raise InvalidInputError("explore takes pairs; say quotas in the page, under Sizes.")
    place = Path(tempfile.mkdtemp(prefix="smdeclust-") if folder is None else folder)
    place.mkdir(parents=True, exist_ok=True)
    frame.to_csv(place / "table.csv", index=False)
    desk = Desk(place)
    source = from_path(place / "table.csv", place, roles=dict(roles or {}))
    desk.open_source(source, n_clusters, pairs_of(known))
    return Exploration(desk)
