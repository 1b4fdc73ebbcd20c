"""Performance profiles of Dolan and More (2002): the numbers, and the drawing."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator, PercentFormatter
from numpy.typing import ArrayLike

from smdeclust.exceptions import InvalidInputError
from smdeclust.plotting import style


@dataclass(frozen=True)
class PerformanceProfile:
    """The result of `performance_profile`.

    Attributes
    ----------
    methods
        The names of the S methods.
    ratios
        The (P, S) values of the methods on the P problems, divided by the best value of the
        problem. The ratio is infinite if the method failed.
    """

    methods: tuple[str, ...]
    ratios: np.ndarray

    def at(self, tau: ArrayLike) -> np.ndarray:
        """Return the share of problems with a ratio of at most `tau`, one row for each method."""
        tau = np.atleast_1d(np.asarray(tau, dtype=np.float64))
        ordered = np.sort(self.ratios, axis=0)
        # A failure stays one at any factor, infinity included.
        ended = np.isfinite(ordered).sum(axis=0)
        counts = [
            np.minimum(np.searchsorted(column, tau, side="right"), n)
            for column, n in zip(ordered.T, ended, strict=True)
        ]
        return np.array(counts) / len(self.ratios)

    def breakpoints(self) -> np.ndarray:
        """Return the ratios at which a curve jumps, in increasing order from 1."""
        finite = self.ratios[np.isfinite(self.ratios)]
        return np.union1d(1.0, finite)


def performance_profile(
    values: Mapping[str, ArrayLike], *, tie_tol: float = 0.0
) -> PerformanceProfile:
    """Compute the performance profile (Dolan and Moré 2002) of several methods.

    Parameters
    ----------
    values
        For each method, one value for each problem, in the same order. Smaller is better. NaN or
        infinity means that the method failed.
    tie_tol
        Ratios up to ``1 + tie_tol`` count as 1, because such differences are rounding errors.
    """
    if not values:
        raise InvalidInputError("a performance profile needs at least one method.")
    methods = tuple(values)
    columns = [np.asarray(values[m], dtype=np.float64) for m in methods]
    shapes = {m: c.shape for m, c in zip(methods, columns, strict=True)}
    if len(set(shapes.values())) != 1 or columns[0].ndim != 1 or columns[0].size == 0:
        raise InvalidInputError(
            "each method needs one value for each problem, the same problems for all; "
            f"the shapes are {shapes}."
        )
    table = np.column_stack(columns)
    table = np.where(np.isnan(table), np.inf, table)
    if (table < 0).any():
        problem, method = np.argwhere(table < 0)[0]
        raise InvalidInputError(
            f"values must not be negative; {methods[method]!r} has {table[problem, method]:g} on "
            f"problem {problem}. Shift or invert the metric first."
        )
    best = table.min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = table / best
    ratios = np.where(table == best, 1.0, ratios)  # 0 / 0 is a tie
    ratios = np.where(np.isinf(table), np.inf, ratios)  # also where all failed
    ratios = np.where(ratios <= 1.0 + tie_tol, 1.0, ratios)
    return PerformanceProfile(methods, ratios)


def plot_performance_profile(
    profile: PerformanceProfile | Mapping[str, ArrayLike],
    *,
    metric: str = "",
    max_tau: float | None = None,
    log: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot a performance profile of several methods.

    For each method and each ratio tau, it shows the share of problems on which the method's value
    is at most tau times the best value of all methods.

    Parameters
    ----------
    profile
        The result of :func:`~smdeclust.plotting.performance_profile`, or the values for it.
    metric
        The name of the compared quantity, for the axis.
    max_tau
        The largest ratio in the plot. By default, the largest finite ratio.
    log
        Whether the axis is logarithmic. By default, it is if the ratios reach 4.
    ax
        The axes to plot on. By default, a new figure.
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
        line = style.series_style(s) | {"clip_on": False, "zorder": 3 + 0.01 * s}
        line["markevery"] = _marked(tau, s, len(profile.methods), use_log)
        ax.step(tau, share, where="post", label=f"{method} (best on {share[0]:.0%})", **line)
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
    ax.set_xlabel(f"{metric or 'value'} relative to the best method, $\\tau$")
    ax.set_ylabel("share of problems")
    style.tidy(ax, "both")
    style.legend_outside(ax)
    return ax


def _marked(tau: np.ndarray, s: int, n_series: int, log: bool) -> list[int]:
    """A few positions along the curve, shifted from curve to curve so that markers do not meet."""
    place = np.log(tau) if log else tau
    wanted = place[0] + (place[-1] - place[0]) * (np.arange(5) + (s + 0.5) / n_series) / 5
    return sorted({int(i) for i in np.abs(place[:, None] - wanted).argmin(axis=0)})
