"""Known ways of asking about pairs, to compare with: written from their descriptions.

Each is a function ``(X, n_clusters, oracle, rng) -> None`` that calls ``oracle.ask(i, j)`` until
the oracle raises `BudgetSpent` or there is nothing left to ask. The oracle remembers, and what
follows from earlier answers costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier


class BudgetSpent(Exception):
    """There are no more answers."""


class Oracle:
    """Answers from classes, a share of them wrong, up to a budget.

    Parameters
    ----------
    classes
        (N,) class of each row.
    budget
        Most answers.
    wrong
        Share of pairs answered wrongly; the same pair is answered in the same way every time.
    seed
        Which pairs these are.
    """

    def __init__(self, classes: np.ndarray, budget: int, wrong: float = 0.0, seed: int = 0) -> None:
        self.classes, self.budget, self.wrong, self.seed = classes, budget, wrong, seed
        self.answers: list[tuple[int, int, bool]] = []
        self.snapshots: list[tuple[int, np.ndarray]] = []  # clusters of a method's own
        self._group = list(range(len(classes)))
        self._apart: set[tuple[int, int]] = set()

    def answer(self, i: int, j: int) -> bool:
        """What the person says, counted nowhere."""
        low, high = min(i, j), max(i, j)
        errs = np.random.default_rng([self.seed, low, high]).random() < self.wrong
        return bool((self.classes[i] == self.classes[j]) != errs)

    def ask(self, i: int, j: int) -> bool:
        """The answer, known or new."""
        told = self.known(i, j)
        if told is not None:
            return told
        if len(self.answers) >= self.budget:
            raise BudgetSpent
        same = self.answer(i, j)
        self.answers.append((int(i), int(j), same))
        a, b = self._find(i), self._find(j)
        if same:
            self._group[b] = a
            self._apart = {tuple(a if g == b else g for g in pair) for pair in self._apart}  # type: ignore[misc]
        else:
            self._apart |= {(a, b), (b, a)}
        return same

    def known(self, i: int, j: int) -> bool | None:
        """What follows from earlier answers, if anything."""
        a, b = self._find(i), self._find(j)
        return True if a == b else False if (a, b) in self._apart else None

    def _find(self, i: int) -> int:
        while self._group[i] != i:
            self._group[i] = self._group[self._group[i]]
            i = self._group[i]
        return i


def at_random(X: np.ndarray, n_clusters: int, oracle: Oracle, rng: np.random.Generator) -> None:
    """Random pairs."""
    for _ in range(100 * oracle.budget):
        i, j = rng.choice(len(X), 2, replace=False)
        oracle.ask(int(i), int(j))


def explore_consolidate(
    X: np.ndarray, n_clusters: int, oracle: Oracle, rng: np.random.Generator
) -> None:
    """Basu, Banerjee & Mooney 2004: farthest first until K neighborhoods, then random points."""
    _by_neighborhoods(X, n_clusters, oracle, rng, farthest=False)


def min_max(X: np.ndarray, n_clusters: int, oracle: Oracle, rng: np.random.Generator) -> None:
    """Mallapragada et al. 2008: always the point least like any known one."""
    _by_neighborhoods(X, n_clusters, oracle, rng, farthest=True)


def _by_neighborhoods(
    X: np.ndarray, n_clusters: int, oracle: Oracle, rng: np.random.Generator, *, farthest: bool
) -> None:
    gaps = cdist(X, X)
    hoods = [[int(rng.integers(len(X)))]]
    is_open = np.ones(len(X), dtype=bool)
    is_open[hoods[0]] = False
    while is_open.any():
        rows = np.flatnonzero(is_open)
        if farthest or len(hoods) < n_clusters:
            row = int(rows[gaps[np.ix_(rows, np.flatnonzero(~is_open))].min(axis=1).argmax()])
        else:
            row = int(rng.choice(rows))
        order = np.argsort([gaps[row, hood].min() for hood in hoods], kind="stable")
        _place(row, order, hoods, oracle)
        is_open[row] = False


def _place(row: int, order: np.ndarray, hoods: list[list[int]], oracle: Oracle) -> None:
    """Ask a row against neighborhoods in an order; one that is in none founds its own."""
    for at in order.tolist():
        if oracle.ask(row, hoods[at][0]):
            hoods[at].append(row)
            return
    hoods.append([row])


def npu(X: np.ndarray, n_clusters: int, oracle: Oracle, rng: np.random.Generator) -> None:
    """Xiong, Azimi & Fern 2014: most uncertainty for each question that it takes.

    Likeness is how often rows share a leaf of a random forest that tells the clusters; the clusters
    are those of k-means from the neighborhoods.
    """
    hoods = [[int(rng.integers(len(X)))]]
    is_open = np.ones(len(X), dtype=bool)
    is_open[hoods[0]] = False
    seed = int(rng.integers(2**31))
    labels = KMeans(n_clusters, n_init=1, random_state=seed).fit_predict(X)
    leaves = None
    n_placed = 0
    while is_open.any():
        if n_placed % 10 == 0:
            if len(hoods) >= n_clusters:
                starts = np.array([X[hood].mean(axis=0) for hood in hoods[:n_clusters]])
                labels = KMeans(n_clusters, init=starts, n_init=1).fit_predict(X)
                for at, hood in enumerate(hoods[:n_clusters]):
                    labels[hood] = at
            forest = RandomForestClassifier(50, random_state=seed, n_jobs=1)
            leaves = forest.fit(X, labels).apply(X)
        assert leaves is not None
        rows = np.flatnonzero(is_open)
        like = np.stack(
            [(leaves[rows][:, None] == leaves[hood][None]).mean(axis=(1, 2)) for hood in hoods], 1
        )
        chances = (like + 1e-6) / (like + 1e-6).sum(axis=1, keepdims=True)
        entropy = -(chances * np.log(chances)).sum(axis=1)
        n_questions = -np.sort(-chances, axis=1) @ np.arange(1, len(hoods) + 1)
        worth = entropy / n_questions if len(hoods) > 1 else -like[:, 0]
        best = int(worth.argmax())
        _place(int(rows[best]), np.argsort(-like[best], kind="stable"), hoods, oracle)
        is_open[rows[best]] = False
        n_placed += 1


def cobras(X: np.ndarray, n_clusters: int, oracle: Oracle, rng: np.random.Generator) -> None:
    """Van Craenendonck et al. 2018: super-instances split and merged by answers, K not given.

    Its own clusters are kept in ``oracle.snapshots``, after each split and each merger.
    """
    clusters = [[np.arange(len(X))]]
    finished: set[tuple[int, ...]] = set()
    try:
        while True:
            _snapshot(clusters, oracle)
            largest = [(len(s), c, at) for c, sup in enumerate(clusters) for at, s in enumerate(sup)
                       if len(s) > 1 and tuple(s) not in finished]  # fmt: skip
            if not largest:
                return
            _, c, at = max(largest)
            rows = clusters[c][at]
            n_parts = _splitting_level(X, rows, oracle, rng)
            parts = _split(X, rows, n_parts, rng)
            if len(parts) == 1:
                finished.add(tuple(rows))
            clusters[c].pop(at)
            clusters = [sup for sup in clusters if sup] + [[part] for part in parts]
            _snapshot(clusters, oracle)
            _merge(X, clusters, oracle)
    finally:
        _snapshot(clusters, oracle)


def _snapshot(clusters: list[list[np.ndarray]], oracle: Oracle) -> None:
    labels = np.zeros(len(oracle.classes), dtype=np.int64)
    for number, instances in enumerate(clusters):
        for rows in instances:
            labels[rows] = number
    oracle.snapshots.append((len(oracle.answers), labels))


def _medoid(X: np.ndarray, rows: np.ndarray) -> int:
    return int(rows[cdist(X[rows], X[rows].mean(axis=0)[None])[:, 0].argmin()])


def _split(
    X: np.ndarray, rows: np.ndarray, n_parts: int, rng: np.random.Generator
) -> list[np.ndarray]:
    n_parts = min(n_parts, len(np.unique(X[rows], axis=0)))
    seed = int(rng.integers(2**31))
    labels = KMeans(n_parts, n_init=1, random_state=seed).fit_predict(X[rows])
    return [rows[labels == part] for part in np.unique(labels)]


def _splitting_level(
    X: np.ndarray, rows: np.ndarray, oracle: Oracle, rng: np.random.Generator
) -> int:
    """Halve a part, and a random half of it, ... until the two halves belong together."""
    depth = 0
    while len(rows) > 1:
        halves = _split(X, rows, 2, rng)
        if len(halves) < 2 or oracle.ask(_medoid(X, halves[0]), _medoid(X, halves[1])):
            break
        depth += 1
        rows = halves[int(rng.integers(2))]
    return max(2, 2**depth)


def _merge(X: np.ndarray, clusters: list[list[np.ndarray]], oracle: Oracle) -> None:
    """Ask about the nearest medoids of two clusters, the nearest clusters first; join or not."""
    merged = True
    while merged:
        merged = False
        medoids = [[_medoid(X, rows) for rows in instances] for instances in clusters]
        pairs = []
        for a in range(len(clusters)):
            for b in range(a):
                told = [oracle.known(i, j) for i in medoids[a] for j in medoids[b]]
                if False in told:
                    continue
                gaps = cdist(X[medoids[a]], X[medoids[b]])
                i, j = np.unravel_index(gaps.argmin(), gaps.shape)
                near = (medoids[a][i], medoids[b][j])
                pairs.append((True not in told, float(gaps.min()), a, b, near))
        for is_new, _, a, b, near in sorted(pairs):
            if not is_new or oracle.ask(*near):
                clusters[a].extend(clusters[b])
                del clusters[b]
                _snapshot(clusters, oracle)
                merged = True
                break


QUESTIONERS: dict[str, Callable[[np.ndarray, int, Oracle, np.random.Generator], None]] = {
    "random": at_random,
    "explore-consolidate": explore_consolidate,
    "min-max": min_max,
    "npu": npu,
    "cobras": cobras,
}
