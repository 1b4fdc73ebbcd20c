"""What your pairs say about the columns: how much each counts in a learned distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from smdeclust.exceptions import InvalidInputError
from smdeclust.plotting import style


def plot_feature_weights(
    distance: Any,
    feature_names: Sequence[str] | None = None,
    *,
    max_features: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw how much each column counts, those that count most on top.

    A bar is the squared length of a step of one standard deviation in that column, 1 on average.
    The mark beside it is the same for Euclid's distance of the data as given, where it is known.

    Parameters
    ----------
    distance
        A fitted :class:`~smdeclust.LearnedDistance`, a fitted ``SMDEClust`` with a learned
        distance, or the weights themselves.
    feature_names
        One name a column. By default those of the data that were fitted, or x0, x1, ...
    max_features
        Most columns to draw.
    ax
        Where to draw. By default a new figure.
    """
    weights, plain, known = _weights(distance)
    names = known if feature_names is None else list(map(str, feature_names))
    names = [f"x{j}" for j in range(len(weights))] if names is None else names
    if len(names) != len(weights):
        raise InvalidInputError(
            f"feature_names has {len(names)} names, but the distance {len(weights)} columns."
        )
    order = np.argsort(-weights, kind="stable")[:max_features]
    ax = style.get_axes(ax, (6.4, 1.2 + 0.26 * len(order)))
    places = np.arange(len(order))
    ax.barh(places, weights[order], color=style.COLORS[0], height=0.7, label="learned distance")
    if plain is not None:
        ax.plot(
            plain[order], places, "D", color=style.COLORS[1], markeredgecolor="white",
            label="Euclid's distance", zorder=3,
        )  # fmt: skip
        style.legend_outside(ax)
    ax.axvline(1.0, color=style.INK, linewidth=0.8, linestyle=style.DASHES)
    ax.set_yticks(places, [names[j] for j in order])
    ax.invert_yaxis()
    ax.set_xlim(left=0.0)
    ax.set_xlabel("how much a column counts (1 on average)")
    if len(order) < len(weights):
        ax.set_title(style.count_of(len(order), len(weights), "column"), fontsize="small")
    style.tidy(ax, "x")
    return ax


def _weights(
    distance: Any,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, list[str] | None]:
    """Weights, those of Euclid's distance, and names of the columns, as far as they are known."""
    names = getattr(distance, "feature_names_in_", None)
    known = None if names is None else [str(name) for name in names]
    learned = getattr(distance, "distance_", distance)
    if learned is None:
        raise InvalidInputError(
            'The model uses Euclid\'s distance, which has no weights. Fit it with metric="learned" '
            'or metric="diagonal".'
        )
    if hasattr(learned, "feature_weights_"):
        return learned.feature_weights_, learned.euclidean_weights_, known
    try:
        weights = np.asarray(learned, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.empty(0)
    if weights.ndim != 1 or len(weights) == 0:
        raise InvalidInputError(
            "distance must be a fitted LearnedDistance, a fitted SMDEClust with a learned "
            "distance, or one weight a column."
        )
    return weights, None, known
