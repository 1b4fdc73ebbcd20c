"""The jobs of the solver's process: cluster, ask, price the pairs, prove."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smdeclust.constraints import Constraints
from smdeclust.io import Table
from smdeclust.queries.picture import match_labels
from smdeclust.studio.view import chosen_points
from smdeclust.studio.wishes import Wishes
from smdeclust.studio.worker import Handler, Job

Send = Callable[[str, Any], None]
Look = Callable[[], None]

# Seconds for the search that follows the first answer, for a proof, for what pairs cost.
SEARCH_TIME = 30.0
PROOF_TIME = 60.0
COST_TIME = 20.0

# Groups up to which a proof is tried.
MOST_PROVEN = 5000

SEED = 0

# A share of the cost below which a gain is rounding, and no reason to move points.
LEAST_GAIN = 1e-9


def knowledge(wishes: Wishes, n_points: int) -> Constraints:
    """The pairs as the estimators take them."""
    rows: dict[tuple[bool, bool], list[Any]] = {
        (t, h): [] for t in (True, False) for h in (True, False)
    }
    for pair in wishes.pairs:
        entry = pair.key if pair.is_hard else (*pair.key, pair.confidence)
        rows[pair.together, pair.is_hard].append(entry)
    return Constraints(
        must_link=rows[True, True],
        cannot_link=rows[False, True],
        soft_must_link=rows[True, False],
        soft_cannot_link=rows[False, False],
        n_points=n_points,
    )


def parameters(wishes: Wishes) -> dict[str, Any]:
    """What the wishes say to the estimator; what was not said keeps its default."""
    given = {
        "n_clusters": wishes.n_clusters,
        "size_min": wishes.size_min,
        "size_max": wishes.size_max,
        "metric": None if wishes.metric == "euclidean" else wishes.metric,
        "random_state": SEED,
    }
    return {name: value for name, value in given.items() if value is not None}


def make_handlers(table: Table) -> dict[str, Handler]:
    """The handlers of a process that works on this table."""
    solver = _Solver(table)
    return {
        "solve": solver.solve,
        "suggest": solver.suggest,
        "costs": solver.costs,
        "prove": solver.prove,
    }


class _Solver:
    """Keeps the points as they were last prepared, and the last model."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._key: Any = None
        self._points = table.X
        self.model: Any = None

    def points(self, wishes: Wishes) -> np.ndarray:
        """The columns that count, made once for the same choice."""
        key = (wishes.columns, wishes.standardize)
        if key != self._key:
            self._points, self._key = chosen_points(self.table, wishes), key
        return self._points

    def solve(self, job: Job, send: Send, look: Look) -> None:
        """Cluster: at once from the clusters on the screen; then in full, from nothing.

        The full search replaces the first answer only where it found something better, with the
        numbers of the clusters that were there.
        """
        from smdeclust import SMDEClust

        wishes, before = job.payload
        X = self.points(wishes)
        pairs = knowledge(wishes, len(X))
        given = parameters(wishes)
        near = None
        if before is not None and _fills(before, wishes.n_clusters):
            near = SMDEClust(**given, init=before, callback=lambda state: True)
            self.model = near.fit(X, constraints=pairs)
            send("solution", _describe(near, near.labels_, final=False))

        def watch(state: Any) -> None:
            look()

        full = SMDEClust(**given, max_time=SEARCH_TIME, callback=watch)
        full.fit(X, constraints=pairs)
        look()
        if near is None or _cost(full) < _cost(near) * (1 - LEAST_GAIN):
            labels = full.labels_
            if before is not None and _fills(before, wishes.n_clusters):
                labels = match_labels(labels, before, wishes.n_clusters)
            full.labels_ = labels  # the numbers on the screen
            self.model = full
        else:
            full, labels = near, near.labels_
        send("solution", _describe(full, labels, final=True))

    def suggest(self, job: Job, send: Send, look: Look) -> None:
        """The pair to ask next."""
        from smdeclust import suggest_pairs

        wishes, skipped = job.payload
        if self.model is None:
            send("suggestion", None)
            return
        X = self.points(wishes)
        pairs = knowledge(wishes, len(X))
        found = suggest_pairs(
            self.model, X, constraints=pairs, n_pairs=1 + len(skipped), ids=self.table.ids
        )
        gone = {tuple(sorted(pair)) for pair in skipped}
        for suggestion in found:
            rows = tuple(sorted(int(row) for row in suggestion.pair))
            if rows not in gone:
                send("suggestion", {"pair": list(rows), "reason": str(suggestion.reason)})
                return
        send("suggestion", None)

    def costs(self, job: Job, send: Send, look: Look) -> None:
        """What each pair costs."""
        from smdeclust import pair_costs

        wishes = job.payload
        if self.model is None:
            send("costs", [])
            return
        X = self.points(wishes)
        known = knowledge(wishes, len(X))
        table = pair_costs(
            self.model, X, known, max_time=COST_TIME, progress=lambda done, total: look()
        )
        send("costs", [_cost_row(row) for row in table])

    def prove(self, job: Job, send: Send, look: Look) -> None:
        """How far the clustering can be from the best possible one."""
        from smdeclust import certify

        wishes, labels = job.payload
        X = self.points(wishes)
        must, cannot = _hard(wishes)
        certificate = certify(
            X, labels, must_link=must, cannot_link=cannot, max_time=PROOF_TIME, n_jobs=1,
            size_min=wishes.size_min, size_max=wishes.size_max,
        )  # fmt: skip
        send("proof", {"gap": float(certificate.gap)})


def _cost(model: Any) -> float:
    """What was minimised: the sum of squares, and the price of broken soft pairs."""
    return float(getattr(model, "objective_", model.inertia_))


def _describe(model: Any, labels: np.ndarray, *, final: bool) -> dict[str, Any]:
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


def _fills(labels: np.ndarray, n_clusters: int) -> bool:
    """Whether these labels have that number of clusters, none empty."""
    return len(np.unique(labels)) == n_clusters and int(labels.max()) == n_clusters - 1


def _hard(wishes: Wishes) -> tuple[list[Any], list[Any]]:
    hard = [pair for pair in wishes.pairs if pair.is_hard]
    together = [pair.key for pair in hard if pair.together]
    return together, [pair.key for pair in hard if not pair.together]


def _cost_row(row: Any) -> dict[str, Any]:
    return {
        "pair": [int(v) for v in row.pair],
        "saving": float(row.saves),
        "moved": int(row.n_moved),
    }
