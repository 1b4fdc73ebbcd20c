"""Diversity of the population during a run: the quantity of the paper's first stopping rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from smdeclust.plotting import style
from smdeclust.plotting.inputs import extend_last, history_columns, history_x


def plot_diversity(
    history: Mapping[str, Any],
    *,
    x: str = "generation",
    tol: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the sum of pairwise differences of the population's objective values.

    The scale is logarithmic; a population that has collapsed to one value (diversity 0) is shown
    on a short linear piece below the smallest positive value or `tol`.

    Parameters
    ----------
    history
        The ``history_`` of a fitted model.
    x
        ``"generation"``, ``"evaluations"`` (local searches so far) or ``"time"``.
    tol
        The diversity at which the run stops, drawn as a line.
    ax
        Where to draw. By default a new figure.

    Returns
    -------
    Axes
        The axes drawn on.
    """
    x_label = history_x(x)
    step, diversity = (
        extend_last(column, is_x=i == 0)
        for i, column in enumerate(history_columns(history, x, "diversity"))
    )
    ax = style.get_axes(ax, (6.8, 3.8))
    ax.step(step, diversity, where="post", color=style.COLORS[0], lw=1.8, label="diversity")
    positive = diversity[diversity > 0]
    if tol is not None and tol > 0:
        ax.axhline(
            tol, color=style.INK, lw=1.0, ls=style.LINE_STYLES[1], label=f"stop below {tol:g}"
        )
        positive = np.append(positive, tol)
    if positive.size:
        if (diversity <= 0).any():
            threshold = 10.0 ** np.floor(np.log10(positive.min()))
            ax.set_yscale("symlog", linthresh=threshold, linscale=0.5)
            ax.set_ylim(bottom=-0.15 * threshold)
        else:
            ax.set_yscale("log")
    ax.set_xlabel(x_label)
    ax.set_ylabel(r"diversity  $\sum_{s<t}\,|f_s - f_t|$")
    ax.set_xlim(step[0], step[-1])
    if x != "time":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.tidy(ax, "y")
    style.legend_outside(ax)
    return ax
