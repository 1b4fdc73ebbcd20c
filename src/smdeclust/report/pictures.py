"""The pictures of a report that matplotlib draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smdeclust.report.content import Content

# Vector pictures stay sharp; beyond so many points they grow too large for a page.
_VECTOR_POINTS = 1200


def _figure(
    description: str,
    caption: str,
    draw: Callable[..., Any],
    *arguments: Any,
    vector: bool = True,
    **options: Any,
) -> dict[str, Any]:
    """A picture, words for those who cannot see it, and a caption.

    A PNG is drawn at one and a half times the width in pixels at which it is shown.
    """
    from smdeclust.plotting.render import render

    kind = "svg" if vector else "png"
    picture = render(draw, *arguments, format=kind, dpi=144, **options)
    width = None if vector else int.from_bytes(picture[16:20], "big") * 2 // 3
    about = {"description": description, "caption": caption}
    return {"content": picture, "kind": kind, "width": width, **about}


def details(content: Content) -> list[dict[str, Any]]:
    """How well each point sits in its cluster, and the pairs as a graph."""
    from smdeclust.plotting import plot_constraint_graph, plot_feature_weights, plot_margins

    found = []
    if content.n_clusters > 1:
        found.append(
            _figure(
                "Margins of the points of each cluster",
                "How well each point sits in its cluster: near 1, its center is much closer than "
                "any other; below 0, another center is closer and only the pairs hold the point "
                "here.",
                plot_margins,
                content.X,
                content.labels,
                vector=len(content.X) <= _VECTOR_POINTS,
            )
        )
    if content.feature_weights is not None:
        found.append(
            _figure(
                "How much each column counts in the learned distance",
                "What your pairs say about the columns: how much each counts in the learned "
                "distance, as the squared length of a step of one standard deviation; 1 is the "
                "average.",
                plot_feature_weights,
                content.feature_weights,
                content.feature_names,
            )
        )
    if len(content.must_link) + len(content.cannot_link):
        found.append(
            _figure(
                "Graph of the pairs between groups of points",
                "The pairs: points joined by must-links are one sign with their number in it, "
                "cannot-links are dashed lines between signs. Colors and shapes are the clusters.",
                plot_constraint_graph,
                len(content.X),
                must_link=content.must_link,
                cannot_link=content.cannot_link,
                labels=content.labels,
            )
        )
    return found


def run(content: Content) -> dict[str, Any] | None:
    """How the run went: words, pictures; None where it has no history."""
    if content.history is None or len(content.history.get("generation", ())) == 0:
        return None
    if len(content.history["generation"]) < 2:
        words = (
            "The run was ended before the first population was complete."
            if content.ended_early
            else "The solutions of the first population agree already: there was nothing left to "
            "improve, and no generation followed."
        )
        return {"words": words, "figures": []}
    from smdeclust.plotting import plot_convergence, plot_diversity

    figures = [
        _figure(
            "Objective of the population over the generations",
            "The objective of the best, average and worst solution of the population.",
            plot_convergence,
            content.history,
        ),
        _figure(
            "Diversity of the population over the generations",
            "How much the solutions of the population differ in objective; where it reaches zero, "
            "they all agree, and the population is renewed or the run ends.",
            plot_diversity,
            content.history,
        ),
    ]
    return {"words": "", "figures": figures}
