"""The jobs of the solver's process: cluster, ask, explain, price pairs, prove, choose K, map."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

import smdeclust
from smdeclust.constraints import Constraints
from smdeclust.estimators.soft import cut_up, part_of
from smdeclust.points.centers import cluster_means
from smdeclust.queries.picture import match_labels
from smdeclust.studio.sheet import Sheet
from smdeclust.studio.view import chosen_points
from smdeclust.studio.wishes import Wishes
from smdeclust.studio.worker import Handler, Job

Send = Callable[[str, Any], None]
Look = Callable[[], bool]

# Seconds for the short search after the first answer (of data where a full one takes longer), for
# the full search, for a proof, for what pairs cost.
SHORT_TIME = 2.0
SEARCH_TIME = 30.0
PROOF_TIME = 60.0
COST_TIME = 20.0

# Points times features times clusters above which a short search comes first.
LARGE = 2_000_000

# Groups up to which a proof is tried, points that K is chosen by, points that a map is learned of.
MOST_PROVEN = 5000
MOST_FOR_K = 3000
MOST_MAPPED = 4000
MOST_K = 12

SEED = 0

# A share of the cost below which a gain is rounding, and no reason to move points.
LEAST_GAIN = 1e-9


def parameters(wishes: Wishes) -> dict[str, Any]:
    """What the wishes say to the estimator; what was not said keeps its default."""
    given = {
        "n_clusters": wishes.n_clusters,
        "size_min": wishes.size_min,
        "size_max": wishes.size_max,
        "metric": None if wishes.metric in ("euclidean", "shapes") else wishes.metric,
        "random_state": SEED,
    }
    return {name: value for name, value in given.items() if value is not None}


def make_handlers(sheet: Sheet) -> dict[str, Handler]:
    """The handlers of a process that works on this table."""
    solver = _Solver(sheet)
    jobs = ("near", "search", "suggest", "why", "costs", "prove", "choose_k", "map")
    return {"warm": warm} | {name: getattr(solver, name) for name in jobs}


def warm(job: Job, send: Send, look: Look) -> None:
    """Load what a fit with pairs needs, so that the first pair is answered at once."""
    X = np.random.default_rng(SEED).normal(size=(40, 2))
    pairs = Constraints(must_link=[(0, 1)], cannot_link=[(2, 3)], n_points=len(X))
    smdeclust.SMDEClust(3, random_state=SEED, callback=lambda _: True).fit(X, constraints=pairs)


class _Solver:
    """Keeps the points as they were last prepared, and the last model."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.model: Any = None
        self.labels: np.ndarray | None = None
        self._key: Any = None

    def points(self, wishes: Wishes) -> np.ndarray:
        """The columns that count, made once for the same choice."""
        self.sheet = self.sheet.under(dict(wishes.roles))
        return chosen_points(self.sheet, wishes)

    def known(self, wishes: Wishes) -> dict[str, Any]:
        """What is known of the rows, and how much each counts, as the estimators take it."""
        known = wishes.constraints(self.sheet.ground)
        return {"constraints": known, "sample_weight": self.sheet.weight}

    def near(self, job: Job, send: Send, look: Look) -> None:
        """One local search from the clusters on the screen, split or merged for another K."""
        wishes, before = job.payload
        self._fit_near(wishes, before)
        send("solution", _describe(self.model, self.labels, final=False))

    def search(self, job: Job, send: Send, look: Look) -> None:
        """Search on: shortly from the first answer where the data are large, then from nothing.

        An answer is shown only where it is better, with the numbers of the clusters on the screen.
        """
        wishes, shown = job.payload
        self._fit_near(wishes, shown)
        X, best = self.points(wishes), self.model
        known, given = self.known(wishes), parameters(wishes)
        started = said = time.perf_counter()

        def watch(_: Any) -> bool:
            nonlocal said
            now = time.perf_counter()
            if now - said > 0.5:
                said = now
                send("progress", {"seconds": now - started, "of": SEARCH_TIME + SHORT_TIME})
            return look()

        if wishes.metric == "shapes":
            guided = smdeclust.GuidedClustering(**given, max_time=SEARCH_TIME, callback=watch)
            found = guided.fit(X, **known)
            self.labels = match_labels(found.labels_, shown, wishes.n_clusters)
            send("solution", _describe(found, self.labels, final=True))
            return
        stages: list[dict[str, Any]] = [{"max_time": SEARCH_TIME}]
        if X.size * wishes.n_clusters > LARGE:
            stages.insert(0, {"max_time": SHORT_TIME, "init": self.labels})
        for number, stage in enumerate(stages, 1):
            found = smdeclust.SMDEClust(**given, **stage, callback=watch).fit(X, **known)
            is_last = number == len(stages) or look()
            is_better = _cost(found) < _cost(best) * (1 - LEAST_GAIN)
            if is_better:
                self._keep(found, wishes, shown)
                best = found
            if is_better or is_last:
                send("solution", _describe(best, self.labels, final=is_last))
            if is_last:
                return

    def _fit_near(self, wishes: Wishes, shown: np.ndarray | None) -> None:
        """A model of these wishes near the clusters on the screen, if there is none yet."""
        X, k = self.points(wishes), wishes.n_clusters
        key = (wishes, None if shown is None else shown.tobytes())
        if self.model is not None and key == self._key:
            return
        begin = None
        if shown is not None:
            full = len(np.unique(shown)) == shown.max() + 1 == k  # no cluster is empty
            begin = shown if full else split_or_merge(X, shown, k)
        known = self.known(wishes)
        model = smdeclust.SMDEClust(**parameters(wishes), init=begin, callback=lambda _: True)
        model.fit(X, **known)
        if wishes.metric == "shapes" and shown is not None and begin is shown:
            # The clusters on the screen need not be round: as few points move as the pairs need.
            alike = clone(model).fit(np.eye(k)[shown], **known)
            model.labels_ = alike.labels_
        self._keep(model, wishes, shown)

    def _keep(self, model: Any, wishes: Wishes, shown: np.ndarray | None) -> None:
        # Numbered like the clusters on the screen that share most points with them.
        labels = np.asarray(model.labels_, dtype=np.int64)
        self.labels = labels if shown is None else match_labels(labels, shown, wishes.n_clusters)
        model.labels_ = self.labels
        self.model, self._key = model, (wishes, self.labels.tobytes())

    def suggest(self, job: Job, send: Send, look: Look) -> None:
        """The next question: a pair, or a row with one representative of each cluster."""
        wishes, shown, skip, by_label = job.payload
        self._fit_near(wishes, shown)
        X = self.points(wishes)
        # Only pairs and labels answer questions; quotas say nothing about any two points.
        known = replace(wishes, quotas=()).constraints(self.sheet.ground)
        given: dict[str, Any] = {"constraints": known, "ids": self.sheet.ids}
        if by_label:
            labels = smdeclust.suggest_labels(self.model, X, skip=skip, **given)
            found = [((q.row, *q.representatives), q.reason) for q in labels]
        else:
            pairs = smdeclust.suggest_pairs(self.model, X, skip=skip, **given)
            found = [(p.pair, p.reason) for p in pairs]
        answers = [{"asked": [int(row) for row in rows], "reason": why} for rows, why in found]
        send("answer", answers[0] if answers else None)

    def why(self, job: Job, send: Send, look: Look) -> None:
        """Why a point is in its cluster: its nearest centers, and the pairs that bind it."""
        wishes, shown, row = job.payload
        self._fit_near(wishes, shown)
        assert self.labels is not None
        X = self.points(wishes)
        distance = getattr(self.model, "distance_", None)
        places = X if distance is None else np.asarray(distance.transform(X))
        centers = cluster_means(places, self.labels, wishes.n_clusters, self.sheet.weight)
        squares = ((centers - places[row]) ** 2).sum(axis=1)
        nearest = np.argsort(squares, kind="stable")[:4]
        pairs = [
            [pair.second if pair.first == row else pair.first, pair.together, pair.confidence]
            for pair in wishes.all_pairs
            if row in pair.key
        ]
        answer: dict[str, Any] = {"cluster": int(self.labels[row]), "pairs": pairs[:50]}
        answer["nearest"] = [[int(k), float(np.sqrt(squares[k]))] for k in nearest]
        send("answer", answer | {"by_shape": wishes.metric == "shapes"})

    def costs(self, job: Job, send: Send, look: Look) -> None:
        """What each pair costs."""
        wishes, shown = job.payload
        self._fit_near(wishes, shown)
        X = self.points(wishes)
        limits: dict[str, Any] = {"max_time": COST_TIME, "progress": lambda done, total: look()}
        table = smdeclust.pair_costs(self.model, X, **self.known(wishes), **limits)
        costs = [
            {"pair": [int(v) for v in row.pair], "saving": float(row.saves), "moved": row.n_moved}
            for row in table
        ]
        send("costs", costs)

    def prove(self, job: Job, send: Send, look: Look) -> None:
        """How far the clustering can be from the best possible one."""
        wishes, labels = job.payload
        X = self.points(wishes)
        sizes = {"size_min": wishes.size_min, "size_max": wishes.size_max}
        limits: dict[str, Any] = {"max_time": PROOF_TIME, "n_jobs": 1, **sizes}
        certificate = smdeclust.certify(X, labels, **self.known(wishes), **limits)
        send("proof", {"gap": float(certificate.gap)})

    def choose_k(self, job: Job, send: Send, look: Look) -> None:
        """Which number of clusters suits, by a sample of the points that holds those with pairs."""
        wishes = job.payload
        X = self.points(wishes)
        rng = np.random.default_rng(SEED)
        paired = list(dict.fromkeys(row for pair in wishes.all_pairs for row in pair.key))
        others = np.setdiff1d(np.arange(len(X)), paired)
        n_others = max(0, min(len(others), MOST_FOR_K - len(paired)))
        rows = np.sort([*paired[:MOST_FOR_K], *rng.choice(others, n_others, replace=False)])
        known = wishes.constraints(self.sheet.ground).hard_only()[rows]
        candidates = range(2, min(MOST_K, len(rows) - 1) + 1)

        def progress(k: int) -> None:
            look()
            send("k_progress", {"k": k, "of": candidates[-1]})

        choice = smdeclust.choose_n_clusters(
            X[rows], candidates, constraints=known, progress=progress,
            estimator=smdeclust.SMDEClust(random_state=SEED, max_time=1.0),
        )  # fmt: skip
        table = []
        for entry in choice.table:
            found = {name: getattr(entry, name) for name in ("objective", "kept", "stability")}
            finite = {n: float(v) if np.isfinite(v) else None for n, v in found.items()}
            table.append(finite | {"k": entry.n_clusters, "note": entry.note})
        reason = choice.reason
        if self.sheet.weight is not None:
            reason += " Every row counts once here, regardless of its weight."
        send("answer", {"k": choice.n_clusters, "reason": reason, "table": table})

    def map(self, job: Job, send: Send, look: Look) -> None:
        """A neighborhood map: t-SNE of a sample, and each other point among its neighbors there."""
        from sklearn.manifold import TSNE
        from sklearn.neighbors import KNeighborsRegressor

        X = self.points(job.payload)
        rng = np.random.default_rng(SEED)
        n = min(len(X), MOST_MAPPED)
        sample = np.sort(rng.choice(len(X), n, replace=False))
        perplexity = max(1.0, min(30.0, (n - 1) / 3))
        if n < 4:
            places = np.column_stack([np.arange(n), np.zeros(n)])
        else:
            init = "pca" if X.shape[1] > 1 else "random"
            maker = TSNE(perplexity=perplexity, init=init, random_state=SEED, max_iter=500)
            places = maker.fit_transform(X[sample])
        if n < len(X):
            near = KNeighborsRegressor(3, weights=lambda d: 1 / (d + 1e-9 + 1e-3 * d.mean()))
            placed = near.fit(X[sample], places).predict(X) + rng.normal(0, 0.1, (len(X), 2))
            placed[sample] = places
            places = placed
        send("answer", np.asarray(places, dtype=np.float32))


