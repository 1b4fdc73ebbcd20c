"""Convergence of a run: best, mean and worst objective of the population."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from smdeclust.plotting import style
from smdeclust.plotting.inputs import extend_last, history_columns, history_x


def plot_convergence(
    history: Mapping[str, Any],
    *,
    x: str = "generation",
    reference: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the population's objective values fall during a run.

    Parameters
    ----------
    history
        The ``history_`` of a fitted model.
    x
        ``"generation"``, ``"evaluations"`` (local searches so far) or ``"time"``.
    reference
        An objective to compare with, such as the best known one or a lower bound.
    ax
        Where to draw. By default a new figure.

    Returns
    -------
    Axes
        The axes drawn on.
    """
    x_label = history_x(x)
    step, best, mean, worst = (
        extend_last(column, is_x=i == 0)
        for i, column in enumerate(history_columns(history, x, "best", "mean", "worst"))
    )
    ax = style.get_axes(ax, (6.8, 3.8))
    # Between two records nothing changed: steps, not slopes.
    ax.fill_between(step, best, worst, step="post", color=style.COLORS[5], alpha=0.25, lw=0)
    for values, name, line in (
        (best, "best", {"color": style.COLORS[0], "lw": 2.0, "zorder": 3}),
        (mean, "mean", {"color": style.COLORS[6], "ls": style.LINE_STYLES[1], "lw": 1.4}),
        (worst, "worst", {"color": "#777777", "ls": style.LINE_STYLES[2], "lw": 1.4}),
    ):
        ax.step(step, values, where="post", label=name, **line)
    first = int((best <= best[-1]).argmax())
    ax.plot(
        step[first],
        best[first],
        ls="",
        marker="o",
        ms=7,
        mfc="white",
        mec=style.COLORS[0],
        mew=1.6,
        label=f"best found ({best[first]:.6g})",
        zorder=4,
        clip_on=False,
    )
    if reference is not None:
        ax.axhline(
            reference,
            color=style.INK,
            lw=1.0,
            zorder=3.5,
            ls=style.LINE_STYLES[3],
            label=f"reference ({reference:.6g})",
        )
    ax.set_xlabel(x_label)
    ax.set_ylabel("objective")
    ax.set_xlim(step[0], step[-1])
    if x != "time":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.tidy(ax, "y")
    style.legend_outside(ax)
    return ax
