"""The paper's performance profiles, as PNG and SVG."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from smdeclust.io.write import write_bytes
from smdeclust.paper.plan import Plan
from smdeclust.paper.results import TIE, Rows, averages, is_feasible

# metric -> what the axis says, what counts as a tie
METRICS = {
    "objective": ("MSSC objective", TIE),
    "seconds": ("time", 0.0),
    "local_searches": ("local searches", 0.0),
    "local_iterations": ("local search iterations", 0.0),
}

Values = dict[str, dict[str, list[float]]]  # metric -> method -> one value a problem


def values_by_run(plan: Plan, rows: Rows) -> Values:
    """One problem an instance and seed, those that all methods have ended."""
    problems: dict[tuple[str, str, int], dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for run in plan.compared_runs():
        if run.key in rows:
            problem = (run.dataset, run.configuration, run.seed)
            problems[problem][run.method.name] = rows[run.key]
    methods = plan.methods()
    found: Values = {metric: {method: [] for method in methods} for metric in METRICS}
    for by in problems.values():
        if len(by) < len(methods):
            continue
        for method in methods:
            for metric in METRICS:
                column = "cpu_seconds" if metric == "seconds" else metric
                value = by[method][column] if is_feasible(by[method]) else None
                found[metric][method].append(float("nan") if value is None else value)
    return found


def values_by_instance(plan: Plan, rows: Rows) -> Values:
    """One problem an instance, averages over seeds, those that all methods have ended."""
    methods = plan.methods()
    found: Values = {metric: {method: [] for method in methods} for metric in METRICS}
    for by in averages(plan, rows).values():
        if not all(average.n_done for average in by.values()):
            continue
        for method in methods:
            for metric in METRICS:
                feasible = by[method].always_feasible
                value = getattr(by[method], metric) if feasible else float("nan")
                found[metric][method].append(value)
    return found


def write_profiles(values: Values, metrics: Sequence[str], target: Path, title: str) -> list[Path]:
    """Draw one panel a metric; write ``target`` with the ends ``.png`` and ``.svg``.

    Returns the files, none where there is nothing to draw.
    """
    if not any(len(column) for column in values["objective"].values()):
        return []
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from smdeclust.plotting import performance_profile, plot_performance_profile

    n_rows = (len(metrics) + 1) // 2
    with matplotlib.rc_context({"svg.hashsalt": "smdeclust", "svg.fonttype": "none"}):
        figure = Figure(figsize=(10.5, 3.4 * n_rows + 0.3), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(n_rows, 2, squeeze=False)
        for axes, metric in zip(panels.flat, metrics, strict=False):
            label, tie = METRICS[metric]
            profile = performance_profile(values[metric], tie_tol=tie)
            plot_performance_profile(profile, metric=label, ax=axes)
        for axes in panels.flat[len(metrics) :]:
            axes.set_visible(False)
        n_problems = len(next(iter(values["objective"].values())))
        figure.suptitle(f"{title} ({n_problems} problems)", fontsize="medium")
        written = []
        for end, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=end, dpi=150, metadata=metadata)
            path = target.with_name(f"{target.name}.{end}")
            write_bytes(path, buffer.getvalue())
            written.append(path)
    return written
