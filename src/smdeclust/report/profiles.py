"""What the clusters are like: the distribution of each feature by cluster, against the whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.report import html
from smdeclust.report.content import Content
from smdeclust.report.scatter import cluster_marks

MAX_FEATURES = 24
MAX_CLUSTERS = 20
_LEFT, _RIGHT = 46.0, 314.0
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def profiles(content: Content) -> dict[str, Any]:
    """Quantiles of every feature, of all points and of each cluster, and a note.

    Features that differ most between clusters come first.
    """
    sizes = np.bincount(content.labels, minlength=content.n_clusters)
    clusters = np.sort(np.argsort(-sizes, kind="stable")[:MAX_CLUSTERS])
    clusters = clusters[sizes[clusters] > 0]
    order = np.argsort(-_differences(content), kind="stable")[:MAX_FEATURES]
    features = [_feature(content, int(column), clusters) for column in order]
    note = (
        "Each feature of all points (grey, on top) and of each cluster: the bar holds the middle "
        "half of the values, the line nine tenths, the mark is the median. The dotted line is the "
        "median of all points. Features that differ most between clusters come first; values are "
        "in the units of the data as given."
    )
    if len(order) < content.raw.shape[1]:
        note += f" {len(order)} of {content.raw.shape[1]} features are shown."
    if len(clusters) < content.n_clusters:
        note += f" The {len(clusters)} largest of {content.n_clusters} clusters are shown."
    return {"features": features, "note": note}


def _differences(content: Content) -> np.ndarray:
    """Share of each feature's variance that lies between the clusters."""
    raw = content.raw - content.raw.mean(axis=0)
    between = np.zeros(raw.shape[1])
    for cluster in range(content.n_clusters):
        members = content.labels == cluster
        if members.any():
            between += members.sum() * raw[members].mean(axis=0) ** 2
    total = (raw**2).sum(axis=0)
    return between / np.where(total > 0, total, 1.0)


def _feature(content: Content, column: int, clusters: np.ndarray) -> dict[str, Any]:
    values = content.raw[:, column]
    low, high = (float(v) for v in np.quantile(values, [0.01, 0.99]))
    if low == high:
        low, high = float(values.min()), float(values.max())
    span = (high - low) or 1.0

    def place(value: float) -> float:
        share = min(max((value - low) / span, 0.0), 1.0)
        return round(_LEFT + share * (_RIGHT - _LEFT), 1)

    def bar(name: str, what: str, chosen: np.ndarray, color: int) -> dict[str, Any]:
        least, lower, median, upper, most = (float(v) for v in np.quantile(chosen, _QUANTILES))
        return {
            "name": name,
            "color": color,
            "low": place(least),
            "lower": place(lower),
            "median": place(median),
            "high": place(most),
            "width": round(max(place(upper) - place(lower), 1.0), 1),
            "title": f"{what}: median {html.number(median, 4)}, middle half "
            f"{html.number(lower, 4)} to {html.number(upper, 4)}, nine tenths "
            f"{html.number(least, 4)} to {html.number(most, 4)}",
        }

    bars = [bar("all", "all points", values, 0)]
    bars += [
        bar(
            str(cluster),
            f"cluster {cluster}",
            values[content.labels == cluster],
            cluster_marks(int(cluster))["color"],
        )
        for cluster in clusters.tolist()
    ]
    return {"name": content.feature_names[column], "low": low, "high": high, "bars": bars}
