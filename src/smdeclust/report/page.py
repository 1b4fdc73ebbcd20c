"""The report: one page that needs nothing else. Numbers are made here, words are in templates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from smdeclust.constraints import KINDS, Constraints
from smdeclust.estimators.pair_costs import PairCostTable
from smdeclust.extras import optional
from smdeclust.points.centers import cluster_means
from smdeclust.report import html
from smdeclust.structure.pairs import broken_pairs, count_broken
from smdeclust.tables.profile import set_apart

with optional("The report"):
    from smdeclust import plotting
    from smdeclust.plotting.clusters import thin_pairs, thin_points
    from smdeclust.plotting.inputs import project
    from smdeclust.plotting.style import render

Lines = Sequence[tuple[str, object]]  # of a table


@dataclass(frozen=True)
class Content:
    """Everything that the report of one clustering shows."""

    title: str
    X: np.ndarray  # (N, d) the points as they were clustered
    raw: np.ndarray  # (N, d) as they were given
    feature_names: Sequence[str]
    labels: np.ndarray
    n_clusters: int
    constraints: Constraints  # that the method used
    ids: Sequence[str] | None  # of the points
    objective: float
    seconds: float  # that the solver took
    asked: Lines
    facts: Lines  # what came out
    columns: str  # how they were scaled
    method_title: str
    # The solution without pairs, its clusters numbered so that most points keep their number, and
    # why it is missing or cut short.
    free_objective: float | None = None
    free_labels: np.ndarray | None = None
    free_note: str = ""
    proof: str = ""  # how good the clustering is proven to be
    # What single pairs cost, or why that was not computed.
    costs: PairCostTable | None = None
    costs_note: str = ""
    feature_weights: Sequence[float] | None = None  # of columns in a learned distance
    history: dict[str, Any] | None = None  # of the run, for its pictures
    ended_early: bool = False
    agreement: tuple[float, float | None] | None = None  # ARI with classes, with and without pairs
    command: str = ""
    snippet: str = ""  # the same in Python
    provenance: Lines = ()
    weight: np.ndarray | None = None  # how much each point counts
    roles: Mapping[str, str] = field(default_factory=dict)  # of the columns, where they have one
    bounds: tuple[Sequence[str], Sequence[Sequence[object]]] = ((), ())  # a header and rows

    def name(self, row: int) -> str:
        """The id of a point, or its row."""
        return str(row) if self.ids is None else self.ids[row]

    @property
    def ids_named(self) -> str:
        """What the names of points are."""
        return "row" if self.ids is None else "id"

    @cached_property
    def pairs(self) -> np.ndarray:
        """All hard pairs."""
        return np.concatenate([self.constraints.must_link, self.constraints.cannot_link])

    def broken(self, labels: np.ndarray, soft: str = "") -> tuple[int, int]:
        """How many must-links and cannot-links, hard or ``"soft_"``, labels break."""
        must, cannot = (getattr(self.constraints, soft + kind) for kind in KINDS[:2])
        return count_broken(must, cannot, labels)

    @property
    def moved(self) -> np.ndarray:
        """Points that are elsewhere because of the pairs."""
        return np.flatnonzero(0 if self.free_labels is None else self.free_labels != self.labels)

    def squares(self, centers: np.ndarray) -> np.ndarray:
        """(N,) weighted squared distances of the points to the centers of their clusters."""
        squares = ((self.X - centers[self.labels]) ** 2).sum(axis=1)
        return squares if self.weight is None else squares * self.weight

    def centers(self, points: np.ndarray) -> np.ndarray:
        """(K, d) weighted means of the clusters, of these coordinates."""
        return cluster_means(points, self.labels, self.n_clusters, self.weight)


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
        markers=MARKERS,
        clusters=_clusters(content, sizes),
        means=_means(content),
        legend=[
            {"number": number, "size": size, **cluster_marks(number)}
            for number, size in list(enumerate(sizes.tolist()))[:MAX_LEGEND]
        ],
        drawings=drawings(content),
        profiles=profiles(content),
        figures=figures(content),
        moved=_moved(content),
        costs=_costs(content),
        most={"rows": MAX_ROWS, "features": MAX_FEATURES},
    )


def _clusters(content: Content, sizes: np.ndarray) -> list[list[object]]:
    """A row for each cluster: its size, what sets it apart, its pairs."""
    labels, k, known = content.labels, content.n_clusters, content.constraints
    columns = [
        range(k), sizes.tolist(), np.round(100 * sizes / len(labels), 2).tolist(),
        set_apart(content.raw, content.feature_names, labels, k, content.roles),
        np.bincount(labels, content.squares(content.centers(content.X)), minlength=k).tolist(),
    ]  # fmt: skip
    if len(content.pairs):
        about = (labels[known.must_link[:, 0]], labels[known.cannot_link].ravel())
        moved = labels[content.moved]
        columns += [np.bincount(these, minlength=k).tolist() for these in (*about, moved)]
    return [list(row) for row in zip(*columns, strict=True)]


def _means(content: Content) -> tuple[list[str], list[list[object]]]:
    """A header and rows: the mean of each feature by cluster; fewer columns than rows."""
    of, means, names = range(content.n_clusters), content.centers(content.raw), []
    for at, name in enumerate(content.feature_names[:MAX_FEATURES]):
        share = _is_share(content.raw[:, at])
        names.append(f"{'share of' if share else 'mean'} {name}")
        means[:, at] = np.round(means[:, at], 3) + 0.0 if share else means[:, at]
    rows = means[:, : len(names)].tolist()
    if len(of) > len(names):
        return ["cluster", *names], [[k, *row] for k, row in zip(of, rows, strict=True)]
    lines = [list(line) for line in zip(names, *rows, strict=True)]
    return ["feature", *(f"cluster {k}" for k in of)], lines


def _is_share(values: np.ndarray) -> bool:
    """Whether the mean is a share: of a value of a category, or of a column of 0 and 1."""
    return set(np.unique(values)) == {0.0, 1.0}


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
    for pair in content.costs or ():
        rows = getattr(content.constraints, pair.kind)[pair.position].tolist()
        share = 100 * pair.saves / content.objective if content.objective > 0 else 0.0
        names = " – ".join(map(content.name, rows))
        where = content.constraints.where(pair.kind, pair.position)
        kind = pair.kind.replace("_", "-")
        lines.append([kind, names, pair.saves, round(share, 4), pair.n_moved, where])
    return lines


# ---- the clustering: points with their names, pairs as lines

MAX_POINTS = 2000
MAX_PAIRS = 1500
N_COLORS = 8
_WIDTH, _EDGE = 720.0, 24.0
# 7 is prime to the 8 colors: together they tell 56 clusters apart. Circle, square, triangles,
# diamond, plus, cross; all about as large.
MARKERS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "M-3.5 -3.5h7v7h-7z",
    "M0 -4.6L4.4 3.4L-4.4 3.4z",
    "M0 -5L5 0L0 5L-5 0z",
    "M0 4.6L4.4 -3.4L-4.4 -3.4z",
    "M-1.5 -4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "M-4.2 -2.2L-2.2 -4.2L0 -2L2.2 -4.2L4.2 -2.2L2 0L4.2 2.2L2.2 4.2L0 2L-2.2 4.2L-4.2 2.2L-2 0z",
)


def cluster_marks(cluster: int) -> dict[str, int]:
    """Number of the color and of the marker of a cluster."""
    return {"color": cluster % N_COLORS, "marker": cluster % len(MARKERS)}


def drawings(content: Content) -> list[dict[str, Any]]:
    """The clustering as a scatter plot, and the one without pairs, in units of the view box."""
    at, height = _places(content)
    rows, drawn = _chosen(content)
    return [
        {
            "width": int(_WIDTH),
            "height": height,
            "points": _points(content, at, rows, labels),
            "lines": _lines(content, at, labels, drawn),
            "centers": [
                {"x": x, "y": y, "number": cluster}
                for cluster in np.unique(labels).tolist()
                for x, y in np.round(at[labels == cluster].mean(axis=0), 1)[None].tolist()
            ],
        }
        for labels in (content.labels, content.free_labels)
        if labels is not None
    ]


def _places(content: Content) -> tuple[np.ndarray, int]:
    """Where the points are in the view box, and how high it is."""
    plane = project(content.X, content.X[:1], feature_names=tuple(content.feature_names)).points
    low, size = plane.min(axis=0), np.ptp(plane, axis=0)
    size = np.where(size > 0, size, 1.0)
    # One scale for both directions, unless that makes a thin strip.
    ratio = float(np.clip(size[1] / size[0], 0.35, 0.75))
    inner = np.array([_WIDTH - 2 * _EDGE, (_WIDTH - 2 * _EDGE) * ratio])
    scale = inner / size
    if 0.35 <= size[1] / size[0] <= 0.75:
        scale = np.full(2, scale.min())
    height = round(float(inner[1]) + 2 * _EDGE)
    moved = (plane - low - size / 2) * scale * np.array([1.0, -1.0])
    return np.round(moved + np.array([_WIDTH / 2, height / 2]), 1), height


def _chosen(content: Content) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The points that are drawn, and the positions of the pairs of each kind."""
    rng, labels, known = np.random.default_rng(0), content.labels, content.constraints
    broken = zip(KINDS, broken_pairs(known.must_link, known.cannot_link, labels), strict=False)
    drawn = {kind: thin_pairs(which, MAX_PAIRS, rng) for kind, which in broken}
    linked = np.unique(np.concatenate([getattr(known, kind)[drawn[kind]] for kind in drawn]))
    return thin_points(labels, linked, MAX_POINTS, rng), drawn


