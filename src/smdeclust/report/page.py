"""The report: one page that needs nothing else. What it says is here, how it looks in templates."""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.report import html, pictures
from smdeclust.report.content import Content
from smdeclust.report.costly_pairs import CostlyPair
from smdeclust.report.profiles import profiles
from smdeclust.report.scatter import MARKERS, cluster_marks, drawings
from smdeclust.structure.pairs import count_broken
from smdeclust.tables.profile import set_apart

MAX_ROWS = 500
MAX_FEATURES = 12
MAX_LEGEND = 40


def render_report(content: Content) -> str:
    """Return the report as one HTML page: no external request, opens offline."""
    sizes = np.bincount(content.labels, minlength=content.n_clusters).tolist()
    return html.render(
        "report.html",
        title=content.title,
        lead=_lead(content),
        tiles=_tiles(content),
        markers=MARKERS,
        clusters=_clusters(content),
        legend=[
            {"number": number, "size": size, **cluster_marks(number)}
            for number, size in list(enumerate(sizes))[:MAX_LEGEND]
        ],
        drawings=drawings(content),
        profiles=profiles(content),
        details=pictures.details(content),
        bounds=content.bounds,
        cost=_cost(content),
        moved=_moved(content),
        pairs=_pairs(content),
        asked=content.asked,
        facts=content.facts,
        run=pictures.run(content),
        command=content.command,
        snippet=content.snippet,
        provenance=content.provenance,
    )


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
    scaled = "columns standardized" if content.standardized else "columns as given"
    return (
        f"{len(content.X):,} points in {content.n_clusters} clusters by {content.method_title}; "
        f"{held}; {scaled}." + (f" This clustering is {content.proof}." if content.proof else "")
    )


def _tiles(content: Content) -> list[tuple[str, str, bool]]:
    n_broken = sum(content.broken)
    entries = [
        (html.number(content.objective, 7), "objective (sum of squares)", False),
        (html.number(n_broken), "broken pairs", n_broken > 0),
    ]
    if content.free_objective is not None:
        entries += [
            (_percent(content), "added by the pairs", False),
            (html.number(len(content.moved)), "points moved by the pairs", False),
        ]
    if content.agreement is not None:
        entries.append((f"{content.agreement[0]:.3f}", "agreement with the classes (ARI)", False))
    entries.append((_duration(content.seconds), "time of the solver", False))
    return entries


def _percent(content: Content) -> str:
    assert content.free_objective is not None
    added = content.objective - content.free_objective
    if content.free_objective <= 0:
        return html.number(added)
    return f"{100 * added / content.free_objective:+.2f} %"


def _duration(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _clusters(content: Content) -> dict[str, Any]:
    labels, k = content.labels, content.n_clusters
    sizes = np.bincount(labels, minlength=k)
    names = list(content.feature_names[:MAX_FEATURES])
    must = np.bincount(labels[content.must_link[:, 0]], minlength=k)
    cannot = np.bincount(labels[content.cannot_link].ravel(), minlength=k)
    came = np.bincount(labels[content.moved], minlength=k)
    apart = set_apart(content.raw, content.feature_names, labels, k)
    scatter = np.bincount(labels, content.squares(content.centers(content.X)), minlength=k)
    centers = content.centers(content.raw)[:, :MAX_FEATURES].tolist()
    rows = []
    for cluster in range(k):
        share = round(100 * float(sizes[cluster]) / len(labels), 2)
        counts = [int(count[cluster]) for count in (must, cannot, came)]
        start = [cluster, int(sizes[cluster]), share, apart[cluster], float(scatter[cluster])]
        rows.append([*start, *counts, *centers[cluster]])
    header = [
        "cluster", "points", "% of points", "stands out by", "sum of squares", "must-links inside",
        "cannot-links at it", "points moved in", *(f"mean {name}" for name in names),
    ]  # fmt: skip
    more = ""
    if len(content.feature_names) > MAX_FEATURES:
        more = f" The first {MAX_FEATURES} of {len(content.feature_names)} features are shown."
    note = f"Means are in the units of the data as given.{more}"
    return {"header": header, "rows": rows, "note": note}


def _cost(content: Content) -> dict[str, Any] | None:
    if content.free_objective is None or content.free_labels is None:
        return {"words": content.free_note, "rows": []} if content.free_note else None
    free = content.free_objective
    broken = count_broken(content.must_link, content.cannot_link, content.free_labels)
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
    return {"words": words, "header": header, "rows": rows}


def _moved(content: Content) -> dict[str, Any] | None:
    free, rows = content.free_labels, content.moved
    if free is None:
        return None
    if len(rows) == 0:
        return {"words": "None: the clustering without pairs is the same.", "rows": []}
    linked = np.zeros(len(content.X), dtype=np.int64)
    np.add.at(linked, np.concatenate([content.must_link, content.cannot_link]).ravel(), 1)
    centers = content.centers(content.X)
    gaps = content.X[rows][:, None, :] - centers[None, :, :]
    squares = (gaps**2).sum(axis=2)
    extra = squares[np.arange(len(rows)), content.labels[rows]] - squares.min(axis=1)
    order = np.argsort(-extra, kind="stable")[:MAX_ROWS]
    lines = [
        [content.name(row), int(free[row]), int(content.labels[row]), int(linked[row]), more]
        for row, more in zip(rows[order].tolist(), extra[order].tolist(), strict=True)
    ]
    words = (
        f"{len(rows):,} of {len(content.X):,} points are in another cluster than without pairs, "
        "those that were moved farthest first. Clusters of the two are matched so that as few "
        "points as possible count as moved. The last column is by how much the squared distance "
        "to the point's center exceeds that to the nearest center: above 0, pairs hold the point "
        "away from it; at 0, it only followed a center that moved."
    )
    if len(rows) > MAX_ROWS:
        words += f" The first {MAX_ROWS} are listed."
    header = [content.ids_named, "without pairs", "with pairs", "its pairs", "extra sq. distance"]
    return {"words": words, "header": header, "rows": lines}


def _pairs(content: Content) -> dict[str, Any] | None:
    if content.costs is None:
        return {"words": content.costs_note, "rows": []} if content.costs_note else None
    costs = content.costs
    words = [
        "The cost of a pair is what the objective falls by when this pair alone is left out and "
        "the problem is solved again, from the solution above, with the same method and settings."
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
        first = f"the {n_solved} that an estimate puts first"
        which = "all" if n_solved == costs.n_candidates else first
        words.append(
            f"{costs.n_candidates:,} pairs bind at the solution, or are broken without pairs; "
            f"{which} were left out one by one{why}. The others were not recomputed."
        )
    words.append(
        "Costs of single pairs do not add up, and the method is heuristic: a cost is exact only "
        "where both runs found their optimum."
    )
    ids = f"{content.ids_named}s"
    header = ["pair", ids, "cost", "% of objective", "points that move", "where"]
    lines = [_pair_line(content, pair) for pair in costs.solved]
    return {"words": " ".join(words), "header": header, "rows": lines}


def _pair_line(content: Content, pair: CostlyPair) -> list[object]:
    pairs = content.must_link if pair.kind == "must_link" else content.cannot_link
    names = " – ".join(content.name(row) for row in pairs[pair.position].tolist())
    share = 100 * pair.cost / content.objective if content.objective > 0 else 0.0
    where = content.where(pair.kind, pair.position)
    kind = pair.kind.replace("_", "-")
    return [kind, names, pair.cost, round(share, 4), pair.n_moved, where]
