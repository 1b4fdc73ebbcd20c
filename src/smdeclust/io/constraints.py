"""The pairs of several files, joined in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdeclust.constraints import KINDS, Constraints

__all__ = ["KINDS", "Constraints", "merge"]


def merge(parts: list[Constraints]) -> Constraints:
    """Join constraints of several files, in order."""
    if len(parts) == 1:
        return parts[0]
    files: list[str] = []
    origins: dict[str, list[NDArray[np.int64]]] = {kind: [] for kind in KINDS}
    for part in parts:
        for kind in KINDS:
            shift = np.array([len(files), 0, 0], dtype=np.int64)
            origins[kind].append(part.origins[kind] + shift)
        files.extend(part.files)
    names = [*KINDS, *(f"{kind}_confidence" for kind in KINDS[2:])]
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in names
    }
    return Constraints(
        **arrays,
        files=tuple(files),
        origins={kind: np.concatenate(rows) for kind, rows in origins.items()},
        columns=tuple(column for part in parts for column in part.columns),
    )
