"""Several methods side by side: objective, agreement with known classes, time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, MaxNLocator
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
