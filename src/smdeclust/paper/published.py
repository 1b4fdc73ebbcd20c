"""What is known beside our runs: the paper's tables, lowest objectives, claims."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _published(name: str) -> dict[str, Any]:
    return json.loads(files("smdeclust.paper").joinpath(f"{name}.json").read_text("utf-8"))


def paper_tables() -> dict[str, Any]:
    """What the paper's tables print; ``columns`` of each names the figures of its ``rows``."""
    return _published("paper_tables")


def best_known() -> dict[str, float]:
    """The lowest objective known for ``dataset/configuration`` of the first set.

    Long runs found them; a semidefinite bound shows most to be optimal to a relative 1e-4.
    """
    return _published("best_known")["objectives"]


def statement(name: str) -> dict[str, str]:
    """A claim of the paper or of ours: ``text``, ``source`` and, where our runs differ and it is
    known why, ``why_not`` (with the date of it where that was measured)."""
    entry = dict(_published("claims")[name])
    when = entry.pop("measured", "")
    return entry | ({"why_not": f"{entry['why_not']} (Measured {when}.)"} if when else {})
