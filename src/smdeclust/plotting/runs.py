"""A run of the search: objectives and diversity of its populations."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from smdeclust.exceptions import InvalidInputError
from smdeclust.plotting import style

HISTORY_X = {"generation": "generation", "evaluations": "local searches", "time": "time (s)"}


def plot_convergence(
    history: Mapping[str, Any],
    *,
    x: str = "generation",
    reference: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the objectives of the population during a run.

    Parameters
    ----------
    history
        The ``history_`` of a fitted model.
    x
        ``"generation"``, ``"evaluations"`` (local searches so far) or ``"time"``.
    reference
        An objective to compare with, such as the best known objective or a lower bound.
    ax
        The axes to plot on. By default, a new figure.
    """
    step, best, mean, worst = _steps(history, x, "best", "mean", "worst")
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
    ring: dict[str, Any] = {"ms": 7, "mfc": "white", "mec": style.COLORS[0], "mew": 1.6}
    found = f"best found ({best[first]:.6g})"
    ax.plot(step[first], best[first], "o", label=found, zorder=4, clip_on=False, **ring)
    if reference is not None:
        rule: dict[str, Any] = {"color": style.INK, "lw": 1.0, "ls": style.LINE_STYLES[3]}
        ax.axhline(reference, zorder=3.5, label=f"reference ({reference:.6g})", **rule)
    return _finished(ax, x, step, "objective")


def plot_diversity(
    history: Mapping[str, Any],
    *,
    x: str = "generation",
    tol: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot how different the objectives of the population are during a run.

    The diversity is the sum of pairwise differences. Its scale is logarithmic, except for a short
    linear part at the bottom that includes 0.

    Parameters
    ----------
    history, x
        As for :func:`~smdeclust.plotting.plot_convergence`.
    tol
        The diversity at which the run stops, which is plotted as a line.
    ax
        The axes to plot on. By default, a new figure.
    """
    step, diversity = _steps(history, x, "diversity")
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
    return _finished(ax, x, step, r"diversity  $\sum_{s<t}\,|f_s - f_t|$")


def _steps(history: Mapping[str, Any], x: str, *names: str) -> list[np.ndarray]:
    """The x column and others, with the last record repeated so that its step has a width."""
    if x not in HISTORY_X:
        raise InvalidInputError(f"x must be one of {sorted(HISTORY_X)}, not {x!r}.")
    missing = [name for name in (x, *names) if name not in history]
    if missing:
        raise InvalidInputError(
            f"the history has no {missing[0]!r}; it holds {sorted(history)}. "
            "Pass the history_ of a fitted SMDEClust."
        )
    step, *columns = (np.asarray(history[name], dtype=np.float64) for name in (x, *names))
    shapes = {name: c.shape for name, c in zip((x, *names), (step, *columns), strict=True)}
    if len(set(shapes.values())) != 1 or step.ndim != 1 or step.size == 0:
        raise InvalidInputError(
            "the columns of a history must be one-dimensional, of one length and not empty; got "
            + ", ".join(f"{name}: {shape}" for name, shape in shapes.items())
        )
    end = step[-1] + (0.02 * (step[-1] - step[0]) or 1.0)
    return [np.append(step, end), *(np.append(column, column[-1]) for column in columns)]


def _finished(ax: Axes, x: str, step: np.ndarray, y_label: str) -> Axes:
    ax.set_xlabel(HISTORY_X[x])
    ax.set_ylabel(y_label)
    ax.set_xlim(step[0], step[-1])
    if x != "time":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.tidy(ax, "y")
    style.legend_outside(ax)
    return ax