def _points(
    content: Content, at: np.ndarray, rows: np.ndarray, labels: np.ndarray
) -> list[dict[str, Any]]:
    linked = np.zeros(len(content.X), dtype=bool)
    linked[content.pairs.ravel()] = True
    return [
        {
            "x": x,
            "y": y,
            "paired": bool(linked[row]),
            "title": f"{content.name(row)}: cluster {labels[row]}",
            **cluster_marks(int(labels[row])),
        }
        for row, (x, y) in zip(rows.tolist(), at[rows].tolist(), strict=True)
    ]


def _lines(
    content: Content, at: np.ndarray, labels: np.ndarray, drawn: dict[str, np.ndarray]
) -> list[dict[str, Any]]:
    known, found = content.constraints, []
    for kind, positions in drawn.items():
        word = kind.replace("_", "-")
        for position in positions.tolist():
            i, j = getattr(known, kind)[position].tolist()
            (x1, y1), (x2, y2) = at[i].tolist(), at[j].tolist()
            broken = bool(labels[i] == labels[j]) != (kind == "must_link")
            title = f"{word} {content.name(i)} – {content.name(j)}{', broken here' * broken}"
            line = {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "kind": word + " broken" * broken}
            found.append(line | {"title": f"{title} ({known.where(kind, position)})"})
    return found


