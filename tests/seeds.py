"""The command of a fuzzer: check one instance for each of many seeds."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def run(check: Callable[[int], str | None], doc: str | None, instances: int = 2000) -> None:
    """Print what `check` says is wrong with each seed, then how many seeds disagree."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--instances", type=int, default=instances)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    wrong = 0
    for seed in range(given.first, given.first + given.instances):
        found = check(seed)
        if found is not None:
            wrong += 1
            print(f"seed {seed}: {found}", flush=True)
    print(f"{given.instances} instances, {wrong} disagreements")
