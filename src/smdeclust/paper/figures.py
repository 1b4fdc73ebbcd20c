"""The paper's performance profiles, as PNG and SVG."""

from __future__ import annotations

import io
from pathlib import Path

from smdeclust.io.write import write_bytes
from smdeclust.paper.results import TIE, Values

# metric -> what the axis says
AXES = {
    "objective": "MSSC objective",
    "seconds": "time",
    "local_searches": "local searches",
    "local_iterations": "local search iterations",
}


def write_profiles(values: Values, target: Path, title: str) -> list[Path]:
    """Draw one panel a metric; write ``target`` with the ends ``.png`` and ``.svg``.

    Returns the files, none where there is nothing to draw.
    """
    if not any(len(column) for column in values["objective"].values()):
        return []
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from smdeclust.plotting import performance_profile, plot_performance_profile

    with matplotlib.rc_context({"svg.hashsalt": "smdeclust", "svg.fonttype": "none"}):
        figure = Figure(figsize=(10.5, 7.1), layout="constrained")
        FigureCanvasAgg(figure)
        for axes, metric in zip(figure.subplots(2, 2).flat, AXES, strict=True):
            profile = performance_profile(
                values[metric], tie_tol=TIE if metric == "objective" else 0.0
            )
            plot_performance_profile(profile, metric=AXES[metric], ax=axes)
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
