"""Methods compared: side by side, and by performance profiles (Dolan and More 2002)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    MaxNLocator,
    NullLocator,
    PercentFormatter,
)
from matplotlib.transforms import ScaledTranslation
from numpy.typing import ArrayLike

from smdeclust.exceptions import InvalidInputError
from smdeclust.plotting import style

_TITLES = {
    "objective": "objective\n(% above best valid)",
    "ari": "adjusted Rand index\n(higher is better)",
    "time": "time (s)\n(lower is better)",
}
_HIGHER_IS_BETTER = {"ari", "ami", "nmi"}
_BAR = "#9ecae1"
_BEST = style.COLORS[0]


def plot_comparison(
    results: Mapping[str, Mapping[str, ArrayLike]],
    *,
    metrics: Sequence[str] = ("objective", "ari", "time"),
    ax: Axes | None = None,
) -> Axes:
    """Plot a comparison of methods, with a panel for each metric and a bar for each method.

    A bar is the mean of a method's values, and its whisker is their range. The objective is shown
    as the excess over the best mean of the methods that satisfy all constraints, with the value
    beside the bar. Bars of methods that break constraints are hatched. The best of the other
    bars is dark.

    Parameters
    ----------
    results
        For each method, a dict from metrics to one value or to several values (one for each run).
        NaN means that a run failed. The metric ``"violations"`` is the number of broken pairs. For
        a data frame with one row for each method, pass ``frame.to_dict("index")``.
    metrics
        The metrics to plot, from left to right. Metrics that no method has are left out.
    ax
        The axes to plot on, which get one inset for each metric (``ax.child_axes``). By default, a
        new figure.
    """
    if not results:
        raise InvalidInputError("a comparison needs the results of at least one method.")
    methods, found = list(results), list(results.values())
    present = [m for m in metrics if any(np.isfinite(_values(r, m)).any() for r in found)]
    if not present:
        raise InvalidInputError(
            f"none of the methods has a value of {list(metrics)}; they hold "
            f"{sorted({m for r in found for m in r})}."
        )
    broken = np.array([np.nansum(_values(r, "violations")) > 0 for r in found])
    ax = style.get_axes(ax, (3.2 * len(present) + 1.2, 1.5 + 0.42 * len(methods)))
    ax.set_axis_off()
    # asked for an objective, and none was found in any run
    failed = np.array(
        ["objective" in r and not np.isfinite(_values(r, "objective")).any() for r in found]
    )
    gap = 0.08 if style.inches(ax)[0] < 6.0 else 0.05
    width = (1.0 - gap * (len(present) - 1)) / len(present)
    for position, metric in enumerate(present):
        panel = ax.inset_axes((position * (width + gap), 0.0, width, 1.0))
        values = [_values(r, metric) for r in found]
        _draw_panel(panel, metric, values, broken, failed)
        panel.set_yticks(np.arange(len(methods)), methods if position == 0 else [])
    _draw_legend(ax, broken, any(_values(r, m).size > 1 for r in found for m in present))
    return ax


def _values(result: Mapping[str, Any], metric: str) -> np.ndarray:
    value = result.get(metric)
    return np.atleast_1d(np.asarray(np.nan if value is None else value, dtype=np.float64)).ravel()


def _draw_panel(
    panel: Axes, metric: str, values: list[np.ndarray], broken: np.ndarray, failed: np.ndarray
) -> None:
    """Bars, whiskers and values of one metric."""
    finite = [v[np.isfinite(v)] for v in values]
    mean = np.array([v.mean() if v.size else np.nan for v in finite])
    low = np.array([v.min(initial=np.inf) for v in finite])
    high = np.array([v.max(initial=-np.inf) for v in finite])
    best = _best(metric, mean, broken, failed)
    shown = np.where(np.isfinite(mean), [low, mean, high], np.nan)
    if metric == "objective":
        shown = (shown - mean[best]) * (100.0 / abs(mean[best]) if mean[best] else 1.0)
    low, bar, high = shown
    positive = bar[bar > 0]
    log = metric == "time" and positive.size > 0 and positive.max() > 50 * positive.min()

    rows = np.arange(len(values))
    start = float(10 ** np.floor(np.log10(positive.min()) - 0.3)) if log else 0.0
    ok = np.isfinite(bar)
    lengths = np.maximum(bar[ok], start) - start if log else bar[ok]
    colors = [_BEST if i == best else _BAR for i in rows[ok]]
    looks: dict[str, Any] = {"edgecolor": style.INK, "linewidth": 0.7}
    bars = panel.barh(rows[ok], lengths, 0.62, left=start, color=colors, **looks)
    for patch, is_broken in zip(bars, broken[ok], strict=True):
        if is_broken:
            patch.set_facecolor("white")
            patch.set_hatch("////")
    several = ok & (high > low)
    panel.hlines(rows[several], low[several], high[several], color=style.INK, lw=1.2)
    for end in (low, high):
        panel.plot(end[several], rows[several], ls="", marker="|", ms=6, mew=1.2, color=style.INK)

    if log:
        panel.set_xscale("log")
    elif metric in _HIGHER_IS_BETTER:
        panel.xaxis.set_major_locator(FixedLocator([-1.0, -0.5, 0.0, 0.5, 1.0]))
    else:
        panel.xaxis.set_major_locator(MaxNLocator(4))
    # The axis is wide enough for the value beside each bar.
    reach, least = np.nanmax(np.append(high, start)), min(0.0, np.nanmin(np.append(bar, 0.0)))
    span = (reach - least) or 1.0
    if log:
        panel.set_xlim(start, reach * (reach / start) ** 0.42)
    else:
        panel.set_xlim(least - (0.04 * span if least < 0 else 0), reach + 0.5 * span)
    for row in rows:
        text, place = "no result", start
        if ok[row]:
            text, place = _number(metric, mean[row]), max(high[row], start)
        weight = "bold" if row == best else "normal"
        at: dict[str, Any] = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
        panel.annotate(text, (place, row), fontsize=8, fontweight=weight, color=style.INK, **at)
    panel.set_ylim(len(values) - 0.4, -0.6)
    narrow = style.inches(panel)[0] < 2.0
    panel.set_title(_TITLES.get(metric, metric), fontsize=7 if narrow else 10)
    panel.tick_params(labelsize=8 if narrow else 10)
    panel.tick_params(axis="y", length=0)
    style.tidy(panel, "x")
    if not log and np.nanmin(np.append(low, 0.0)) < 0:
        panel.axvline(0, color=style.INK, lw=0.8)


def _best(metric: str, mean: np.ndarray, broken: np.ndarray, failed: np.ndarray) -> int:
    """Position of the best method that holds the constraints (of all, where none does)."""
    allowed = np.isfinite(mean) & ~broken & ~failed
    if not allowed.any():
        allowed = np.isfinite(mean)
    order = -mean if metric in _HIGHER_IS_BETTER else mean
    return int(np.where(allowed, order, np.inf).argmin())


def _number(metric: str, value: float) -> str:
    """As many digits as a reader compares."""
    if metric == "ari":
        return f"{value:.2f}"
    if abs(value) >= (1e5 if metric == "objective" else 100) and abs(value) < 1e12:
        return f"{value:,.0f}"
    return f"{value:.6g}" if metric == "objective" else f"{value:.3g}"


def _draw_legend(ax: Axes, broken: np.ndarray, several: bool) -> None:
    ink: dict[str, Any] = {"edgecolor": style.INK}
    handles: list[Artist] = [Patch(fc=_BEST, label="best that satisfies all pairs", **ink)]
    if broken.any():
        handles.append(Patch(fc="white", hatch="////", label="breaks constraints", **ink))
    if several:
        looks: dict[str, Any] = {"marker": "|", "ms": 6, "mew": 1.2, "lw": 1.2, "ls": "-"}
        handles.append(style.handle("range over runs", style.INK, **looks))
    # In inches: a share of the height would touch the ticks of a low picture.
    figure = ax.get_figure(root=True)
    assert figure is not None
    below = ax.transAxes + ScaledTranslation(0.0, -0.3, figure.dpi_scale_trans)
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=below,
        ncols=len(handles),
        frameon=False,
        fontsize="small",
    )


# ---- performance profiles: the numbers, and the drawing


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
