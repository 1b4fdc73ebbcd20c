"""Drawing of performance profiles."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator, PercentFormatter
from numpy.typing import ArrayLike, NDArray

from smdeclust.plotting import style
from smdeclust.plotting.profile import PerformanceProfile, performance_profile


def plot_performance_profile(
    profile: PerformanceProfile | Mapping[str, ArrayLike],
    *,
    metric: str = "",
    max_tau: float | None = None,
    log: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of problems that each method solves within a factor tau of the best.

    Parameters
    ----------
    profile
        A computed profile, or the values to compute one from
        (see :func:`~smdeclust.plotting.performance_profile`).
    metric
        What was compared, for the axis label.
    max_tau
        The largest factor drawn. By default the largest finite ratio.
    log
        Logarithmic factors. By default where they reach 4 and more.
    ax
        Where to draw. By default a new figure.

    Returns
    -------
    Axes
        The axes drawn on.
    """
    if not isinstance(profile, PerformanceProfile):
        profile = performance_profile(profile)
    ax = style.get_axes(ax, (6.4, 3.8))
    tau = profile.breakpoints()
    end = max_tau if max_tau is not None else 1.0 + 1.06 * (tau[-1] - 1.0)
    end = max(end, 1.0 + 1e-9) if tau[-1] > 1.0 or max_tau is not None else 1.1
    use_log = end >= 4.0 if log is None else log
    tau = np.append(tau[tau < end], end)
    shares = profile.at(tau)

    for s, (method, share) in enumerate(zip(profile.methods, shares, strict=True)):
        line = style.series_style(s)
        ax.step(
            tau,
            share,
            where="post",
            label=f"{method} (best on {share[0]:.0%})",
            markevery=_marked(tau, s, len(profile.methods), use_log),
            clip_on=False,
            zorder=3 + 0.01 * s,
            **line,
        )
    if use_log:
        ax.set_xscale("log", base=2 if end < 64 else 10)
        if end < 64:
            ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(6))
        ax.ticklabel_format(axis="x", useOffset=False)
    ax.set_xlim(1.0, end)
    ax.set_ylim(0.0, 1.02)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set_xlabel(r"factor $\tau$ of the best" + (f" {metric}" if metric else ""))
    ax.set_ylabel("share of problems")
    style.tidy(ax, "both")
    style.legend_outside(ax)
    return ax


def _marked(tau: NDArray[np.float64], s: int, n_series: int, log: bool) -> list[int]:
    """A few positions along the curve, shifted from curve to curve so that markers do not meet."""
    place = np.log(tau) if log else tau
    wanted = place[0] + (place[-1] - place[0]) * (np.arange(5) + (s + 0.5) / n_series) / 5
    return sorted({int(i) for i in np.abs(place[:, None] - wanted).argmin(axis=0)})
