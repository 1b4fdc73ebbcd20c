"""The walk from `smdeclust fit` to the first local search, as a newcomer with a debugger takes it.

    python -m benchmarks.walk                 # modules, hops, hops between packages
    python -m benchmarks.walk --pairs 30      # and the most frequent hops
    python -m benchmarks.walk --sequence      # and all of them, in their order

A hop is a call of a function whose nearest caller in the package is in another of its modules
(modules that are only imported do not count). The table has 60 rows and 2 columns of numbers, and
the file of pairs 20 lines.
"""

import argparse
import io
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

N_POINTS, N_FEATURES, N_PAIRS = 60, 2, 20
Hop = tuple[str, str, str, str]


class Walk:
    """Notes every call from one module of the package into another, until the first search."""

    def __init__(self) -> None:
        self.arrived = False
        self.hops: list[Hop] = []
        self.modules: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Look at one event of ``sys.setprofile``."""
        if event != "call" or not _is_inside(frame):
            return
        stack = _callers(frame)
        if not stack or any(each.f_code.co_name == "<module>" for each in [frame, *stack]):
            return  # an import
        callee, code = _module(frame), frame.f_code
        if ".local_search." in callee and code.co_name in ("__call__", "search_at_prices"):
            self.arrived = True
            sys.setprofile(None)
            return
        self.modules.add(callee)
        caller = _module(stack[0])
        if caller != callee:
            self.hops.append((caller, stack[0].f_code.co_qualname, callee, code.co_qualname))


def _callers(frame: FrameType) -> list[FrameType]:
    """The frames of the package above one, nearest first."""
    found, above = [], frame.f_back
    while above is not None:
        if _is_inside(above):
            found.append(above)
        above = above.f_back
    return found


def _is_inside(frame: FrameType) -> bool:
    return _module(frame).startswith("smdeclust.")


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def package(module: str) -> str:
    """The package of a module: smdeclust.io.read is in io; smdeclust.kernels is on its own."""
    return module.split(".")[1]


def walk() -> Walk:
    """Fit a small table from the command line, up to the first local search."""
    from smdeclust.cli.app import run

    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), N_POINTS // 3)
    X = rng.normal(size=(N_POINTS, N_FEATURES)) + 4 * y[:, None]
    firsts, seconds = rng.permutation(N_POINTS)[: 2 * N_PAIRS].reshape(2, N_PAIRS)
    taken = Walk()
    with tempfile.TemporaryDirectory() as folder:
        points, pairs = Path(folder, "points.csv"), Path(folder, "pairs.csv")
        header = ",".join(f"x{f}" for f in range(N_FEATURES))
        np.savetxt(points, X, fmt="%.4f", delimiter=",", header=header, comments="")
        lines = [
            f"{a},{b},{'must' if y[a] == y[b] else 'cannot'}"
            for a, b in zip(firsts, seconds, strict=True)
        ]
        pairs.write_text("\n".join(["a,b,type", *lines, ""]))
        arguments = ["fit", points, "-k", 3, "--constraints", pairs, "--out", Path(folder, "out")]
        with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
            sys.setprofile(taken)
            code = run([str(each) for each in arguments])
    assert taken.arrived
    assert code == 0
    return taken


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=0, help="how many frequent hops to print")
    parser.add_argument("--sequence", action="store_true", help="print all hops in their order")
    options = parser.parse_args()
    taken = walk()
    between = sum(package(hop[0]) != package(hop[2]) for hop in taken.hops)
    print("| modules | hops | hops between packages |\n|---|---|---|")
    print(f"| {len(taken.modules)} | {len(taken.hops)} | {between} |")
    for hop, times in Counter(taken.hops).most_common(options.pairs):
        print(f"{times:5} {_line(hop)}")
    if options.sequence:
        print(*map(_line, taken.hops), sep="\n")


def _line(hop: Hop) -> str:
    short = [name.removeprefix("smdeclust.") for name in hop]
    return f"{short[0]}:{short[1]} -> {short[2]}:{short[3]}"


if __name__ == "__main__":
    main()
