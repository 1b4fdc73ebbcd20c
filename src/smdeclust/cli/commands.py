"""The commands by name, in the order in which the help lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smdeclust.cli.check import check
from smdeclust.cli.demo import demo
from smdeclust.cli.fit import fit

COMMANDS: dict[str, Callable[..., Any]] = {
    "demo": demo,
    "fit": fit,
    "check": check,
}
