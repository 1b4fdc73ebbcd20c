"""Run the paper's experiments, or your own plans, and write the report."""

import logging
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from smdeclust.paper.paper import EXPERIMENTS, paper_plan, without_missing_data
from smdeclust.paper.plan import Plan, Run, Skipped, in_order
from smdeclust.paper.report import report
from smdeclust.paper.runner import Listener, Progress, run_all
from smdeclust.paper.store import Outcome, Store

logger = logging.getLogger(__name__)

STORE_NAME = "runs.sqlite"
REPORT_NAME = "reproduction.md"


@dataclass(frozen=True)
class PaperResult:
    """The result of `run_paper` and `run_plans`.

    Attributes
    ----------
    progress
        The numbers of runs that were stored ``before``, that ended ``now``, and that are ``left``.
    skipped
        What each experiment leaves out, and why.
    store, report
        The SQLite file with the runs, and the Markdown file with the report.
    """

    progress: Progress
    skipped: dict[str, tuple[Skipped, ...]]
    store: Path
    report: Path


def run_paper(
    experiments: Sequence[str] | None = None,
    scale: str = "small",
    out: Path | str = "results",
    jobs: int | None = None,
    progress: bool = True,
    *,
    budget: float | None = None,
    retry: bool = False,
) -> PaperResult:
    """Run the paper's experiments, and write a report with tables and figures.

    Every run is stored when it ends. To continue after an interruption, call the function again
    with the same folder.

    Parameters
    ----------
    experiments
        Names from ``"exact"``, ``"soft"``, ``"synthetic"``, ``"large"``, ``"variants"`` and
        ``"violations"``. By default, all experiments are run.
    scale
        ``"smoke"`` (about a minute), ``"small"`` (about 15 minutes) or ``"paper"`` (hours).
    out
        The folder for the stored runs (``runs.sqlite``) and the report (``reproduction.md``).
    jobs
        The number of processes. By default, one per core.
    progress
        Whether to show a progress bar.
    budget
        Stop after this many seconds. The next call continues with the remaining runs.
    retry
        Whether to repeat runs that failed or reached their time limit.
    """
    plans = without_missing_data([paper_plan(name, scale) for name in experiments or EXPERIMENTS])
    return run_plans(plans, scale, out, jobs, progress, budget=budget, retry=retry)


def run_plans(
    plans: Sequence[Plan],
    scale: str = "own",
    out: Path | str = "results",
    jobs: int | None = None,
    progress: bool = True,
    *,
    budget: float | None = None,
    retry: bool = False,
) -> PaperResult:
    """Run your own experiments, and write a report with tables and figures.

    The docstring of `smdeclust.paper` has an example. The parameters after `plans` are those of
    `run_paper`, where `scale` may be any name.
    """
    folder = Path(out)
    runs = in_order(plans)
    with Store(folder / STORE_NAME, writing=True) as store:
        store.save_plans(plans, scale)
        if retry:
            store.forget_failures()
        todo = [run for run in runs if not store.is_done(run)]
        logger.info("%d runs, %d of them done before", len(runs), len(runs) - len(todo))
        with _show_progress(len(runs) - len(todo), len(runs), progress) as on_end:
            done = run_all(runs, store, jobs=jobs, budget=budget, on_end=on_end)
    written = report(folder / STORE_NAME, folder / REPORT_NAME)
    skipped = {plan.name: plan.skipped for plan in plans}
    return PaperResult(done, skipped, folder / STORE_NAME, written)


@contextmanager
def _show_progress(done: int, n_runs: int, shown: bool) -> Iterator[Listener]:
    """Give a listener for ended runs: it moves a bar on standard error where that is a terminal,
    and otherwise writes a line to the log, twice a minute at most."""
    if shown and sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (*Bar.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("runs", total=n_runs, completed=done)
            yield lambda run, _: bar.update(
                task, advance=1, description=f"{run.method.name} on {run.dataset}"
            )
        return
    last, ended = time.monotonic(), done

    def on_end(run: Run, outcome: Outcome) -> None:
        nonlocal last, ended
        ended += 1
        if time.monotonic() - last >= 30.0 or ended == n_runs:
            last = time.monotonic()
            logger.info("%d of %d runs, last: %s", ended, n_runs, run)

    yield on_end
