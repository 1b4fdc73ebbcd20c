"""The report: one page that needs nothing else."""

from __future__ import annotations

import numpy as np

from smdeclust.constraints.pairs import count_broken
from smdeclust.report import html, pictures
from smdeclust.report.content import Content
from smdeclust.report.pair_costs import PairCost

MAX_ROWS = 500
MAX_FEATURES = 12


def render_report(content: Content) -> str:
    """Return the report as one HTML page: no external request, opens offline."""
    sections = [
        ("asked", "What was asked", _asked(content)),
        ("result", "What came out", _result(content)),
        ("clusters", "The clusters", _clusters(content)),
        ("cost", "What the pairs cost", _cost(content)),
        ("moved", "Points that moved because of the pairs", _moved(content)),
        ("pairs", "The pairs that cost most", _pairs(content)),
        ("run", "The run", pictures.run(content)),
        ("again", "How to make it again", _again(content)),
    ]
    present = [(anchor, title, body) for anchor, title, body in sections if body]
    links = "".join(f"<a href='#{anchor}'>{html.text(t)}</a>" for anchor, t, _ in present)
    body = "".join(
        f"<section id='{anchor}'><h2>{html.text(title)}</h2>{part}</section>"
        for anchor, title, part in present
    )
    header = (
        f"<header><h1>{html.text(content.title)}</h1>"
        f"<p class='lead'>{html.text(_lead(content))}</p>{_tiles(content)}"
        f"<nav aria-label='Sections'>{links}</nav></header>"
    )
    footer = (
        "<footer>Made by smdeclust. This page is complete in itself and loads nothing.</footer>"
    )
    return html.page(content.title, f"{header}<main>{body}</main>{footer}")


def _lead(content: Content) -> str:
    n_pairs = len(content.must_link) + len(content.cannot_link)
    n_broken = sum(content.broken)
    if n_pairs == 0 and content.n_soft_pairs == 0:
        held = "no pairs were given"
    elif n_pairs == 0:
        held = "only soft pairs were given"
    elif n_broken == 0:
        held = f"all {n_pairs:,} pairs hold"
    else:
        held = f"{n_broken:,} of {n_pairs:,} pairs do not hold"
    if content.n_soft_pairs:
        held += f"; {content.broken_soft_pairs:,} of {content.n_soft_pairs:,} soft pairs are broken"
    scaled = "columns standardised" if content.standardized else "columns as given"
    return (
        f"{len(content.X):,} points in {content.n_clusters} clusters by {content.method_title}; "
        f"{held}; {scaled}."
    )


def _tiles(content: Content) -> str:
    n_broken = sum(content.broken)
    entries = [
        (html.number(content.objective, 7), "objective (sum of squares)", False),
        (html.number(n_broken), "broken pairs", n_broken > 0),
    ]
    if content.free_objective is not None and content.moved is not None:
        entries += [
            (_percent(content), "added by the pairs", False),
            (html.number(len(content.moved.rows)), "points moved by the pairs", False),
        ]
    if content.agreement is not None:
        entries.append((f"{content.agreement[0]:.3f}", "agreement with the classes (ARI)", False))
    entries.append((_duration(content.seconds), "time of the solver", False))
    return html.tiles(entries)


def _percent(content: Content) -> str:
    assert content.free_objective is not None
    added = content.objective - content.free_objective
    if content.free_objective <= 0:
        return html.number(added)
    return f"{100 * added / content.free_objective:+.2f} %"