# ---- what the clusters are like: each feature by cluster, against the whole

MAX_PROFILES = 24
MAX_CLUSTERS = 20
_LEFT, _RIGHT = 46.0, 314.0
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def profiles(content: Content) -> dict[str, Any]:
    """Quantiles of every feature, or shares, of all points and by cluster; which differ first."""
    sizes = np.bincount(content.labels, minlength=content.n_clusters)
    clusters = np.sort(np.argsort(-sizes, kind="stable")[:MAX_CLUSTERS])
    clusters = clusters[sizes[clusters] > 0]
    raw = content.raw - content.raw.mean(axis=0)
    between = sizes @ cluster_means(raw, content.labels, content.n_clusters) ** 2
    total = (raw**2).sum(axis=0)
    share = between / np.where(total > 0, total, 1.0)  # of the variance of a feature
    order = np.argsort(-share, kind="stable")[:MAX_PROFILES]
    features = [_feature(content, int(column), clusters) for column in order]
    return {"features": features, "n_clusters": len(clusters)}


def _feature(content: Content, column: int, clusters: np.ndarray) -> dict[str, Any]:
    values = content.raw[:, column]
    low, high = (float(v) for v in np.quantile(values, [0.01, 0.99]))
    if low == high:
        low, high = float(values.min()), float(values.max())
    share = _is_share(values)
    low, high = (0.0, 1.0) if share else (low, high)
    span = (high - low) or 1.0

    def bar(name: str, chosen: np.ndarray, color: int) -> dict[str, Any]:
        mean = chosen.mean()
        quantiles = np.array([0, 0, *[mean] * 3]) if share else np.quantile(chosen, _QUANTILES)
        places = np.interp(quantiles, [low, low + span], [_LEFT, _RIGHT]).round(1).tolist()
        width = round(max(places[3] - places[1], 1.0), 1)
        about = {"name": name, "color": color, "quantiles": quantiles.tolist(), "width": width}
        return about | dict(zip(("low", "lower", "median", "upper", "high"), places, strict=True))

    bars = [bar("all", values, 0)] + [
        bar(str(cluster), values[content.labels == cluster], cluster_marks(cluster)["color"])
        for cluster in clusters.tolist()
    ]
    name = content.feature_names[column]
    return {"name": name, "low": low, "high": high, "bars": bars, "share": share}


# ---- by matplotlib

# Vector pictures stay sharp; beyond this many points they grow too large for a page.
_VECTOR_POINTS = 1200


def _figure(
    draw: Callable[..., Any], *arguments: Any, vector: bool = True, **options: Any
) -> dict[str, Any]:
    """A picture; a PNG is one and a half times as wide, in pixels, as it is shown."""
    kind = "svg" if vector else "png"
    picture = render(draw, *arguments, format=kind, dpi=144, **options)
    width = None if vector else int.from_bytes(picture[16:20], "big") * 2 // 3
    return {"content": picture, "kind": kind, "width": width}


def figures(content: Content) -> dict[str, dict[str, Any]]:
    """The pictures that there are, by name."""
    found, X, labels, known = {}, content.X, content.labels, content.constraints
    if content.n_clusters > 1:
        vector = len(X) <= _VECTOR_POINTS
        found["margins"] = _figure(plotting.plot_margins, X, labels, vector=vector)
    if content.feature_weights is not None:
        given = content.feature_weights, content.feature_names
        found["weights"] = _figure(plotting.plot_feature_weights, *given)
    if len(content.pairs):
        pairs: Any = {"must_link": known.must_link, "cannot_link": known.cannot_link}
        found["graph"] = _figure(plotting.plot_constraint_graph, len(X), **pairs, labels=labels)
    if content.history is not None and len(content.history.get("generation", ())) > 1:
        found["convergence"] = _figure(plotting.plot_convergence, content.history)
        found["diversity"] = _figure(plotting.plot_diversity, content.history)
    return found
