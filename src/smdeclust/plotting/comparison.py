"""Several methods side by side: objective, agreement with known classes, time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, MaxNLocator
from matplotlib.transforms import ScaledTranslation
from numpy.typing import ArrayLike, NDArray

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
    """Draw one panel of bars a metric, one bar a method.

    A bar is the mean of a method's values and its whisker their range. The objective is shown as
    the excess over the best mean among the methods that hold all constraints, so that small
    differences can be seen on an axis that starts at zero; the value itself stands beside the
    bar. Methods that break constraints are hatched, since their objective solves another problem.
    The best valid method of each panel is dark, its value bold.

    Parameters
    ----------
    results
        For each method a mapping of metric to a value or to several (one a run). Besides the
        metrics drawn, ``"violations"`` (broken pairs) is looked at. NaN says that a run failed.
        Of a data frame with one row a method, pass ``frame.to_dict("index")``.
    metrics
        Which ones, from left to right; those that no method has are left out.
    ax
        Where to draw: its area is divided into one inset axes a metric (``ax.child_axes``). By
        default a new figure.

    Returns
    -------
    Axes
        The axes divided.
    """
    if not results:
        raise InvalidInputError("a comparison needs the results of at least one method.")
    methods = list(results)
    present = [
        m for m in metrics if any(np.isfinite(_values(results[r], m)).any() for r in methods)
    ]
    if not present:
        raise InvalidInputError(
            f"none of the methods has a value of {list(metrics)}; they hold "
            f"{sorted({m for r in results.values() for m in r})}."
        )
    broken = np.array(
        [np.nansum(_values(results[method], "violations")) > 0 for method in methods], dtype=bool
    )
    ax = style.get_axes(ax, (3.2 * len(present) + 1.2, 1.5 + 0.42 * len(methods)))
    ax.set_axis_off()
    failed = np.array([_failed(results[method]) for method in methods])
    gap = 0.08 if style.inches(ax)[0] < 6.0 else 0.05
    width = (1.0 - gap * (len(present) - 1)) / len(present)
    for position, metric in enumerate(present):
        panel = ax.inset_axes((position * (width + gap), 0.0, width, 1.0))
        values = [_values(results[m], metric) for m in methods]
        _draw_panel(panel, metric, values, broken, failed)
        panel.set_yticks(np.arange(len(methods)), methods if position == 0 else [])
    _draw_legend(ax, broken, any(_values(results[r], m).size > 1 for r in methods for m in present))
    return ax


def _values(result: Mapping[str, Any], metric: str) -> NDArray[np.float64]:
    value = result.get(metric)
    return np.atleast_1d(np.asarray(np.nan if value is None else value, dtype=np.float64)).ravel()


def _failed(result: Mapping[str, Any]) -> bool:
    """Whether a method was asked for an objective and found none in any run."""
    return "objective" in result and not np.isfinite(_values(result, "objective")).any()


def _draw_panel(
    panel: Axes,
    metric: str,
    values: list[NDArray[np.float64]],
    broken: NDArray[np.bool_],
    failed: NDArray[np.bool_],
) -> None:
    """Bars, whiskers and values of one metric."""
    finite = [v[np.isfinite(v)] for v in values]
    mean = np.array([v.mean() if v.size else np.nan for v in finite])
    low = np.array([v.min() if v.size else np.nan for v in finite])
    high = np.array([v.max() if v.size else np.nan for v in finite])
    best = _best(metric, mean, broken, failed)
    shown, shown_low, shown_high = mean, low, high
    if metric == "objective":
        reference = mean[best]
        scale = 100.0 / abs(reference) if reference else 1.0
        shown, shown_low, shown_high = ((v - reference) * scale for v in (mean, low, high))
    positive = shown[np.isfinite(shown) & (shown > 0)]
    log = metric == "time" and positive.size > 0 and positive.max() > 50 * positive.min()

    rows = np.arange(len(values))
    start = 10 ** np.floor(np.log10(positive.min()) - 0.3) if log else 0.0
    ok = np.isfinite(shown)
    bars = panel.barh(
        rows[ok],
        np.where(log, np.maximum(shown[ok], start) - start, shown[ok]),
        left=start,
        height=0.62,
        color=[_BEST if i == best else _BAR for i in rows[ok]],
        edgecolor=style.INK,
        linewidth=0.7,
    )
    for bar, is_broken in zip(bars, broken[ok], strict=True):
        if is_broken:
            bar.set_facecolor("white")
            bar.set_hatch("////")
    several = ok & (shown_high > shown_low)
    panel.hlines(rows[several], shown_low[several], shown_high[several], color=style.INK, lw=1.2)
    for end in (shown_low, shown_high):
        panel.plot(end[several], rows[several], ls="", marker="|", ms=6, mew=1.2, color=style.INK)

    if log:
        panel.set_xscale("log")
    elif metric in _HIGHER_IS_BETTER:
        panel.xaxis.set_major_locator(FixedLocator([-1.0, -0.5, 0.0, 0.5, 1.0]))
    else:
        panel.xaxis.set_major_locator(MaxNLocator(4))
    _label_bars(panel, metric, shown, shown_high, mean, start, log, best)
    panel.set_ylim(len(values) - 0.4, -0.6)
    narrow = style.inches(panel)[0] < 2.0
    panel.set_title(_TITLES.get(metric, metric), fontsize=7 if narrow else 10)
    panel.tick_params(labelsize=8 if narrow else 10)
    panel.tick_params(axis="y", length=0)
    style.tidy(panel, "x")
    if not log and np.nanmin(np.append(shown_low, 0.0)) < 0:
        panel.axvline(0, color=style.INK, lw=0.8)


def _best(
    metric: str,
    mean: NDArray[np.float64],
    broken: NDArray[np.bool_],
    failed: NDArray[np.bool_],
) -> int:
    """Position of the best method that holds the constraints (of all, where none does)."""
    allowed = np.isfinite(mean) & ~broken & ~failed
    if not allowed.any():
        allowed = np.isfinite(mean)
    order = -mean if metric in _HIGHER_IS_BETTER else mean
    return int(np.where(allowed, order, np.inf).argmin())


def _label_bars(
    panel: Axes,
    metric: str,
    shown: NDArray[np.float64],
    high: NDArray[np.float64],
    mean: NDArray[np.float64],
    start: float,
    log: bool,
    best: int,
) -> None:
    """Write the value beside each bar and widen the axis for the text."""
    reach = np.nanmax(np.append(high, start if log else 0.0))
    least = start if log else min(0.0, float(np.nanmin(np.append(shown, 0.0))))
    if log:
        panel.set_xlim(start, reach * (reach / start) ** 0.42)
    else:
        span = (reach - least) or 1.0
        panel.set_xlim(least - (0.04 * span if least < 0 else 0), reach + 0.5 * span)
    for row, (value, top, raw) in enumerate(zip(shown, high, mean, strict=True)):
        if not np.isfinite(value):
            text, place = "no result", start if log else 0.0
        else:
            text, place = _number(metric, raw), max(top, start)
        panel.annotate(
            text,
            (place, row),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            fontweight="bold" if row == best else "normal",
            color=style.INK,
        )


def _number(metric: str, value: float) -> str:
    """As many digits as a reader compares."""
    if metric == "ari":
        return f"{value:.2f}"
    if abs(value) >= (1e5 if metric == "objective" else 100) and abs(value) < 1e12:
        return f"{value:,.0f}"
    return f"{value:.6g}" if metric == "objective" else f"{value:.3g}"


def _draw_legend(ax: Axes, broken: NDArray[np.bool_], several: bool) -> None:
    handles: list[Patch | Line2D] = [
        Patch(facecolor=_BEST, edgecolor=style.INK, label="best that holds all constraints")
    ]
    if broken.any():
        handles.append(
            Patch(facecolor="white", edgecolor=style.INK, hatch="////", label="breaks constraints")
        )
    if several:
        handles.append(
            style.handle("range over runs", style.INK, marker="|", ms=6, mew=1.2, lw=1.2, ls="-")
        )
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
