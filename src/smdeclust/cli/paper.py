"""``smdeclust paper``: the experiments of the paper, by the room ``smdeclust.paper``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from smdeclust.cli import options, screen


def paper(
    experiment: list[str] | None = None,
    scale: str = "smoke",
    out: Path = Path("results"),
    jobs: Annotated[int | None, {"min": 1}] = None,
    budget: Annotated[float | None, {"min": 0}] = None,
    retry: bool = False,
    as_json: options.AsJson = False,
) -> None:
    """Run the experiments of the paper, and write their tables and figures.

    Run it again with the same folder to continue after an interruption. Data come from
    SMDECLUST_DATA or are downloaded; the scale smoke downloads nothing.

    Example:
      smdeclust paper --experiment variants --scale smoke --out results

    Options:
      --experiment -e NAME: One of violations, variants, synthetic, large, exact, soft; repeat for
        several (default: all).
      --scale smoke|small|paper: How much to run: smoke takes a minute, small a quarter of an hour,
        and paper, which runs everything, hours.
      --out -o DIR: Folder for results; a run with the same folder resumes.
      --jobs -j N: Number of processes (default: one per core).
      --budget SECONDS: Time limit; the next call continues.
      --retry: Repeat runs that failed before.
    """
    from smdeclust.paper import run_paper

    chosen = None if not experiment or "all" in experiment else experiment
    result = run_paper(chosen, scale, out, jobs, budget=budget, retry=retry)
    done = result.progress
    document: dict[str, Any] = {
        "scale": scale,
        "runs": {"before": done.before, "now": done.now, "left": done.left},
        "store": str(result.store),
        "report": str(result.report),
        "skipped": {
            name: [{"what": entry.what, "why": entry.reason} for entry in entries]
            for name, entries in result.skipped.items()
        },
    }
    if as_json:
        screen.print_json(document)
        return
    counts = {"runs done before": done.before, "runs done now": done.now, "runs left": done.left}
    rows = [(name, f"{count:,}") for name, count in counts.items()]
    screen.print_table([*rows, ("results", document["store"]), ("report", document["report"])])
    for name, entries in result.skipped.items():
        if entries:
            left_out = ", ".join(entry.what for entry in entries)
            screen.note(f"{name}: left out: {left_out}. The report says why.")
