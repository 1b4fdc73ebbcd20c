"""How large the clusters are, and which bounds on their sizes hold them there."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from smdeclust.exceptions import InvalidInputError
from smdeclust.plotting import style


def plot_sizes(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw a bar for each cluster, and the bounds on its size.

    A bar of the second color touches a bound: that bound is tight, and without it the clusters
    could be better. A line spans from the least to the largest size that the cluster may have.

    Parameters
    ----------
    model
        Fitted with ``size_min`` or ``size_max``.
    ax
        Where to draw. By default a new figure.
    """
    if not hasattr(model, "size_bounds_"):
        raise InvalidInputError(
            "The model has no bounds on sizes: fit it with size_min or size_max first."
        )
    sizes, (low, high) = np.asarray(model.cluster_sizes_), model.size_bounds_.T
    slack = 1e-9 * float(sizes.sum())
    tight = (sizes <= low + slack) | (sizes >= high - slack)
    ax = style.get_axes(ax, (6.4, 1.2 + 0.26 * len(sizes)))
    places = np.arange(len(sizes))
    for chosen, color, name in ((~tight, 0, "between its bounds"), (tight, 1, "at a bound")):
        if chosen.any():
            ax.barh(
                places[chosen], sizes[chosen], color=style.COLORS[color], height=0.7, label=name
            )
    most = 1.05 * float(max(sizes.max(), high[np.isfinite(high)].max(initial=0.0)))
    ax.hlines(places, low, np.minimum(high, most), color=style.INK, linewidth=1.2, zorder=3)
    for ends in (low, high):
        ax.plot(ends, places, "|", color=style.INK, markersize=9, zorder=3)
    ax.set_xlim(0.0, most)
    ax.set_yticks(places, [f"cluster {k}" for k in places])
    ax.invert_yaxis()
    ax.set_xlabel("size")
    style.legend_outside(ax)
    style.tidy(ax, "x")
    return ax
