"""The report: one page that needs nothing else. Numbers are made here, words are in templates."""

from __future__ import annotations

import numpy as np

from smdeclust.report import html, pictures
from smdeclust.report.content import Content
from smdeclust.tables.profile import set_apart

MAX_ROWS = 500
MAX_FEATURES = 12
MAX_LEGEND = 40


def render_report(content: Content) -> str:
    """Return the report as one HTML page: no external request, opens offline."""
    sizes = np.bincount(content.labels, minlength=content.n_clusters)
    return html.render(
        "report.html",
        c=content,
        broken=content.broken(content.labels),
        n_broken_soft=sum(content.broken(content.labels, "soft_")),
        markers=pictures.MARKERS,
        clusters=_clusters(content, sizes),
        legend=[
            {"number": number, "size": size, **pictures.cluster_marks(number)}
            for number, size in list(enumerate(sizes.tolist()))[:MAX_LEGEND]
        ],
        drawings=pictures.drawings(content),
        profiles=pictures.profiles(content),
        figures=pictures.figures(content),
        moved=_moved(content),
        costs=_costs(content),
        most={"rows": MAX_ROWS, "features": MAX_FEATURES},
    )


def _clusters(content: Content, sizes: np.ndarray) -> list[list[object]]:
    """A row for each cluster: its size, what sets it apart, its pairs, its means."""
    labels, k, known = content.labels, content.n_clusters, content.constraints
    columns = [
        range(k), sizes.tolist(), np.round(100 * sizes / len(labels), 2).tolist(),
        set_apart(content.raw, content.feature_names, labels, k),
        np.bincount(labels, content.squares(content.centers(content.X)), minlength=k).tolist(),
        np.bincount(labels[known.must_link[:, 0]], minlength=k).tolist(),
        np.bincount(labels[known.cannot_link].ravel(), minlength=k).tolist(),
        np.bincount(labels[content.moved], minlength=k).tolist(),
        *content.centers(content.raw)[:, :MAX_FEATURES].T.tolist(),
    ]  # fmt: skip
    return [list(row) for row in zip(*columns, strict=True)]


def _moved(content: Content) -> list[list[object]]:
    """The points that the pairs moved, farthest first: where from, where to, how far."""
    free, rows = content.free_labels, content.moved
    if free is None:
        return []
    linked = np.bincount(content.pairs.ravel(), minlength=len(content.X))
    gaps = content.X[rows][:, None, :] - content.centers(content.X)[None, :, :]
    squares = (gaps**2).sum(axis=2)
    extra = squares[np.arange(len(rows)), content.labels[rows]] - squares.min(axis=1)
    order = np.argsort(-extra, kind="stable")[:MAX_ROWS]
    return [
        [content.name(row), int(free[row]), int(content.labels[row]), int(linked[row]), more]
        for row, more in zip(rows[order].tolist(), extra[order].tolist(), strict=True)
    ]


def _costs(content: Content) -> list[list[object]]:
    """What single pairs cost, the most expensive first."""
    lines: list[list[object]] = []
    for pair in () if content.costs is None else content.costs.solved:
        rows = getattr(content.constraints, pair.kind)[pair.position].tolist()
        share = 100 * pair.cost / content.objective if content.objective > 0 else 0.0
        names = " – ".join(map(content.name, rows))
        where = content.constraints.where(pair.kind, pair.position)
        kind = pair.kind.replace("_", "-")
        lines.append([kind, names, pair.cost, round(share, 4), pair.n_moved, where])
    return lines
