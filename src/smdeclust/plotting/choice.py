"""How many clusters: held-out pairs kept and stability against K."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from smdeclust.plotting import style


def plot_choice(choice: Any, ax: Axes | None = None) -> Axes:
    """Draw the table of :func:`smdeclust.choose_n_clusters`.

    Parameters
    ----------
    choice
        What it returned.
    ax
        Axes to draw on; new ones if ``None``.
    """
    axes = style.get_axes(ax)
    rows = [row for row in choice.table if np.isfinite(row.objective)]
    numbers = [row.n_clusters for row in rows]
    if any(np.isfinite(row.kept) for row in rows):
        axes.errorbar(
            numbers,
            [row.kept for row in rows],
            yerr=[row.kept_error for row in rows],
            marker="o",
            capsize=3,
            label="held-out pairs kept",
        )
    axes.plot(numbers, [row.stability for row in rows], "s--", label="stability")
    axes.axvline(choice.n_clusters, linestyle=":", color="0.5", label="recommended")
    axes.set_xlabel("number of clusters")
    axes.set_ylabel("share")
    axes.set_xticks(numbers)
    axes.legend()
    style.tidy(axes, "y")
    return axes
