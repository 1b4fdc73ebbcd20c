"""The pictures of a report, as pieces of HTML."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from smdeclust.report import html
from smdeclust.report.content import Content

# Vector pictures stay sharp; beyond so many points they grow too large for a page.
_VECTOR_POINTS = 1200


def draw(plot: Callable[..., Any], *arguments: Any, vector: bool, **options: Any) -> bytes:
    """Draw without a display; the same content gives the same bytes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with matplotlib.rc_context({"svg.hashsalt": "smdeclust", "svg.fonttype": "path"}):
        figure = plot(*arguments, **options).get_figure(root=True)
        try:
            buffer = io.BytesIO()
            kind, metadata = ("svg", {"Date": None}) if vector else ("png", None)
            figure.savefig(buffer, format=kind, dpi=144, metadata=metadata)
            return buffer.getvalue()
        finally:
            plt.close(figure)


def clusters(content: Content) -> str:
    """The clustering, and beside it the one without constraints."""
    from smdeclust.plotting import plot_clusters

    vector = len(content.X) <= _VECTOR_POINTS
    kind = "svg" if vector else "png"
    pairs = {"must_link": content.must_link, "cannot_link": content.cannot_link}
    options: dict[str, Any] = {"feature_names": content.feature_names, **pairs}
    plane = "" if content.X.shape[1] <= 2 else " on the first two principal components"
    first = draw(plot_clusters, content.X, content.labels, vector=vector, **options)
    parts = [
        html.figure(
            first,
            kind,
            f"Scatter plot of the {content.n_clusters} clusters with their pairs",
            f"The clusters{plane}. Must-links are solid, cannot-links dashed lines.",
        )
    ]
    if content.moved is not None:
        labels = content.moved.free_labels
        second = draw(plot_clusters, content.X, labels, vector=vector, **options)
        parts.append(
            html.figure(
                second,
                kind,
                "Scatter plot of the clusters without constraints, broken pairs marked",
                "For comparison, the clusters that the same method finds without any pair. Pairs "
                "that it breaks are red and crossed.",
            )
        )
    return "".join(parts)


def margins(content: Content) -> str:
    """How well each point sits in its cluster."""
    if content.n_clusters < 2:
        return ""
    from smdeclust.plotting import plot_margins

    vector = len(content.X) <= _VECTOR_POINTS
    picture = draw(plot_margins, content.X, content.labels, vector=vector)
    return html.figure(
        picture,
        "svg" if vector else "png",
        "Margins of the points of each cluster",
        "How well each point sits in its cluster: near 1, its center is much closer than any "
        "other; below 0, another center is closer and only the pairs hold the point here.",
    )


def graph(content: Content) -> str:
    """The pairs as a graph of groups."""
    if len(content.must_link) + len(content.cannot_link) == 0:
        return ""
    from smdeclust.plotting import plot_constraint_graph

    picture = draw(
        plot_constraint_graph,
        len(content.X),
        must_link=content.must_link,
        cannot_link=content.cannot_link,
        labels=content.labels,
        vector=True,
    )
    return html.figure(
        picture,
        "svg",
        "Graph of the pairs between groups of points",
        "The pairs: points joined by must-links are one sign with their number in it, cannot-links "
        "are dashed lines between signs. Colours and shapes are the clusters.",
    )


def run(content: Content) -> str:
    """How the run went."""
    if content.history is None or len(content.history.get("generation", ())) == 0:
        return ""
    if len(content.history["generation"]) < 2:
        return (
            "<p>The solutions of the first population agree already: there was nothing left to "
            "improve, and no generation followed.</p>"
        )
    from smdeclust.plotting import plot_convergence, plot_diversity

    first = draw(plot_convergence, content.history, vector=True)
    second = draw(plot_diversity, content.history, vector=True)
    return html.figure(
        first,
        "svg",
        "Objective of the population over the generations",
        "The objective of the best, average and worst solution of the population.",
    ) + html.figure(
        second,
        "svg",
        "Diversity of the population over the generations",
        "How much the solutions of the population differ in objective; where it reaches zero, "
        "they all agree, and the population is renewed or the run ends.",
    )
