"""What the page draws: places of the points, rows of the table, portraits of the clusters."""

from typing import Any

import numpy as np
from pandas import Series
from scipy.linalg import eigh

from smdeclust.studio.sheet import WORDS, Sheet
from smdeclust.studio.wishes import Wishes

# Rows of the table that are sent at once, and points that a projection is learned from.
PAGE = 200
SAMPLE = 50_000

# Standard deviations from the mean of all points below which a column sets no cluster apart.
LEAST_APART = 0.1

# Rows up to which text is searched, and not only ids.
MOST_SEARCHED = 200_000


def chosen_points(sheet: Sheet, wishes: Wishes) -> np.ndarray:
    """The columns that count, brought to one scale where that was asked for."""
    _ = sheet.weight  # refused here where it is none
    return sheet.points(wishes.columns, scaled=wishes.standardize)


def informative_plane(points: np.ndarray, together: list[tuple[int, int]]) -> np.ndarray:
    """(N, 2) places along the directions that matter most to pairs that belong together.

    Those in which the points vary most, compared with how much points vary that belong together:
    eigenvectors of the total covariance against that inside must-link pairs, which is drawn
    towards a multiple of the identity where pairs are few. Without pairs, principal components.
    """
    centered = points - points.mean(axis=0)
    rows, n_features = np.array(together, dtype=np.int64).reshape(-1, 2), points.shape[1]
    gaps = points[rows[:, 0]] - points[rows[:, 1]]
    within = gaps.T @ gaps / max(2 * len(gaps), 1)
    total = np.atleast_2d(np.cov(centered[:: max(1, len(points) // SAMPLE)].T, bias=True))
    weight = n_features / (n_features + len(gaps))
    level = np.trace(total) / n_features or 1.0
    mixed = (1 - weight) * within + (weight * level + 1e-9 * level) * np.eye(n_features)
    _, vectors = eigh(total, mixed)
    # Two columns, a zero one where there is only one feature; signs fixed.
    plane = np.zeros((n_features, 2))
    plane[:, : min(2, n_features)] = vectors[:, ::-1][:, :2]
    plane /= np.maximum(np.linalg.norm(plane, axis=0), 1e-300)
    signs = np.sign(plane[np.abs(plane).argmax(axis=0), np.arange(2)])
    return centered @ (plane * np.where(signs == 0, 1.0, signs))


def places(
    sheet: Sheet, wishes: Wishes, kind: str, x: str, y: str
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """(N, 2) places of a kind (``pca``, ``pairs``, or two ``columns``), and the two axes."""
    if kind == "columns":
        (across, first), (up, second) = sheet.axis(x), sheet.axis(y)
        return np.column_stack([across, up]), [first, second]
    points = chosen_points(sheet, wishes)
    if kind == "pairs":
        together = [pair.key for pair in wishes.all_pairs if pair.together]
        titles = ["matters most to your pairs", "matters second most"]
    else:
        together, titles = [], ["direction of largest spread", "second direction"]
    return informative_plane(points, together), [{"title": title} for title in titles]


def portraits(sheet: Sheet, labels: np.ndarray, n_clusters: int) -> list[dict[str, Any]]:
    """For each cluster its size, and what it is like in each column compared with all points.

    ``profile`` holds, for each column, how many standard deviations of the column the cluster's
    mean lies from the mean of all points (for words: the share of the value that differs most);
    ``means`` what that is, ``apart`` the columns where the difference is largest, in words.
    """
    sizes = np.bincount(labels, minlength=n_clusters)
    columns = [_profile(sheet, name, labels, n_clusters) for name in sheet.columns]
    out = []
    for k in range(n_clusters):
        profile = np.array([by[k] for by, _, _ in columns])
        order = np.argsort(-np.abs(np.nan_to_num(profile)), kind="stable")[:3]
        apart = [
            {"column": sheet.columns[j], "by": float(profile[j]), "words": columns[j][2][k]}
            for j in order
            if abs(profile[j]) >= LEAST_APART
        ]
        shown = [None if np.isnan(by) else float(by) for by in profile]
        means = [of_column[k] for _, of_column, _ in columns]
        out.append({"size": int(sizes[k]), "means": means, "profile": shown, "apart": apart})
    return out


Profile = tuple[np.ndarray, list[Any], list[str]]


def _profile(sheet: Sheet, name: str, labels: np.ndarray, n_clusters: int) -> Profile:
    """Of one column, by cluster: how far apart, what it is on average, and that in words."""
    role, kind = sheet.roles[name], sheet.read[name].kind
    if role in WORDS and sheet.levels(name)[1]:
        return _shares(sheet, name, labels, n_clusters)
    numbers = sheet.numbers(name) if kind != "words" else np.full(len(sheet), np.nan)
    numbers, own = numbers[~np.isnan(numbers)], labels[~np.isnan(numbers)]
    if role in ("id", "text") or not len(numbers):
        return np.full(n_clusters, np.nan), [None] * n_clusters, [""] * n_clusters
    whole, spread, counts = numbers.mean(), numbers.std(), np.bincount(own, minlength=n_clusters)
    gaps = np.bincount(own, numbers - whole, n_clusters) / np.where(counts > 0, counts, np.nan)
    by = gaps / spread if spread > 0 else gaps
    is_date = kind == "moments"  # its numbers are days since 1970
    show: Any = (lambda day: str(np.datetime64(round(day), "D"))) if is_date else float
    more, less = ("late", "early") if is_date else ("high", "low")
    shown = [None if np.isnan(mean) else show(mean) for mean in gaps + whole]
    return by, shown, [more if value > 0 else less for value in by]


def _shares(sheet: Sheet, name: str, labels: np.ndarray, n_clusters: int) -> Profile:
    codes, levels = sheet.levels(name)
    there = codes >= 0
    table = np.zeros((n_clusters, len(levels)))
    np.add.at(table, (labels[there], codes[there]), 1)
    overall = table.sum(axis=0) / table.sum()
    inside = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    spread = np.sqrt(np.maximum(overall * (1 - overall), 1e-12))
    gaps = np.where(overall < 1, (inside - overall) / spread, 0.0)
    best, rows = gaps.argmax(axis=1), np.arange(n_clusters)
    by = np.where(table.sum(axis=1) > 0, gaps[rows, best], np.nan)
    shown: list[Any] = [f"{levels[j]} {inside[k, j]:.0%}" for k, j in enumerate(best)]
    words = [
        f"{levels[j]} ({inside[k, j]:.0%}, overall {overall[j]:.0%})" for k, j in enumerate(best)
    ]
    return by, shown, words


def table_page(
    sheet: Sheet, labels: np.ndarray, sort: str, descending: bool, cluster: int | None, start: int
) -> dict[str, Any]:
    """One page of the table of points: rows, ids, clusters and values."""
    rows = np.arange(len(sheet)) if cluster is None else np.flatnonzero(labels == cluster)
    if sort in sheet.columns:
        is_words = sheet.read[sort].kind == "words"
        words = sheet.values[sort].column.fillna("").astype(str) if is_words else None
        keys = (sheet.numbers(sort) if words is None else words.to_numpy(str))[rows]
    elif sort == "cluster":
        keys = labels[rows]
    elif sort == "id" and sheet.ids is not None:
        keys = np.array(sheet.ids)[rows]
    else:
        keys = rows
    order = np.argsort(keys, kind="stable")
    rows = rows[order[::-1] if descending else order]
    chosen = rows[start : start + PAGE]
    described = [describe_row(sheet, labels, int(row)) for row in chosen]
    return {"n_rows": len(rows), "start": start, "rows": described}


def describe_row(sheet: Sheet, labels: np.ndarray | None, row: int) -> dict[str, Any]:
    """Everything about one point."""
    cluster = None if labels is None else int(labels[row])
    return {"row": row, "id": sheet.name(row), "cluster": cluster, "values": sheet.row(row)}


def find_rows(sheet: Sheet, text: str, most: int = 20) -> list[int]:
    """Rows whose id is, begins with, or holds the text, then rows where other text holds it."""
    names = Series([sheet.name(row).casefold() for row in range(len(sheet))])
    wanted = text.casefold()
    holds = names.str.contains(wanted, regex=False)
    order = np.where(names == wanted, 0, np.where(names.str.startswith(wanted), 1, 2))
    rows = np.flatnonzero(holds)
    found = rows[np.argsort(order[rows], kind="stable")][:most].tolist()
    if len(found) < most and len(sheet) <= MOST_SEARCHED:
        for name in sheet.columns:
            if sheet.read[name].kind == "words":
                words = sheet.read[name].column.fillna("").astype(str)
                there = words.str.contains(text, case=False, regex=False).to_numpy(bool)
                found += [row for row in np.flatnonzero(there).tolist() if row not in found]
    return found[:most]
