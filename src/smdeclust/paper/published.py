"""What is known beside our runs: the paper's tables, lowest objectives, dated explanations."""

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


def explanation(name: str) -> str:
    """Why our runs differ from a statement; where that was measured, with the date of it."""
    entry = _published("explanations")[name]
    when = f" (Measured {entry['measured']}.)" if "measured" in entry else ""
    return entry["text"] + when