def split_or_merge(X: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """(K, d) centers to start from where K changed: clusters split or merged, one at a time.

    The cluster with the largest sum of squares is split along its widest coordinate; the two
    clusters are merged whose union adds least to the sum of squares.
    """
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    k = int(labels.max()) + 1
    centers, sizes = cluster_means(X, labels, k), np.bincount(labels, minlength=k).astype(float)
    while k > n_clusters:
        gaps = ((centers[:, None] - centers[None]) ** 2).sum(axis=2)
        gaps *= sizes[:, None] * sizes[None] / (sizes[:, None] + sizes[None])
        nearest = int(np.argmin(gaps + np.diag(np.full(k, np.inf))))
        a, b = sorted(divmod(nearest, k))
        centers[a] = (sizes[a] * centers[a] + sizes[b] * centers[b]) / (sizes[a] + sizes[b])
        sizes[a] += sizes[b]
        centers, sizes, k = np.delete(centers, b, axis=0), np.delete(sizes, b), k - 1
    if k == n_clusters:
        return centers
    parts = [part_of(X, None, np.flatnonzero(labels == cluster)) for cluster in range(k)]
    found = cut_up(X, None, n_clusters, parts)
    return centers[np.arange(n_clusters) % k] if found is None else found  # (all the same)


def _cost(model: Any) -> float:
    """What was minimized: the sum of squares, and the price of broken soft pairs."""
    return float(getattr(model, "objective_", model.inertia_))


def _describe(model: Any, labels: np.ndarray | None, *, final: bool) -> dict[str, Any]:
    broken = [
        {"pair": [int(row) for row in item.pair], "cost": float(item.price)}
        for item in getattr(model, "broken_", ())
    ]
    return {
        "labels": np.asarray(labels, dtype=np.int32),
        "objective": _cost(model),
        "broken": broken,
        "final": final,
        "notes": list(getattr(model, "notes_", ())),
    }
