"""What is known beside our runs: the paper's tables, lowest objectives, dated explanations."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def paper_tables() -> dict[str, Any]:
    """What the paper's tables print; ``columns`` of each names the figures of its ``rows``."""
    return json.loads(_read("paper_tables.json"))


@cache
def best_known() -> dict[str, float]:
    """The lowest objective known for ``dataset/configuration`` of the first set.

    Long runs found them; a semidefinite bound shows most to be optimal to a relative 1e-4.
    """
    return json.loads(_read("best_known.json"))["objectives"]


@cache
def _explanations() -> dict[str, dict[str, str]]:
    return json.loads(_read("explanations.json"))


def explanation(name: str) -> str:
    """Why our runs differ from a statement; where that was measured, with the date of it."""
    entry = _explanations()[name]
    when = f" (Measured {entry['measured']}.)" if "measured" in entry else ""
    return entry["text"] + when


def _read(name: str) -> str:
    return files("smdeclust.paper").joinpath(name).read_text(encoding="utf-8")
