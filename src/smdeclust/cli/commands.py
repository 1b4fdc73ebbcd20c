"""The commands by name, in the order in which the help lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smdeclust.cli.ask import ask
from smdeclust.cli.certify import certify
from smdeclust.cli.check import check
from smdeclust.cli.choose_k import choose_k
from smdeclust.cli.compare import compare
from smdeclust.cli.convert import convert
from smdeclust.cli.demo import demo
from smdeclust.cli.fit import fit
from smdeclust.cli.generate import generate
from smdeclust.cli.paper import paper
from smdeclust.cli.plot import plot
from smdeclust.cli.predict import predict
from smdeclust.cli.studio import studio
from smdeclust.cli.verify import verify
from smdeclust.cli.warm_up import warm_up
from smdeclust.cli.what_if import what_if

_ORDER = (
    demo, fit, check, what_if, ask, choose_k, predict, compare, plot, convert, generate, certify,
    verify, studio, warm_up, paper,
)  # fmt: skip
COMMANDS: dict[str, Callable[..., Any]] = {
    command.__name__.replace("_", "-"): command for command in _ORDER
}