def _duration(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _asked(content: Content) -> str:
    return html.facts(content.asked)


def _result(content: Content) -> str:
    return html.facts(content.facts) + pictures.clusters(content)


def _clusters(content: Content) -> str:
    labels, k = content.labels, content.n_clusters
    sizes = np.bincount(labels, minlength=k)
    names = list(content.feature_names[:MAX_FEATURES])
    must = np.bincount(labels[content.must_link[:, 0]], minlength=k)
    cannot = np.bincount(labels[content.cannot_link].ravel(), minlength=k)
    came = np.zeros(k, dtype=np.int64)
    if content.moved is not None:
        came = np.bincount(labels[content.moved.rows], minlength=k)
    rows = []
    for cluster in range(k):
        members = labels == cluster
        points = content.X[members]
        scatter = float(((points - points.mean(axis=0)) ** 2).sum()) if len(points) else 0.0
        center = content.raw[members].mean(axis=0) if len(points) else content.raw[:0].sum(axis=0)
        rows.append(
            [
                cluster,
                int(sizes[cluster]),
                round(100 * float(sizes[cluster]) / len(labels), 2),
                scatter,
                int(must[cluster]),
                int(cannot[cluster]),
                int(came[cluster]),
                *map(float, center[:MAX_FEATURES]),
            ]
        )
    header = [
        "cluster", "points", "% of points", "sum of squares", "must-links inside",
        "cannot-links at it", "points moved in", *(f"mean {name}" for name in names),
    ]  # fmt: skip
    more = ""
    if len(content.feature_names) > MAX_FEATURES:
        more = f" The first {MAX_FEATURES} of {len(content.feature_names)} features are shown."
    units = "Means are in the units of the data as given."
    return (
        html.table(header, rows, name="clusters-table")
        + f"<p class='note'>{html.text(units + more)} Click on a column's head to sort.</p>"
        + pictures.margins(content)
        + pictures.graph(content)
    )


def _cost(content: Content) -> str:
    if content.free_objective is None or content.moved is None:
        return f"<p>{html.text(content.free_note)}</p>" if content.free_note else ""
    free = content.free_objective
    broken = count_broken(content.must_link, content.cannot_link, content.moved.free_labels)
    rows = [
        ["with the pairs", content.objective, *content.broken],
        ["without any pair", free, *broken],
    ]
    header = ["clustering", "objective", "broken must-links", "broken cannot-links"]
    if content.agreement is not None and content.agreement[1] is not None:
        header.append("agreement with the classes (ARI)")
        rows[0].append(content.agreement[0])
        rows[1].append(content.agreement[1])
    words = (
        f"Keeping the pairs adds {html.number(content.objective - free)} to the objective "
        f"({_percent(content)}). Both clusterings are by {content.method_title}, with the same "
        "settings and seed."
    )
    if content.objective < free * (1 - 1e-9):
        words += (
            " The clustering without pairs is the worse one here: the method did not find its best."
        )
    if content.free_note:
        words += f" {content.free_note}"
    return f"<p>{html.text(words)}</p>" + html.table(header, rows, name="cost-table")


def _moved(content: Content) -> str:
    if content.moved is None:
        return ""
    rows = content.moved.rows
    if len(rows) == 0:
        return "<p>None: the clustering without pairs is the same.</p>"
    linked = np.zeros(len(content.X), dtype=np.int64)
    np.add.at(linked, np.concatenate([content.must_link, content.cannot_link]).ravel(), 1)
    centers = np.stack(
        [content.X[content.labels == c].mean(axis=0) for c in range(content.n_clusters)]
    )
    lines = []
    for row in rows[:MAX_ROWS].tolist():
        squares = ((centers - content.X[row]) ** 2).sum(axis=1)
        extra = float(squares[content.labels[row]] - squares.min())
        lines.append(
            [
                content.name(row),
                int(content.moved.free_labels[row]),
                int(content.labels[row]),
                int(linked[row]),
                extra,
            ]
        )
    words = (
        f"{len(rows):,} of {len(content.X):,} points are in another cluster than without pairs. "
        "Clusters of the two are matched so that as few points as possible count as moved. The "
        "last column is by how much the squared distance to the point's center exceeds that to "
        "the nearest center: above 0, pairs hold the point away from it; at 0, it merely followed "
        "a center that moved."
    )
    if len(rows) > MAX_ROWS:
        words += f" The first {MAX_ROWS} are listed."
    header = [content.ids_named, "without pairs", "with pairs", "its pairs", "extra sq. distance"]
    return f"<p>{html.text(words)}</p>" + html.table(header, lines, name="moved-table")


def _pairs(content: Content) -> str:
    if content.costs is None:
        return f"<p>{html.text(content.costs_note)}</p>" if content.costs_note else ""
    costs = content.costs
    words = [
        "The cost of a pair is what the objective falls by when this pair alone is left out and "
        "the problem is solved again (from scratch with the same method, settings and seed, and "
        "from the solution above; the better counts)."
    ]
    if costs.n_implied:
        words.append(
            f"{costs.n_implied:,} of the {costs.n_pairs:,} pairs are implied by others (repeated, "
            "or on a cycle of must-links): leaving one of them out changes nothing."
        )
    n_solved = len(costs.solved)
    if costs.n_candidates == 0:
        words.append("No pair binds at the solution, so none was left out.")
    else:
        why = " (the time for it was over)" if costs.out_of_time else ""
        which = (
            "all"
            if n_solved == costs.n_candidates
            else f"the {n_solved} that an estimate puts first"
        )
        words.append(
            f"{costs.n_candidates:,} pairs bind at the solution, or are broken without pairs; "
            f"{which} were left out one by one{why}. The others were not recomputed."
        )
    words.append(
        "Costs of single pairs do not add up, and the method is heuristic: a cost is exact only "
        "where both runs found their optimum."
    )
    header = [
        "pair",
        f"{content.ids_named}s",
        "cost",
        "% of objective",
        "points that move",
        "where",
    ]
    lines = [_pair_line(content, pair) for pair in costs.solved]
    table = html.table(header, lines, name="pairs-table") if lines else ""
    return f"<p>{html.text(' '.join(words))}</p>{table}"


def _pair_line(content: Content, pair: PairCost) -> list[object]:
    pairs = content.must_link if pair.kind == "must_link" else content.cannot_link
    names = " – ".join(content.name(row) for row in pairs[pair.position].tolist())
    share = 100 * pair.cost / content.objective if content.objective > 0 else 0.0
    kind = "must-link" if pair.kind == "must_link" else "cannot-link"
    return [
        kind, names, pair.cost, round(share, 4), pair.n_moved,
        content.where(pair.kind, pair.position),
    ]  # fmt: skip


def _again(content: Content) -> str:
    parts = []
    if content.command:
        parts.append(f"<h3>In the shell</h3><pre>{html.text(content.command)}</pre>")
    if content.snippet:
        parts.append(f"<h3>In Python</h3><pre>{html.text(content.snippet)}</pre>")
    if content.provenance:
        parts.append("<h3>Versions and files</h3>" + html.facts(content.provenance))
    return "".join(parts)
