"""One picture of a fit: its run, the sizes, the weights of columns, the choice of K."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from smdeclust.exceptions import InvalidInputError
from smdeclust.plotting import style


def plot_choice(choice: Any, ax: Axes | None = None) -> Axes:
    """Plot the table of a `choice` that :func:`smdeclust.choose_n_clusters` returned."""
    axes = style.get_axes(ax)
    rows = [row for row in choice.table if np.isfinite(row.objective)]
    numbers, kept, error, stability = (
        [getattr(row, name) for row in rows]
        for name in ("n_clusters", "kept", "kept_error", "stability")
    )
    if np.isfinite(kept).any():
        axes.errorbar(
            numbers, kept, yerr=error, marker="o", capsize=3, label="held-out pairs satisfied"
        )
    axes.plot(numbers, stability, "s--", label="stability")
    axes.axvline(choice.n_clusters, linestyle=":", color="0.5", label="recommended")
    axes.set_xlabel("number of clusters")
    axes.set_ylabel("share")
    axes.set_xticks(numbers)
    axes.legend()
    style.tidy(axes, "y")
    return axes


def plot_sizes(model: Any, *, quota: int | None = None, ax: Axes | None = None) -> Axes:
    """Plot the size of each cluster, or the amount of a quota in it, with its bounds.

    A line spans from the lower to the upper bound. A bar has the second color if it reaches a
    bound, so that a wider bound could improve the clusters.

    Parameters
    ----------
    model
        A model that was fitted with ``size_min``, ``size_max`` or quotas.
    quota
        The position of the quota in ``model.quotas_``. By default, sizes are plotted.
    ax
        The axes to plot on. By default, a new figure.
    """
    given: Any = getattr(model, "size_bounds_", None) if quota is None else model.quotas_
    if given is None or (quota is not None and not 0 <= quota < len(given)):
        raise InvalidInputError(
            "The model has no bounds on sizes: fit it with size_min or size_max first."
            if quota is None
            else f"The model has {len(given)} quotas, numbered from 0; there is no quota={quota}."
        )
    if quota is None:
        held, (low, high), words = np.asarray(model.cluster_sizes_), given.T, "size"
    else:
        which = given[quota]
        held, value = which["held"], "" if which["value"] is None else f" {which['value']}"
        words = f"{which['of']} of {which['name']}{value}"
        ends = (-np.inf, which["low"]), (np.inf, which["high"])
        low, high = (
            np.broadcast_to(free if end is None else end, held.shape) for free, end in ends
        )
    slack = 1e-9 * float(np.abs(held).sum())
    tight = (held <= low + slack) | (held >= high - slack)
    ax, places = _bars(ax, [f"cluster {k}" for k in range(len(held))], words)
    for chosen, color, name in ((~tight, 0, "between its bounds"), (tight, 1, "at a bound")):
        if chosen.any():
            ax.barh(places[chosen], held[chosen], 0.7, color=style.COLORS[color], label=name)
    every = np.concatenate([held, low, high, [0.0]])
    every = every[np.isfinite(every)]
    least, most = 1.05 * every.min(), 1.05 * every.max()
    left, right = np.maximum(low, least), np.minimum(high, most)
    ax.hlines(places, left, right, color=style.INK, linewidth=1.2, zorder=3)
    for ends in (low, high):
        ax.plot(ends, places, "|", color=style.INK, markersize=9, zorder=3)
    ax.set_xlim(least, most)
    style.legend_outside(ax)
    return ax


def plot_feature_weights(
    distance: Any,
    feature_names: Sequence[str] | None = None,
    *,
    max_features: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Plot how much each column counts in a learned distance, from most to least.

    A bar is the squared length of a step of one standard deviation. The mean is 1. The mark beside
    the bar is the same value for the Euclidean distance, if it is known.

    Parameters
    ----------
    distance
        A fitted :class:`~smdeclust.LearnedDistance`, a fitted ``SMDEClust`` with a learned
        distance, or the weights.
    feature_names
        The name of each column. By default, those of the fitted data, or x0, x1, ...
    max_features
        The maximum number of columns in the plot.
    ax
        The axes to plot on. By default, a new figure.
    """
    weights, plain = _weights(distance)
    names = getattr(distance, "feature_names_in_", None) if feature_names is None else feature_names
    names = [f"x{j}" for j in range(len(weights))] if names is None else list(map(str, names))
    if len(names) != len(weights):
        raise InvalidInputError(
            f"feature_names has {len(names)} names, but the distance has {len(weights)} columns."
        )
    order = np.argsort(-weights, kind="stable")[:max_features]
    label = "how much a column counts (1 on average)"
    ax, places = _bars(ax, [names[j] for j in order], label)
    ax.barh(places, weights[order], 0.7, color=style.COLORS[0], label="learned distance")
    if plain is not None:
        looks: dict[str, Any] = {"color": style.COLORS[1], "markeredgecolor": "white", "zorder": 3}
        ax.plot(plain[order], places, "D", label="Euclidean distance", **looks)
        style.legend_outside(ax)
    ax.axvline(1.0, color=style.INK, linewidth=0.8, linestyle=style.DASHES)
    ax.set_xlim(left=0.0)
    if len(order) < len(weights):
        ax.set_title(style.count_of(len(order), len(weights), "column"), fontsize="small")
    return ax


def _bars(ax: Axes | None, names: list[str], label: str) -> tuple[Axes, np.ndarray]:
    """Axes for a horizontal bar by each name, the first on top, and where the bars go."""
    ax = style.get_axes(ax, (6.4, 1.2 + 0.26 * len(names)))
    places = np.arange(len(names))
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.set_xlabel(label)
    style.tidy(ax, "x")
    return ax, places


def _weights(distance: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Weights of a distance, and those of the Euclidean distance where they are known."""
    learned = getattr(distance, "distance_", distance)
    if learned is None:
        raise InvalidInputError(
            "The model uses the Euclidean distance, which has no weights. Fit it with "
            'metric="learned" or metric="diagonal".'
        )
    if hasattr(learned, "feature_weights_"):
        return learned.feature_weights_, learned.euclidean_weights_
    try:
        weights = np.asarray(learned, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.empty(0)
    if weights.ndim != 1 or len(weights) == 0:
        raise InvalidInputError(
            "distance must be a fitted LearnedDistance, a fitted SMDEClust with a learned "
            "distance, or one weight per column."
        )
    return weights, None


# ---- a run of the search: objectives and diversity of its populations


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
