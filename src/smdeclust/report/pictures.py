"""The pictures of a report that matplotlib draws."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from smdeclust.report.content import Content

# Vector pictures stay sharp; beyond so many points they grow too large for a page.
_VECTOR_POINTS = 1200


@dataclass(frozen=True)
class Figure:
    """A picture: its bytes, ``"svg"`` or ``"png"``, words for those who cannot see it, caption."""

    content: bytes
    kind: str
    description: str
    caption: str

    @property
    def width(self) -> int | None:
        """In pixels, of a PNG: drawn at one and a half times the size at which it is shown."""
        return int.from_bytes(self.content[16:20], "big") * 2 // 3 if self.kind == "png" else None


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


def details(content: Content) -> list[Figure]:
    """How well each point sits in its cluster, and the pairs as a graph."""
    from smdeclust.plotting import plot_constraint_graph, plot_margins

    found = []
    if content.n_clusters > 1:
        vector = len(content.X) <= _VECTOR_POINTS
        found.append(
            Figure(
                draw(plot_margins, content.X, content.labels, vector=vector),
                "svg" if vector else "png",
                "Margins of the points of each cluster",
                "How well each point sits in its cluster: near 1, its center is much closer than "
                "any other; below 0, another center is closer and only the pairs hold the point "
                "here.",
            )
        )
    if content.feature_weights is not None:
        from smdeclust.plotting import plot_feature_weights

        weights, names = content.feature_weights, content.feature_names
        found.append(
            Figure(
                draw(plot_feature_weights, weights, names, vector=True),
                "svg",
                "How much each column counts in the learned distance",
                "What your pairs say about the columns: how much each counts in the learned "
                "distance, as the squared length of a step of one standard deviation; 1 is the "
                "average.",
            )
        )
    if len(content.must_link) + len(content.cannot_link):
        picture = draw(
            plot_constraint_graph,
            len(content.X),
            must_link=content.must_link,
            cannot_link=content.cannot_link,
            labels=content.labels,
            vector=True,
        )
        found.append(
            Figure(
                picture,
                "svg",
                "Graph of the pairs between groups of points",
                "The pairs: points joined by must-links are one sign with their number in it, "
                "cannot-links are dashed lines between signs. Colors and shapes are the clusters.",
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
        Figure(
            draw(plot_convergence, content.history, vector=True),
            "svg",
            "Objective of the population over the generations",
            "The objective of the best, average and worst solution of the population.",
        ),
        Figure(
            draw(plot_diversity, content.history, vector=True),
            "svg",
            "Diversity of the population over the generations",
            "How much the solutions of the population differ in objective; where it reaches zero, "
            "they all agree, and the population is renewed or the run ends.",
        ),
    ]
    return {"words": "", "figures": figures}
