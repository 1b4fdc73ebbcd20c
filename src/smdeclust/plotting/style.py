"""What all pictures share: colors, markers and lines, readable in gray and if color-blind."""

import io
from collections.abc import Callable, Sequence
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib import patheffects
from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

# After Okabe and Ito, with the wine of Tol in place of their yellow, which vanishes on white paper,
# and the blue a little darker: the first three (blue, orange, green) stay distinct in gray as well.
COLORS = (
    "#005A9C",  # blue
    "#E69F00",  # orange
    "#009E73",  # green
    "#CC79A7",  # pink
    "#882255",  # wine
    "#56B4E9",  # sky blue
    "#D55E00",  # vermilion
    "#222222",  # near black
)
# 13 is prime to 8: cycling both at once gives 104 different pairs of color and marker.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "p", ">", "h", "d", "*")
LINE_STYLES: tuple[Any, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1.2, 1.4)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (9, 2.5)),
    (0, (4, 1.2, 1.2, 1.2, 1.2, 1.2)),
    (0, (2.5, 1.2)),
)

INK = "#222222"
MUST_LINK = "#111111"
CANNOT_LINK = "#666666"
VIOLATED = "#C00000"
DASHES: tuple[float, tuple[float, float]] = (0, (4, 2.5))

# More clusters than this are named in the picture instead of the legend.
MAX_LEGEND_CLUSTERS = 16


def cluster_style(k: int) -> tuple[str, str]:
    """Color and marker of cluster number `k`; both change from one cluster to the next."""
    return COLORS[k % len(COLORS)], MARKERS[k % len(MARKERS)]


def cluster_colors(places: np.ndarray) -> list[str]:
    """One color per cluster: of few that of its number; of many, equal ones are far apart."""
    n_clusters = len(places)
    if n_clusters <= MAX_LEGEND_CLUSTERS:
        return [cluster_style(k)[0] for k in range(n_clusters)]
    chosen = np.full(n_clusters, -1)
    for k in range(n_clusters):
        distance = np.linalg.norm(places[:k] - places[k], axis=1)
        # Color and marker together stay different.
        distance[np.arange(k) % len(MARKERS) == k % len(MARKERS)] *= 1e-6
        nearest = [distance[chosen[:k] == c].min(initial=np.inf) for c in range(len(COLORS))]
        chosen[k] = int(np.argmax(nearest))
    return [COLORS[c] for c in chosen]


def series_style(s: int) -> dict[str, Any]:
    """Line keywords of the `s`-th curve of a picture."""
    return {
        "color": COLORS[s % len(COLORS)],
        "linestyle": LINE_STYLES[s % len(LINE_STYLES)],
        "marker": MARKERS[s % len(MARKERS)],
        "linewidth": 1.6,
        "markersize": 5.0,
        "markeredgecolor": "white",
        "markeredgewidth": 0.4,
    }


def get_axes(ax: Axes | None, figsize: tuple[float, float] = (6.4, 4.2)) -> Axes:
    """The given axes, or those of a new figure whose layout makes room for outside legends."""
    return plt.subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax


def inches(ax: Axes) -> tuple[float, float]:
    """Width and height of the axes; rough, since the layout is settled only when drawing."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    box = ax.get_window_extent()
    return box.width / figure.dpi, box.height / figure.dpi


def settle(ax: Axes) -> None:
    """Let the layout give the legend its room, then fit the view to the data once more.

    With one scale for both axes matplotlib widens the view for each size that the axes take on
    the way, and does not narrow it again: the picture would float in white.
    """
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    ax.autoscale_view()


def tidy(ax: Axes, grid: Literal["x", "y", "both"] | None = None) -> None:
    """Drop the frame's upper and right line; a faint grid below the data where asked."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    if grid is not None:
        ax.grid(axis=grid, color="#dddddd", linewidth=0.6)


def legend_outside(
    ax: Axes, handles: Sequence[Artist] | None = None, title: str | None = None
) -> None:
    """Put the legend right of the axes, where it cannot hide data."""
    keywords: dict[str, Any] = {} if handles is None else {"handles": list(handles)}
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        frameon=False,
        fontsize="small",
        title=title,
        title_fontsize="small",
        alignment="left",
        handlelength=2.8,
        **keywords,
    )


def add_lines(ax: Axes, ends: np.ndarray, color: str, width: float, **looks: Any) -> None:
    """Draw a line between each two ends, an (n, 2, 2) array."""
    ax.add_collection(LineCollection(list(ends), colors=color, linewidths=width, **looks))


def add_crosses(ax: Axes, places: np.ndarray, size: float, width: float) -> None:
    """Mark what is violated."""
    x, y = places.T
    looks: dict[str, Any] = {"path_effects": halo(width + 1.5), "zorder": 4}
    ax.scatter(x, y, marker="x", s=size, c=VIOLATED, linewidths=width, **looks)


def write(ax: Axes, place: Sequence[float], text: str, size: float, **looks: Any) -> None:
    """Write a bold text in the middle of a place."""
    x, y = place
    at: dict[str, Any] = {"ha": "center", "va": "center_baseline", "clip_on": True}
    ax.text(x, y, text, fontsize=size, fontweight="bold", color=INK, **at, **looks)


def halo(width: float) -> list[patheffects.AbstractPathEffect]:
    """White around what lies on top of other things."""
    return [patheffects.withStroke(linewidth=width, foreground="white")]


def cluster_handle(label: str, color: str, marker: str, size: float) -> Line2D:
    """The entry of a cluster in a legend."""
    return handle(label, color, marker=marker, mec=INK, mew=0.6, ms=size)


def handle(label: str, color: str, **looks: Any) -> Line2D:
    """An entry of a legend; without a line style, a marker alone."""
    return Line2D([], [], label=label, color=color, **({"ls": ""} | looks))


def count_of(shown: int, total: int, what: str) -> str:
    """``"120 points"``, or ``"100 of 120 points"`` where not all are shown."""
    noun = what if total == 1 else what + "s"
    return f"{total:,} {noun}" if shown == total else f"{shown:,} of {total:,} {noun}"


# What a file has of its own, left out so that the same content gives the same bytes.
_NO_DATE: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def render(
    draw: Callable[..., Any], *arguments: Any, format: str = "png", dpi: int = 150, **options: Any
) -> bytes:
    """Call one of the plot functions; return its picture as ``png``, ``svg`` or ``pdf``."""
    matplotlib.use("Agg")
    with matplotlib.rc_context({"svg.hashsalt": "smdeclust", "svg.fonttype": "path"}):
        figure = draw(*arguments, **options).get_figure(root=True)
        try:
            buffer = io.BytesIO()
            figure.savefig(buffer, format=format, dpi=dpi, metadata=_NO_DATE.get(format))
            return buffer.getvalue()
        finally:
            plt.close(figure)
