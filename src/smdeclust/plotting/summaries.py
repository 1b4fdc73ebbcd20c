"""One figure for each cluster, column or K: sizes, weights of columns, the choice of K."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

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
